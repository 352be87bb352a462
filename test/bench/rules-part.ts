import { renderTable, type Goal } from './goals.js';
import { measureInTurn } from './measure-in-turn.js';
import type { BenchOptions } from './options.js';
import { ratio, summarise } from './statistics.js';
import { Subject, type Load, type Measurement } from './subject-process.js';

export type RulesResult = {
  readonly windows: Readonly<Record<'with' | 'without', readonly Measurement[]>>;
  readonly goals: readonly Goal[];
};

const shape = { calls: 1, paymasters: 10 } as const;
const without = ['--paymasters', '10', '--limits', '0'];

/** What rules cost: paymasters with as many of every kind as an owner writes (see rules.ts), and the same ones without any. */
export async function measureRules(options: BenchOptions, load: Load): Promise<RulesResult> {
  const windows = await measureInTurn(
    () => ({
      without: new Subject('without rules', 'servers/ours.js', without),
      with: new Subject('8 limits, window, 5,000 senders, 2 expressions', 'servers/ours.js', [
        ...without,
        '--rules',
      ]),
    }),
    {
      rounds: options.repeats,
      shape,
      measure: (subject) => load.measure(subject, { shape, concurrency: 32, seconds: options.seconds }),
    },
  );
  const rows = Object.entries(windows).map(([name, all]) => {
    const { requestsPerSecond, cpuMicros, p99Ms, errors } = summarise(all);
    return [name, requestsPerSecond.toFixed(0), cpuMicros.toFixed(1), p99Ms.toFixed(2), String(errors)];
  });
  console.log(`\n${renderTable(['rules, c=32', 'req/s', 'CPU µs/req', 'p99 ms', 'errors'], rows)}`);
  return {
    windows,
    goals: [
      {
        name: 'req/s with rules of every kind ÷ without',
        value: ratio(windows.with, windows.without, (window) => window.requestsPerSecond),
        unit: 'ratio',
        required: { atLeast: 0.75 },
      },
      {
        name: 'errors with and without rules',
        value: summarise([...windows.with, ...windows.without]).errors,
        unit: 'count',
        required: { atMost: 0 },
      },
    ],
  };
}
