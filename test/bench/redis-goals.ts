import { renderTable, type Goal } from './goals.js';
import { median, ratio, summarise, type Summary } from './statistics.js';
import type { Measurement, Target } from './subject-process.js';

export const replicas = 3;

export type RedisResult = {
  readonly summaries: Readonly<Record<string, { readonly c32: Summary; readonly c1?: Summary }>>;
  readonly goals: readonly Goal[];
};

/** One target with its windows at concurrency 32 and, for some, at 1. */
export type Row = { readonly target: Target; readonly busy: Measurement[]; readonly single: Measurement[] };

/** Commands of clients per request answered: the reserve script, and everything; and the words that a request adds to a reserve call. */
export type RoundTrips = { readonly reserve: number; readonly all: number; readonly words: number };
type Trips = Readonly<Record<'limit' | 'ours' | 'shared', RoundTrips>>;

/** Prints the table of a run. Answers its figures with their required bounds. */
export function judge(rows: readonly Row[], trips: Trips): RedisResult {
  const [limit, ours, three, eight] = rows;
  if (limit === undefined || ours === undefined || three === undefined || eight === undefined)
    throw new Error('four targets');
  const summaries = Object.fromEntries(
    rows.map(({ target, busy, single }) => [
      target.name,
      { c32: summarise(busy), ...(single.length === 0 ? {} : { c1: summarise(single) }) },
    ]),
  );
  console.log(`\n${render(rows)}`);

  const rate = (window: Measurement) => window.requestsPerSecond;
  const cpu = (window: Measurement) => window.cpuMicros;
  const p99 = (window: Measurement) => window.p99Ms;
  const all = rows.flatMap(({ busy, single }) => [...busy, ...single]);
  const counted = summarise([...ours.busy, ...ours.single]).countsPerRequest;
  const goal = (name: string, value: number, required?: Goal['required']): Goal => ({
    name: `Redis: ${name}`,
    value,
    unit: 'ratio',
    ...(required === undefined ? {} : { required }),
  });
  const count = (name: string, value: number, atMost: number): Goal => ({
    ...goal(name, value, { atMost }),
    unit: 'count',
  });
  return {
    summaries,
    goals: [
      count('errors in all windows', summarise(all).errors, 0),
      count(
        'words of a request more than the limit sends (validity)',
        trips.ours.words - trips.limit.words,
        0,
      ),
      goal('requests/s ÷ limit with the same script, c=32', ratio(ours.busy, limit.busy, rate), {
        atLeast: 0.7,
      }),
      goal('CPU per request ÷ limit, c=32', ratio(ours.busy, limit.busy, cpu)),
      goal('p99 ÷ limit, c=32', ratio(ours.busy, limit.busy, p99)),
      goal('requests/s ÷ limit, c=1', ratio(ours.single, limit.single, rate)),
      goal('p99 ÷ limit, c=1', ratio(ours.single, limit.single, p99)),
      count('reserve calls per request (those of a turn share one)', trips.ours.reserve, 1),
      count('commands per request, background included', trips.ours.all, 1.05),
      { ...goal('the same of a shared wallet', trips.shared.all), unit: 'count' },
      count(
        'scripts per request by INFO commandstats (largest window)',
        counted['evalsha'] ?? Number.NaN,
        1.05,
      ),
      count('calls to the chain per request', counted['chainCalls'] ?? Number.NaN, 0),
      goal(`req/s of ${replicas} replicas ÷ 1, on one machine`, ratio(three.busy, ours.busy, rate)),
      goal('req/s of 8 limits ÷ 2', ratio(eight.busy, ours.busy, rate)),
    ],
  };
}

function render(rows: readonly Row[]): string {
  const cells = rows.flatMap(({ target, busy, single }) =>
    [
      { concurrency: '32', windows: busy },
      { concurrency: '1', windows: single },
    ]
      .filter(({ windows }) => windows.length > 0)
      .map(({ concurrency, windows }) => {
        const summary = summarise(windows);
        const inRedis = (name: string) =>
          median(windows.map(({ countsPerRequest }) => countsPerRequest[name] ?? 0));
        return [
          target.name,
          concurrency,
          summary.requestsPerSecond.toFixed(0),
          summary.cpuMicros.toFixed(1),
          inRedis('redisMicros').toFixed(1),
          inRedis('scriptMicros').toFixed(1),
          inRedis('evalsha').toFixed(3),
          summary.p50Ms.toFixed(2),
          summary.p99Ms.toFixed(2),
          String(summary.requests),
          String(summary.errors),
          summary.firstError?.slice(-160) ?? '',
        ];
      }),
  );
  const head = [
    'server',
    'c',
    'req/s',
    'CPU µs/req',
    'Redis µs/req',
    'script µs',
    'evalsha/req',
    'p50 ms',
    'p99 ms',
  ];
  return renderTable([...head, 'requests', 'errors', ''], cells);
}
