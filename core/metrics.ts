/**
 * Port: metrics. Labels are a fixed small set declared up front; an address, key or policy name is never a label
 * value, and an id of a paymaster or policy only in bounded number. Instruments start at zero. The adapter (`adapters/metrics`) is prom-client.
 */
export type Metrics = {
  counter<L extends string = never>(options: MetricOptions<L>): Counter<L>;
  gauge<L extends string = never>(
    options: MetricOptions<L> & {
      /** Called before the values are read. */
      readonly beforeScrape?: () => void;
    },
  ): Gauge<L>;
  histogram<L extends string = never>(
    options: MetricOptions<L> & { readonly buckets: readonly number[] },
  ): Histogram<L>;
};

/** `name` carries the unit: `…_seconds`, `…_total`, `…_bytes`, `…_wei`. */
export type MetricOptions<L extends string> = {
  readonly name: string;
  readonly help: string;
  readonly labels?: readonly L[];
};

type Labels<L extends string> = [L] extends [never] ? Record<string, never> : Readonly<Record<L, string>>;

/** `with` binds the labels once, so that the hot path needs no look-up. */
export type Counter<L extends string = never> = { with(labels: Labels<L>): { inc(by?: number): void } };
export type Gauge<L extends string = never> = {
  with(labels: Labels<L>): { set(value: number): void };
  remove(labels: Labels<L>): void;
};
export type Histogram<L extends string = never> = {
  with(labels: Labels<L>): { observe(value: number): void };
};

const none = { inc: () => {}, set: () => {}, observe: () => {} };

/** Counts nothing: for tests and tools. */
export const noMetrics: Metrics = {
  counter: () => ({ with: () => none }),
  gauge: () => ({ with: () => none, remove: () => {} }),
  histogram: () => ({ with: () => none }),
};
