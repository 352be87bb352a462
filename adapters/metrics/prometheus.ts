import * as prometheus from 'prom-client';
import type { Counter, Gauge, Histogram, MetricOptions, Metrics } from '../../core/metrics.js';

export type PrometheusMetrics = Metrics & {
  /** Everything in the Prometheus text format. */
  render(): Promise<{ readonly contentType: string; readonly body: string }>;
};

/**
 * Metrics over prom-client in a separate registry, with the metrics of the process (CPU, memory, garbage collection,
 * event-loop lag) unless `process` is false.
 *
 * - A counter or histogram that is bound with `with` shows as 0 from then on, so that its first event is a step and not
 *   a new series. A gauge shows once it is set: 0 would be a claim.
 * - Asking twice for the same name gives the same instrument; with another kind or other labels it throws.
 * - Counting costs an addition: bound counters are added up here and handed to prom-client at the next scrape.
 */
export function createMetrics(options: { readonly process?: boolean } = {}): PrometheusMetrics {
  const registry = new prometheus.Registry();
  if (options.process !== false) prometheus.collectDefaultMetrics({ register: registry });
  const declared = new Map<string, string>();
  const counters = new Map<string, Counter<string>>();
  const gauges = new Map<string, Gauge<string>>();
  const histograms = new Map<string, LeanHistogram<string>>();

  /** One instrument per name, however many modules ask for it. */
  function declare<I>(
    kind: string,
    known: Map<string, I>,
    options: MetricOptions<string>,
    create: () => I,
  ): I {
    const shape = `${kind}{${[...(options.labels ?? [])].sort().join(',')}}`;
    const taken = declared.get(options.name) ?? shape;
    if (taken !== shape) {
      throw new Error(`metric ${options.name} is declared as ${taken}, asked for as ${shape}`);
    }
    const instrument = known.get(options.name) ?? create();
    declared.set(options.name, shape);
    known.set(options.name, instrument);
    return instrument;
  }

  return {
    counter: (options) => declare('counter', counters, options, () => createCounter(registry, options)),
    gauge: (options) =>
      declare('gauge', gauges, options, () => {
        const gauge = new prometheus.Gauge({
          ...configure(registry, options),
          ...(options.beforeScrape === undefined ? {} : { collect: options.beforeScrape }),
        });
        return { with: (labels) => gauge.labels(labels), remove: (labels) => gauge.remove(labels) };
      }),
    histogram: (options) =>
      declare('histogram', histograms, options, () => new LeanHistogram<string>(options)),
    render: async () => {
      const body = await registry.metrics();
      const rest = [...histograms.values()].map((histogram) => histogram.render());
      return { contentType: registry.contentType, body: [body, ...rest].join('\n') };
    },
  };
}

function createCounter(registry: prometheus.Registry, options: MetricOptions<string>): Counter<string> {
  const bound = new Map<string, BoundCounter>();
  const counter = new prometheus.Counter({
    ...configure(registry, options),
    collect() {
      for (const one of bound.values()) this.inc(one.labels, one.taken());
    },
  });
  return {
    with(labels) {
      const key = JSON.stringify(Object.entries(labels).sort(([a], [b]) => (a < b ? -1 : 1)));
      const known = bound.get(key) ?? createBound(labels);
      bound.set(key, known);
      // Reports an undeclared label now rather than at the next scrape.
      counter.inc(labels, 0);
      return known;
    },
  };
}

type BoundCounter = ReturnType<typeof createBound>;

function createBound(labels: Readonly<Record<string, string>>) {
  let pending = 0;
  return {
    labels,
    inc: (by = 1): void => {
      if (by > 0) pending += by;
    },
    /** The amount that was counted since the last call. */
    taken: (): number => {
      const taken = pending;
      pending = 0;
      return taken;
    },
  };
}

function configure(registry: prometheus.Registry, { name, help, labels }: MetricOptions<string>) {
  return { name, help, labelNames: [...(labels ?? [])], registers: [registry] };
}

/**
 * A histogram whose bound series are plain arrays: an observation is a short search and three additions. prom-client's
 * own histogram builds a key from the labels each time, which on the sponsor path costs as much as parsing the
 * operation. Values that are not finite numbers are ignored: a metric must never fail a request.
 */
class LeanHistogram<L extends string> implements Histogram<L> {
  readonly #name: string;
  readonly #help: string;
  readonly #bounds: readonly number[];
  readonly #series = new Map<string, Series>();

  constructor(options: MetricOptions<L> & { readonly buckets: readonly number[] }) {
    this.#name = options.name;
    this.#help = options.help;
    this.#bounds = options.buckets.toSorted((a, b) => a - b);
  }

  with(labels: Readonly<Record<string, string>>): { observe(value: number): void } {
    const text = renderLabels(labels);
    const known = this.#series.get(text);
    if (known !== undefined) return known;
    const series = new Series(this.#bounds);
    this.#series.set(text, series);
    return series;
  }

  /** The Prometheus text of all series, ending with a line break. */
  render(): string {
    const name = this.#name;
    const lines = [`# HELP ${name} ${escapeHelp(this.#help)}`, `# TYPE ${name} histogram`];
    for (const [labels, series] of this.#series) {
      const rest = labels === '' ? '' : `,${labels}`;
      const braces = labels === '' ? '' : `{${labels}}`;
      for (const { le, count } of series.cumulative())
        lines.push(`${name}_bucket{le="${le}"${rest}} ${count}`);
      lines.push(`${name}_sum${braces} ${series.sum}`, `${name}_count${braces} ${series.count}`);
    }
    return `${lines.join('\n')}\n`;
  }
}

class Series {
  sum = 0;
  count = 0;
  readonly #bounds: readonly number[];
  /** Observations per bucket, the last one without an upper bound. Not cumulative. */
  readonly #counts: number[];

  constructor(bounds: readonly number[]) {
    this.#bounds = bounds;
    this.#counts = Array<number>(bounds.length + 1).fill(0);
  }

  observe(value: number): void {
    if (!Number.isFinite(value)) return;
    let bucket = 0;
    while (bucket < this.#bounds.length && value > (this.#bounds[bucket] ?? 0)) bucket += 1;
    this.#counts[bucket] = (this.#counts[bucket] ?? 0) + 1;
    this.sum += value;
    this.count += 1;
  }

  *cumulative(): IterableIterator<{ readonly le: string; readonly count: number }> {
    let count = 0;
    for (const [bucket, bound] of this.#bounds.entries()) {
      count += this.#counts[bucket] ?? 0;
      yield { le: String(bound), count };
    }
    yield { le: '+Inf', count: this.count };
  }
}

/** `a="1",b="2"` in the order of the names; empty without labels. */
function renderLabels(labels: Readonly<Record<string, string>>): string {
  return Object.entries(labels)
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([name, value]) => `${name}="${escapeValue(value)}"`)
    .join(',');
}

function escapeValue(text: string): string {
  return escapeHelp(text).replaceAll('"', '\\"');
}

function escapeHelp(text: string): string {
  return text.replaceAll('\\', '\\\\').replaceAll('\n', '\\n');
}
