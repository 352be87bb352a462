import type { BenchProcess } from './child-process.js';
import type { Goal } from './goals.js';
import { renderTable } from './goals.js';
import type { BenchOptions } from './options.js';
import { median, ratio, summarise, type Summary } from './statistics.js';
import { verifySubject } from './verify.js';
import { Subject, type Load, type Measurement } from './subject-process.js';

/** One server with its windows at both concurrencies. */
type Row = { readonly subject: Subject; readonly busy: Measurement[]; readonly single: Measurement[] };

export type ServersResult = {
  readonly signatureMicros: number;
  readonly summaries: Readonly<Record<string, { readonly c32: Summary; readonly c1: Summary }>>;
  readonly goals: readonly Goal[];
};

/** (a) the limit, (b) the textbook and (c) ours, interleaved: A B C A B C … */
export async function measureServers(
  options: BenchOptions,
  load: Load,
  signature: BenchProcess,
): Promise<ServersResult> {
  const subjects = [
    new Subject('limit', 'servers/limit.js'),
    new Subject('textbook', 'servers/textbook.js'),
    new Subject('ours', 'servers/ours.js', ['--paymasters', '10', '--limits', '2']),
  ];
  try {
    await Promise.all(subjects.map((subject) => subject.start()));
    const rows = subjects.map((subject): Row => ({ subject, busy: [], single: [] }));
    const signatures: number[] = [];
    const shape = { calls: 1, paymasters: 10 };
    const measure = (subject: Subject, concurrency: number, seconds: number) =>
      load.measure(subject, { shape, concurrency, seconds });

    for (const { subject } of rows) await verifySubject(subject.name, subject.port, shape, 1);
    for (const { subject } of rows) await measure(subject, 32, options.seconds);
    for (let round = 0; round < options.repeats; round += 1) {
      for (const { subject, busy } of rows) busy.push(await measure(subject, 32, options.seconds));
      for (const { subject, single } of rows) single.push(await measure(subject, 1, options.seconds / 2));
      signatures.push(((await signature.ask({})) as { micros: number }).micros);
    }
    return judge(rows, median(signatures));
  } finally {
    await Promise.all(subjects.map((subject) => subject.stop()));
  }
}

function judge(rows: readonly Row[], signatureMicros: number): ServersResult {
  const [limit, textbook, ours] = rows;
  if (limit === undefined || textbook === undefined || ours === undefined) throw new Error('three servers');
  const summaries = Object.fromEntries(
    rows.map(({ subject, busy, single }) => [subject.name, { c32: summarise(busy), c1: summarise(single) }]),
  );
  const all = rows.flatMap(({ busy, single }) => [...busy, ...single]);
  const counted = summarise([...ours.busy, ...ours.single]).countsPerRequest;
  const signaturesOfLimit = median(limit.busy.map((window) => window.cpuMicros)) / signatureMicros;

  console.log(renderServers(summaries));
  console.log(
    `\none native signature: ${signatureMicros.toFixed(1)} µs of CPU; the limit needs ${signaturesOfLimit.toFixed(2)} of them per request` +
      (signaturesOfLimit > 2.2 ? ': THIS RUN IS INVALID, the limit server is slower than it can be' : ''),
  );

  const rate = (window: Measurement) => window.requestsPerSecond;
  const cpu = (window: Measurement) => window.cpuMicros;
  const p99 = (window: Measurement) => window.p99Ms;
  return {
    signatureMicros,
    summaries,
    goals: [
      {
        name: 'signatures of CPU per request of the limit (validity)',
        value: signaturesOfLimit,
        unit: 'ratio',
        required: { atMost: 2.2 },
      },
      {
        name: 'errors in all windows',
        value: all.reduce((total, { errors }) => total + errors, 0),
        unit: 'count',
        required: { atMost: 0 },
      },
      {
        name: 'requests/s ÷ limit, c=32',
        value: ratio(ours.busy, limit.busy, rate),
        unit: 'ratio',
        required: { atLeast: 0.5 },
        aim: 0.7,
      },
      {
        name: 'CPU per request ÷ limit, c=32',
        value: ratio(ours.busy, limit.busy, cpu),
        unit: 'ratio',
        required: { atMost: 2 },
        aim: 1.4,
      },
      {
        name: 'p99 ÷ limit, c=32',
        value: ratio(ours.busy, limit.busy, p99),
        unit: 'ratio',
        required: { atMost: 2.5 },
        aim: 1.7,
      },
      {
        name: 'requests/s ÷ textbook, c=32',
        value: ratio(ours.busy, textbook.busy, rate),
        unit: 'ratio',
        required: { atLeast: 7 },
      },
      { name: 'requests/s ÷ limit, c=1', value: ratio(ours.single, limit.single, rate), unit: 'ratio' },
      { name: 'p99 ÷ limit, c=1', value: ratio(ours.single, limit.single, p99), unit: 'ratio', aim: 1.4 },
      {
        name: 'calls to the chain per request',
        value: counted['chainCalls'] ?? Number.NaN,
        unit: 'count',
        required: { atMost: 0 },
      },
      {
        name: 'store commits per request (largest window, c=1 included)',
        value: counted['storeCommits'] ?? Number.NaN,
        unit: 'count',
        required: { atMost: 1 },
      },
    ],
  };
}

function renderServers(summaries: ServersResult['summaries']): string {
  const rows = Object.entries(summaries).flatMap(([name, { c32, c1 }]) =>
    [
      { concurrency: '32', summary: c32 },
      { concurrency: '1', summary: c1 },
    ].map(({ concurrency, summary }) => [
      name,
      concurrency,
      summary.requestsPerSecond.toFixed(0),
      summary.cpuMicros.toFixed(1),
      summary.p50Ms.toFixed(2),
      summary.p99Ms.toFixed(2),
      String(summary.requests),
      String(summary.errors),
      String(summary.answerBytes),
    ]),
  );
  const head = ['server', 'c', 'req/s', 'CPU µs/req', 'p50 ms', 'p99 ms', 'requests', 'errors', 'answer B'];
  return renderTable(head, rows);
}
