import { BenchProcess } from './child-process.js';
import type { RequestShape, Wallets } from './fixture.js';
import { renderTable, type Goal } from './goals.js';
import type { BenchOptions } from './options.js';
import { ratio, summarise, type Summary } from './statistics.js';
import { Subject, type Load, type Measurement } from './subject-process.js';
import { verifySubject } from './verify.js';

export type ScaleResult = {
  readonly summaries: Readonly<Record<string, Summary>>;
  readonly heapBytesPerPaymaster: number;
  readonly goals: readonly Goal[];
};

/** What the number of paymasters, limits and calls costs: variants of our server, interleaved. */
export async function measureScale(options: BenchOptions, load: Load): Promise<ScaleResult> {
  const few = ours('10 paymasters, 2 limits', 10, 2);
  const many = ours('100,000 paymasters, 2 limits', 100_000, 2);
  const oneLimit = ours('10 paymasters, 1 limit', 10, 1);
  const eightLimits = ours('10 paymasters, 8 limits', 10, 8);
  const shared = ours('10 paymasters of one shared wallet', 10, 2, 'shared');
  const subjects = [few, many, oneLimit, eightLimits, shared];
  const ofTen = { calls: 1, paymasters: 10 };
  const variants: readonly Variant[] = [
    { name: few.name, subject: few, shape: ofTen, windows: [] },
    { name: many.name, subject: many, shape: { calls: 1, paymasters: 100_000 }, windows: [] },
    { name: oneLimit.name, subject: oneLimit, shape: ofTen, windows: [] },
    { name: eightLimits.name, subject: eightLimits, shape: ofTen, windows: [] },
    { name: shared.name, subject: shared, shape: ofTen, windows: [] },
    {
      name: '100,000 paymasters by popularity',
      subject: many,
      shape: { calls: 1, paymasters: 100_000, spread: 'popular' },
      windows: [],
    },
    { name: 'batch of 16 calls', subject: few, shape: { calls: 16, paymasters: 10 }, windows: [] },
  ];
  try {
    await Promise.all(subjects.map((subject) => subject.start()));
    for (const { subject, shape, name } of variants) await verifySubject(name, subject.port, shape, 1);

    const measure = ({ subject, shape }: Variant) =>
      load.measure(subject, { shape, concurrency: 32, seconds: options.seconds });
    // Every paymaster has been asked before the first window: its counters are then there, as they are in a service that
    // has run for a minute. The one that it is compared with gets as many, so that both hold as many reservations.
    for (const variant of variants.slice(0, 2)) await load.warmUp(variant.subject, variant.shape, 100_000);
    for (const variant of variants) await measure(variant);
    for (let round = 0; round < options.repeats; round += 1) {
      for (const variant of variants) variant.windows.push(await measure(variant));
    }
    return judge(variants, await measureHeap());
  } finally {
    await Promise.all(subjects.map((subject) => subject.stop()));
  }
}

/** Heap of the view alone, in a process without traffic: what one more cached paymaster costs. */
async function measureHeap(): Promise<number> {
  const view = new BenchProcess('heap', 'servers/heap.js', [], ['--expose-gc']);
  try {
    return ((await view.receive()) as { bytesPerPaymaster: number }).bytesPerPaymaster;
  } finally {
    await view.stop();
  }
}

type Variant = {
  readonly name: string;
  readonly subject: Subject;
  readonly shape: RequestShape;
  readonly windows: Measurement[];
};

function ours(name: string, paymasters: number, limits: number, wallets: Wallets = 'own'): Subject {
  const counts = ['--paymasters', String(paymasters), '--limits', String(limits)];
  return new Subject(name, 'servers/ours.js', [...counts, '--wallets', wallets]);
}

function judge(variants: readonly Variant[], heapBytesPerPaymaster: number): ScaleResult {
  const windowsOf = (index: number) => variants[index]?.windows ?? [];
  const rateRatio = (over: number, under: number) =>
    ratio(windowsOf(over), windowsOf(under), (window) => window.requestsPerSecond);
  const summaries = Object.fromEntries(variants.map(({ name, windows }) => [name, summarise(windows)]));
  const errors = Object.values(summaries).reduce((total, summary) => total + summary.errors, 0);

  const rows = Object.entries(summaries).map(([name, summary]) => [
    name,
    summary.requestsPerSecond.toFixed(0),
    summary.cpuMicros.toFixed(1),
    summary.p99Ms.toFixed(2),
    String(summary.errors),
  ]);
  console.log(`\n${renderTable(['ours, c=32', 'req/s', 'CPU µs/req', 'p99 ms', 'errors'], rows)}`);
  return {
    summaries,
    heapBytesPerPaymaster,
    goals: [
      { name: 'errors at scale', value: errors, unit: 'count', required: { atMost: 0 } },
      {
        name: 'req/s of 100,000 paymasters ÷ 10, by popularity',
        value: rateRatio(5, 0),
        unit: 'ratio',
        required: { atLeast: 0.95 },
      },
      { name: 'the same, spread evenly (every request a cold one)', value: rateRatio(1, 0), unit: 'ratio' },
      { name: 'req/s of 8 limits ÷ 1', value: rateRatio(3, 2), unit: 'ratio', required: { atLeast: 0.8 } },
      { name: 'req/s of 16 calls ÷ 1', value: rateRatio(6, 0), unit: 'ratio', required: { atLeast: 0.6 } },
      { name: 'req/s of a shared wallet ÷ own wallets', value: rateRatio(4, 0), unit: 'ratio' },
      {
        name: 'heap per cached paymaster (1 contract, 2 limits)',
        value: heapBytesPerPaymaster,
        unit: 'bytes',
        required: { atMost: 2048 },
        aim: 1229,
      },
    ],
  };
}
