import * as prometheus from 'prom-client';
import type { Counter, Gauge, MetricOptions, Metrics } from '../../core/metrics.js';
import { LeanHistogram } from './histogram.js';

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
