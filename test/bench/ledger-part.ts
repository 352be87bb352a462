import { tmpdir } from 'node:os';
import { startPostgres } from '../support/postgres.js';
import type { RequestShape } from './fixture.js';
import type { Goal } from './goals.js';
import { measureInTurn } from './measure-in-turn.js';
import type { BenchOptions } from './options.js';
import { ratio, summarise, type Summary } from './statistics.js';
import { Subject, type Load, type Measurement } from './subject-process.js';

const shape: RequestShape = { calls: 1, paymasters: 10 };

export type LedgerResult = {
  readonly summaries: Readonly<Record<string, Summary>>;
  readonly goals: readonly Goal[];
};

/**
 * What recording every decision costs: our server with and without a ledger, alternated. The server with a ledger also keeps its
 * sums.
 */
export async function measureLedger(options: BenchOptions, load: Load): Promise<LedgerResult> {
  return measureRecording(options, load, { args: ['--ledger'], says: 'on', atLeast: 0.95 });
}

type Recorded = { readonly args: readonly string[]; readonly says: string; readonly atLeast?: number };

async function measureRecording(
  options: BenchOptions,
  load: Load,
  { args: recording, says, atLeast }: Recorded,
): Promise<LedgerResult> {
  const postgres = await startPostgres({ folder: tmpdir() });
  const urls = { off: await postgres.createDatabase(), on: await postgres.createDatabase() };
  const madeAt = ['--madeAt', String(Date.now())];
  const stores = {
    embedded: () => madeAt,
    PostgreSQL: (side: keyof typeof urls) => [...madeAt, '--postgres', urls[side]],
  };
  const summaries: Record<string, Summary> = {};
  const goals: Goal[] = [];
  try {
    for (const [store, argsOf] of Object.entries(stores)) {
      const { off, on } = await measureInTurn(
        () => ({
          off: new Subject(`${store}, off`, 'servers/ours.js', argsOf('off')),
          on: new Subject(`${store}, ${says}`, 'servers/ours.js', [...argsOf('on'), ...recording]),
        }),
        {
          rounds: options.repeats,
          shape,
          measure: (subject) => load.measure(subject, { shape, concurrency: 32, seconds: options.seconds }),
        },
      );
      summaries[`${store}, off`] = summarise(off);
      summaries[`${store}, ${says}`] = summarise(on);
      const ofOff = (what: string, figure: (window: Measurement) => number): Goal => ({
        name: `${what}, ${store}, ${says} ÷ off, c=32`,
        value: ratio(on, off, figure),
        unit: 'ratio',
      });
      goals.push(
        {
          ...ofOff('requests/s', (window) => window.requestsPerSecond),
          ...(atLeast === undefined ? {} : { required: { atLeast } }),
        },
        ofOff('CPU per request', (window) => window.cpuMicros),
        ofOff('p99', (window) => window.p99Ms),
      );
    }
  } finally {
    await postgres.stop();
  }
  const errors = Object.values(summaries).reduce((sum, one) => sum + one.errors, 0);
  goals.push({
    name: 'errors with and without a ledger',
    value: errors,
    unit: 'count',
    required: { atMost: 0 },
  });
  return { summaries, goals };
}
