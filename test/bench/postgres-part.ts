import { tmpdir } from 'node:os';
import { startPostgres } from '../support/postgres.js';
import type { RequestShape } from './fixture.js';
import { renderTable, type Goal } from './goals.js';
import type { BenchOptions } from './options.js';
import { ratio, summarise, type Summary } from './statistics.js';
import { Subject, type Load, type Measurement, type Target } from './subject-process.js';
import { verifySubject } from './verify.js';

export type PostgresResult = {
  readonly summaries: Readonly<Record<string, Summary>>;
  readonly goals: readonly Goal[];
};

const replicas = 3;
const hot: RequestShape = { calls: 1, paymasters: 1 };
const spread: RequestShape = { calls: 1, paymasters: 10 };

/**
 * The usage store on one PostgreSQL, started here, on a disk. Three replicas of one service: all requests for one paymaster with
 * three limits, which turns of all replicas wait for; and for ten paymasters, beside one replica alone. Interleaved.
 */
export async function measurePostgres(options: BenchOptions, load: Load): Promise<PostgresResult> {
  const postgres = await startPostgres({ folder: tmpdir() });
  const url = await postgres.createDatabase();
  const madeAt = String(Date.now());
  const served = ['--paymasters', '10', '--limits', '3', '--postgres', url, '--madeAt', madeAt];
  const subjects = Array.from(
    { length: replicas },
    (_, index) => new Subject(`replica ${index + 1}`, 'servers/ours.js', served),
  );
  try {
    for (const subject of subjects) await subject.start();
    for (const { name, port } of subjects) await verifySubject(name, port, spread, 1);
    const [first] = subjects;
    if (first === undefined) throw new Error('no replica runs');
    const all = together(`${replicas} replicas`, subjects);
    const rows = [
      { name: `${replicas} replicas, one paymaster`, target: all, shape: hot, concurrency: 32 },
      { name: `${replicas} replicas, ten paymasters`, target: all, shape: spread, concurrency: 32 },
      { name: '1 replica, ten paymasters', target: first, shape: spread, concurrency: 32 },
      { name: '1 replica, one at a time', target: first, shape: spread, concurrency: 1 },
    ].map((row) => ({ ...row, windows: [] as Measurement[] }));
    const { seconds, repeats } = options;
    for (const { target, shape, concurrency } of rows)
      await load.measure(target, { shape, concurrency, seconds });
    for (let round = 0; round < repeats; round += 1)
      for (const { target, shape, concurrency, windows } of rows)
        windows.push(await load.measure(target, { shape, concurrency, seconds }));
    return judge(rows);
  } finally {
    await Promise.all(subjects.map((subject) => subject.stop()));
    await postgres.stop();
  }
}

function judge(
  rows: readonly { readonly name: string; readonly windows: readonly Measurement[] }[],
): PostgresResult {
  const [hotRow, spreadRow, oneRow, singleRow] = rows;
  if (hotRow === undefined || spreadRow === undefined || oneRow === undefined || singleRow === undefined)
    throw new Error('four rows');
  const summaries = Object.fromEntries(rows.map(({ name, windows }) => [name, summarise(windows)]));
  console.log(
    `\n${renderTable(
      ['PostgreSQL', 'req/s', 'CPU µs/req', 'p50 ms', 'p99 ms', 'errors', ''],
      Object.entries(summaries).map(([name, one]) => [
        name,
        one.requestsPerSecond.toFixed(0),
        one.cpuMicros.toFixed(1),
        one.p50Ms.toFixed(2),
        one.p99Ms.toFixed(2),
        String(one.errors),
        one.firstError?.slice(-160) ?? '',
      ]),
    )}`,
  );
  const rate = (window: Measurement) => window.requestsPerSecond;
  const goal = (
    name: string,
    value: number,
    required?: Goal['required'],
    unit: Goal['unit'] = 'ratio',
  ): Goal => ({
    name: `PostgreSQL: ${name}`,
    value,
    unit,
    ...(required === undefined ? {} : { required }),
  });
  const errors = Object.values(summaries).reduce((sum, one) => sum + one.errors, 0);
  return {
    summaries,
    goals: [
      goal('errors in all windows', errors, { atMost: 0 }, 'count'),
      goal(
        `requests/s of ${replicas} replicas, one paymaster with 3 limits, c=32`,
        summarise(hotRow.windows).requestsPerSecond,
        { atLeast: 1_200 },
        'count',
      ),
      goal('p50 of one request at a time, ms', summarise(singleRow.windows).p50Ms, undefined, 'count'),
      goal(
        `req/s of ${replicas} replicas ÷ 1, on one machine`,
        ratio(spreadRow.windows, oneRow.windows, rate),
      ),
    ],
  };
}

/** The replicas of one service: connections go to each in turn, and their costs are added up. */
export function together(name: string, subjects: readonly Subject[]): Target {
  return {
    name,
    ports: subjects.flatMap(({ ports }) => ports),
    report: async () => {
      const reports = await Promise.all(subjects.map((subject) => subject.report()));
      const sum = (figure: (report: (typeof reports)[number]) => number) =>
        reports.reduce((total, report) => total + figure(report), 0);
      return {
        cpuMicros: sum(({ cpuMicros }) => cpuMicros),
        counts: { chainCalls: sum((report) => report.counts['chainCalls'] ?? 0) },
      };
    },
  };
}
