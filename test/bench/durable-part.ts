import type { RequestShape } from './fixture.js';
import { renderTable, type Goal } from './goals.js';
import { measureInTurn } from './measure-in-turn.js';
import type { BenchOptions } from './options.js';
import { ratio, summarise } from './statistics.js';
import { Subject, type Load, type Measurement } from './subject-process.js';

export type DurableResult = { readonly goals: readonly Goal[] };

const warmUpRequests = 30_000;
const shape: RequestShape = { calls: 1, paymasters: 10 };

/** Ours with two limits and the ledger against the durable limit, both with a sync of the disk for each commit. */
export async function measureDurable(options: BenchOptions, load: Load): Promise<DurableResult> {
  const windows = (concurrency: number) =>
    measureInTurn(
      () => ({
        limit: new Subject('durable limit', 'servers/durable-limit.js'),
        ours: new Subject('ours, FULL', 'servers/ours.js', ['--ledger', '--durability', 'power']),
      }),
      {
        rounds: options.repeats,
        shape,
        warm: (subject) => load.warmUp(subject, shape, options.count(warmUpRequests)),
        measure: (subject) => load.measure(subject, { shape, concurrency, seconds: options.seconds }),
      },
    );
  const busy = await windows(32);
  const single = await windows(1);
  const rate = (window: Measurement) => window.requestsPerSecond;
  const cpu = (window: Measurement) => window.cpuMicros;
  const p99 = (window: Measurement) => window.p99Ms;
  console.log(
    render({
      'durable limit, c=32': busy.limit,
      'ours, c=32': busy.ours,
      'durable limit, c=1': single.limit,
      'ours, c=1': single.ours,
    }),
  );
  const of = (name: string, value: number, required: Goal['required'], aim: number): Goal => ({
    name: `${name} ÷ durable limit`,
    value,
    unit: 'ratio',
    ...(required === undefined ? {} : { required }),
    aim,
  });
  return {
    goals: [
      of('requests/s, c=32', ratio(busy.ours, busy.limit, rate), { atLeast: 0.58 }, 0.7),
      of('CPU per request, c=32', ratio(busy.ours, busy.limit, cpu), { atMost: 2.1 }, 1.7),
      of('p99, c=32', ratio(busy.ours, busy.limit, p99), { atMost: 2.2 }, 1.5),
      of('CPU per request, c=1', ratio(single.ours, single.limit, cpu), { atMost: 2 }, 1.6),
      {
        name: 'errors beside the durable limit',
        value: [busy, single]
          .flatMap(({ limit, ours }) => [...limit, ...ours])
          .reduce((sum, { errors }) => sum + errors, 0),
        unit: 'count',
        required: { atMost: 0 },
      },
    ],
  };
}

function render(rows: Readonly<Record<string, readonly Measurement[]>>): string {
  return renderTable(
    ['server', 'req/s', 'CPU µs/req', 'p50 ms', 'p99 ms'],
    Object.entries(rows).map(([name, measured]) => {
      const { requestsPerSecond, cpuMicros, p50Ms, p99Ms } = summarise(measured);
      return [name, requestsPerSecond.toFixed(0), cpuMicros.toFixed(1), p50Ms.toFixed(2), p99Ms.toFixed(2)];
    }),
  );
}
