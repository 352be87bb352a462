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

/** A server and how it is asked. */
type Variant = { readonly name: string; readonly subject: Subject; readonly shape: RequestShape };

/** Two variants whose windows alternate, so that a busy moment of the machine hits both. */
type Comparison = {
  readonly name: string;
  readonly over: Variant;
  readonly under: Variant;
  readonly atLeast?: number;
  readonly overWindows: Measurement[];
  readonly underWindows: Measurement[];
};

/** Each window is cut into this many: other load on the machine comes and goes within seconds, and bounds here are narrow. */
const slices = 5;

/** Cost of the number of paymasters, limits and calls: variants of our server, in pairs, interleaved. */
export async function measureScale(options: BenchOptions, load: Load): Promise<ScaleResult> {
  const lots = options.count(100_000);
  const few = ours('10 paymasters, 2 limits', 10, 2);
  const many = ours(`${lots.toLocaleString('en')} paymasters, 2 limits`, lots, 2);
  const oneLimit = ours('10 paymasters, 1 limit', 10, 1);
  const eightLimits = ours('10 paymasters, 8 limits', 10, 8);
  const shared = ours('10 paymasters of one shared wallet', 10, 2, 'shared');
  const subjects = [few, many, oneLimit, eightLimits, shared];

  const base = variant(few);
  const even: RequestShape = { calls: 1, paymasters: lots };
  const comparisons = [
    // Not 0.95: each paymaster has a fence and a counter of its live reservations besides its limits, so more of what a request
    // reads has left the processor's caches.
    compare(`req/s of ${lots.toLocaleString('en')} paymasters ÷ 10`, variant(many, even), base, 0.9),
    compare('req/s of 8 limits ÷ 1', variant(eightLimits), variant(oneLimit), 0.8),
    compare('req/s of 16 calls ÷ 1', variant(few, { calls: 16, paymasters: 10 }, '16 calls'), base, 0.6),
    compare(
      'req/s refused by the contract list ÷ sponsored',
      variant(few, { calls: 1, paymasters: 10, ask: 'another contract' }, 'another contract'),
      base,
      2,
    ),
    compare('req/s of a shared wallet ÷ own wallets', variant(shared), base),
  ];
  try {
    await Promise.all(subjects.map((subject) => subject.start()));
    // Refusals sign nothing; the load looks at each of them.
    for (const { over } of comparisons)
      if (over.shape.ask === undefined) await verifySubject(over.name, over.subject.port, over.shape, 1);
    // Every paymaster has been asked before the first window: its counters are then there, as they are in a service that
    // has run for a minute. The one that it is compared with gets as many, so that both hold as many reservations.
    await load.warmUp(many, even, lots);
    await load.warmUp(few, base.shape, lots);
    const measure = ({ subject, shape }: Variant) =>
      load.measure(subject, { shape, concurrency: 32, seconds: options.seconds / slices });
    // Pair by pair, so that neither side stands still for long: a large heap that is idle is collected just then.
    for (const { over, under, overWindows, underWindows } of comparisons) {
      for (const { subject, shape } of [under, over])
        await load.warmUp(subject, shape, options.count(15_000));
      for (let slice = 0; slice < options.repeats * slices; slice += 1) {
        // Each side goes first in turn, so that a drift favours neither.
        if (slice % 2 === 0) underWindows.push(await measure(under));
        overWindows.push(await measure(over));
        if (slice % 2 === 1) underWindows.push(await measure(under));
      }
    }
    return judge(comparisons, await measureHeap(lots));
  } finally {
    await Promise.all(subjects.map((subject) => subject.stop()));
  }
}

/** Heap of the view alone, in a process without traffic: the cost of one more cached paymaster. */
async function measureHeap(paymasters: number): Promise<number> {
  const view = new BenchProcess('heap', 'servers/heap.js', [String(paymasters)], ['--expose-gc']);
  try {
    return ((await view.receive()) as { bytesPerPaymaster: number }).bytesPerPaymaster;
  } finally {
    await view.stop();
  }
}

function ours(name: string, paymasters: number, limits: number, wallets: Wallets = 'own'): Subject {
  const counts = ['--paymasters', String(paymasters), '--limits', String(limits)];
  return new Subject(name, 'servers/ours.js', [...counts, '--wallets', wallets]);
}

function variant(
  subject: Subject,
  shape: RequestShape = { calls: 1, paymasters: 10 },
  note?: string,
): Variant {
  return { name: note === undefined ? subject.name : `${subject.name}, ${note}`, subject, shape };
}

function compare(name: string, over: Variant, under: Variant, atLeast?: number): Comparison {
  const windows = { overWindows: [], underWindows: [] };
  return { name, over, under, ...(atLeast === undefined ? {} : { atLeast }), ...windows };
}

function judge(comparisons: readonly Comparison[], heapBytesPerPaymaster: number): ScaleResult {
  const windows = new Map<string, Measurement[]>();
  for (const { over, under, overWindows, underWindows } of comparisons) {
    windows.set(under.name, [...(windows.get(under.name) ?? []), ...underWindows]);
    windows.set(over.name, [...(windows.get(over.name) ?? []), ...overWindows]);
  }
  const summaries = Object.fromEntries([...windows].map(([name, all]) => [name, summarise(all)]));
  const errors = Object.values(summaries).reduce((total, summary) => total + summary.errors, 0);
  console.log(`\n${renderVariants(summaries)}`);

  const ratios = comparisons.map(({ name, overWindows, underWindows, atLeast }): Goal => {
    const value = ratio(overWindows, underWindows, (window) => window.requestsPerSecond);
    return { name, value, unit: 'ratio', ...(atLeast === undefined ? {} : { required: { atLeast } }) };
  });
  const noErrors: Goal = { name: 'errors at scale', value: errors, unit: 'count', required: { atMost: 0 } };
  const heap: Goal = {
    name: 'heap per cached paymaster (1 contract, 2 limits)',
    value: heapBytesPerPaymaster,
    unit: 'bytes',
    required: { atMost: 2048 },
    aim: 1229,
  };
  return { summaries, heapBytesPerPaymaster, goals: [noErrors, ...ratios, heap] };
}

function renderVariants(summaries: Readonly<Record<string, Summary>>): string {
  const rows = Object.entries(summaries).map(([name, summary]) => [
    name,
    summary.requestsPerSecond.toFixed(0),
    summary.cpuMicros.toFixed(1),
    summary.p99Ms.toFixed(2),
    String(summary.errors),
  ]);
  return renderTable(['ours, c=32', 'req/s', 'CPU µs/req', 'p99 ms', 'errors'], rows);
}
