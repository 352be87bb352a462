import type { Measurement } from './subject-process.js';

/** Medians over the repeats of one server, and the figures that a median must not hide. */
export type Summary = {
  readonly requestsPerSecond: number;
  readonly cpuMicros: number;
  readonly p50Ms: number;
  readonly p99Ms: number;
  readonly requests: number;
  readonly errors: number;
  readonly firstError: string | undefined;
  readonly answerBytes: number;
  /** Largest of any window, per request. */
  readonly countsPerRequest: Readonly<Record<string, number>>;
};

export function summarise(windows: readonly Measurement[]): Summary {
  const names = new Set(windows.flatMap(({ countsPerRequest }) => Object.keys(countsPerRequest)));
  return {
    requestsPerSecond: median(windows.map((window) => window.requestsPerSecond)),
    cpuMicros: median(windows.map((window) => window.cpuMicros)),
    p50Ms: median(windows.map((window) => window.p50Ms)),
    p99Ms: median(windows.map((window) => window.p99Ms)),
    requests: sum(windows.map((window) => window.requests)),
    errors: sum(windows.map((window) => window.errors)),
    firstError: windows.find(({ firstError }) => firstError !== undefined)?.firstError,
    answerBytes: median(windows.map((window) => window.answerBytes)),
    countsPerRequest: Object.fromEntries(
      [...names].map((name) => [name, Math.max(...windows.map((w) => w.countsPerRequest[name] ?? 0))]),
    ),
  };
}

/** Median of the ratios of windows that ran next to each other: a busy moment hits both sides of a ratio. */
export function ratio(
  numerators: readonly Measurement[],
  denominators: readonly Measurement[],
  figure: (window: Measurement) => number,
): number {
  return median(ratios(numerators, denominators, figure));
}

/** The ratio of each window to the one that ran next to it. */
export function ratios(
  numerators: readonly Measurement[],
  denominators: readonly Measurement[],
  figure: (window: Measurement) => number,
): readonly number[] {
  return numerators.map((window, index) => figure(window) / figure(denominators[index] ?? window));
}

export function median(values: readonly number[]): number {
  const sorted = values.toSorted((a, b) => a - b);
  const middle = sorted.length >> 1;
  const upper = sorted[middle] ?? 0;
  return sorted.length % 2 === 1 ? upper : (upper + (sorted[middle - 1] ?? upper)) / 2;
}

export function percentile(values: readonly number[], share: number): number {
  const sorted = values.toSorted((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? 0;
}

function sum(values: readonly number[]): number {
  return values.reduce((total, value) => total + value, 0);
}
