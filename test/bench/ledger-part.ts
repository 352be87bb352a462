import { startRedis } from '../support/redis.js';
import type { RequestShape } from './fixture.js';
import type { Goal } from './goals.js';
import type { BenchOptions } from './options.js';
import { ratio, summarise, type Summary } from './statistics.js';
import { Subject, type Load, type Measurement } from './subject-process.js';
import { verifySubject } from './verify.js';

const shape: RequestShape = { calls: 1, paymasters: 10 };

export type LedgerResult = {
  readonly summaries: Readonly<Record<string, Summary>>;
  readonly goals: readonly Goal[];
};

type Row = { readonly subject: Subject; readonly windows: Measurement[] };

/**
 * What it costs that every decision is recorded: our server with and without a ledger, alternated. On the embedded stores
 * the server also moves the records to SQLite files, in a thread of its own; on Redis another process does that, and is
 * not part of it.
 */
export async function measureLedger(options: BenchOptions, load: Load): Promise<LedgerResult> {
  return measureRecording(options, load, { args: ['--ledger'], says: 'on', atLeast: 0.95 });
}

/** As above, when the ledger also gets what each decision was based on: more than twice as many bytes. */
export async function measureLedgerInputs(options: BenchOptions, load: Load): Promise<LedgerResult> {
  return measureRecording(options, load, { args: ['--ledger', '--inputs'], says: 'on with inputs' });
}

type Recorded = { readonly args: readonly string[]; readonly says: string; readonly atLeast?: number };

async function measureRecording(
  options: BenchOptions,
  load: Load,
  { args: recording, says, atLeast }: Recorded,
): Promise<LedgerResult> {
  const redis = await startRedis(['--auto-aof-rewrite-percentage', '0']);
  const ours = (name: string, args: readonly string[]): Row => ({
    subject: new Subject(name, 'servers/ours.js', args),
    windows: [],
  });
  const onRedis = (prefix: string) => ['--redis', redis.url, '--prefix', prefix];
  const pairs = [
    [ours('embedded, off', []), ours(`embedded, ${says}`, recording)],
    [ours('Redis, off', onRedis('off:')), ours(`Redis, ${says}`, [...onRedis('on:'), ...recording])],
  ] as const;
  const rows = pairs.flat();
  try {
    await Promise.all(rows.map(({ subject }) => subject.start()));
    for (const { subject } of rows) await verifySubject(subject.name, subject.port, shape, 1);
    const measure = ({ subject }: Row) =>
      load.measure(subject, { shape, concurrency: 32, seconds: options.seconds });
    for (const row of rows) await measure(row);
    for (let round = 0; round < options.repeats; round += 1)
      for (const row of rows) row.windows.push(await measure(row));
    const goals = pairs.flatMap(([off, on]): readonly Goal[] => [
      goal(`requests/s, ${on.subject.name} ÷ off, c=32`, ratioOf(on, off, 'requestsPerSecond'), atLeast),
      {
        name: `CPU per request, ${on.subject.name} ÷ off, c=32`,
        value: ratioOf(on, off, 'cpuMicros'),
        unit: 'ratio',
      },
      { name: `p99, ${on.subject.name} ÷ off, c=32`, value: ratioOf(on, off, 'p99Ms'), unit: 'ratio' },
    ]);
    const errors = rows.flatMap(({ windows }) => windows).reduce((sum, one) => sum + one.errors, 0);
    return {
      summaries: Object.fromEntries(rows.map(({ subject, windows }) => [subject.name, summarise(windows)])),
      goals: [
        ...goals,
        { name: 'errors with and without a ledger', value: errors, unit: 'count', required: { atMost: 0 } },
      ],
    };
  } finally {
    await Promise.all(rows.map(({ subject }) => subject.stop()));
    await redis.stop();
  }
}

function goal(name: string, value: number, atLeast: number | undefined): Goal {
  return { name, value, unit: 'ratio', ...(atLeast === undefined ? {} : { required: { atLeast } }) };
}

function ratioOf(on: Row, off: Row, figure: 'requestsPerSecond' | 'cpuMicros' | 'p99Ms'): number {
  return ratio(on.windows, off.windows, (window) => window[figure]);
}
