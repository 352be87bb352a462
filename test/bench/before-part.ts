import { access } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { startPostgres } from '../support/postgres.js';
import type { RequestShape } from './fixture.js';
import { renderTable, type Goal } from './goals.js';
import { measureInTurn } from './measure-in-turn.js';
import type { BenchOptions } from './options.js';
import { median, ratio, ratios, summarise } from './statistics.js';
import { Subject, type Load, type Measurement } from './subject-process.js';

export type BeforeResult = {
  readonly ratios: Readonly<Record<string, readonly number[]>>;
  readonly goals: readonly Goal[];
};

type Path = {
  readonly name: string;
  readonly args: (side: 'now' | 'before') => readonly string[];
  readonly shape: RequestShape;
};

const served = ['--paymasters', '10', '--limits', '2'];

/**
 * Compares this build with another one (`--before DIR`: a checkout that was built with `tsc -b`), window by window: the cost of a
 * change on the paths that users wait for. Each side is started from its own folder.
 */
export async function measureBefore(options: BenchOptions, load: Load): Promise<BeforeResult> {
  const directory = options.before;
  if (directory === undefined) throw new RangeError('--only before needs --before DIR, a built checkout');
  const entry = join(directory, 'dist/test/bench/servers/ours.js');
  await access(entry);
  const postgres = await startPostgres({ folder: tmpdir() });
  const urls = { now: await postgres.createDatabase(), before: await postgres.createDatabase() };
  const madeAt = String(Date.now());
  const tokens = [...served, '--tokens', '20'];
  const paths: readonly Path[] = [
    { name: 'sponsored, embedded', args: () => served, shape: { calls: 1, paymasters: 10 } },
    {
      name: 'sponsored, PostgreSQL',
      args: (side) => [...served, '--postgres', urls[side], '--madeAt', madeAt],
      shape: { calls: 1, paymasters: 10 },
    },
    { name: 'token payment', args: () => tokens, shape: { calls: 1, paymasters: 10, ask: 'token payment' } },
    {
      name: 'quote of 1 token',
      args: () => tokens,
      shape: { calls: 1, paymasters: 10, ask: 'quote of 1 token' },
    },
  ];
  const measured: Record<string, readonly number[]> = {};
  const goals: Goal[] = [];
  try {
    for (const path of paths) {
      const { now, before } = await measurePath(path, pathToFileURL(entry).href, { options, load });
      const rate = (window: Measurement) => window.requestsPerSecond;
      const both = summarise([...now, ...before]);
      measured[path.name] = ratios(now, before, rate);
      goals.push(
        { name: `${path.name}: requests/s ÷ before`, value: ratio(now, before, rate), unit: 'ratio' },
        {
          name: `${path.name}: CPU per request ÷ before`,
          value: ratio(now, before, (window) => window.cpuMicros),
          unit: 'ratio',
        },
        {
          name: `${path.name}: errors of both`,
          value: both.errors,
          unit: 'count',
          required: { atMost: 0 },
        },
        {
          name: `${path.name}: calls to the chain per request`,
          value: summarise(now).countsPerRequest['chainCalls'] ?? Number.NaN,
          unit: 'count',
          required: { atMost: 0 },
        },
      );
    }
  } finally {
    await postgres.stop();
  }
  console.log(`\n${render(measured)}`);
  return { ratios: measured, goals };
}

async function measurePath(
  path: Path,
  entry: string,
  { options, load }: { readonly options: BenchOptions; readonly load: Load },
) {
  const { shape } = path;
  return measureInTurn(
    () => ({
      before: new Subject(`${path.name}, before`, entry, path.args('before')),
      now: new Subject(`${path.name}, now`, 'servers/ours.js', path.args('now')),
    }),
    {
      rounds: options.repeats,
      shape,
      measure: (subject) =>
        load.measure(subject, {
          shape,
          concurrency: 32,
          seconds: options.seconds,
        }),
    },
  );
}

function render(measured: Readonly<Record<string, readonly number[]>>): string {
  const rows = Object.entries(measured).map(([name, values]) => [
    name,
    Math.min(...values).toFixed(2),
    median(values).toFixed(2),
    Math.max(...values).toFixed(2),
    String(values.length),
  ]);
  return renderTable(['requests/s ÷ before, c=32', 'least', 'median', 'most', 'rounds'], rows);
}
