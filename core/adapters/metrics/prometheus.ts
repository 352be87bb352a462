import * as prometheus from 'prom-client';
import type { Counter, Gauge, Histogram, MetricOptions, Metrics } from '../../metrics.js';

export type PrometheusMetrics = Metrics & {
  /** The whole registry in the Prometheus text format. */
  render(): Promise<{ readonly contentType: string; readonly body: string }>;
};

/**
 * Metrics over prom-client in a registry of their own, with the metrics of the process (CPU, memory, garbage collection,
 * event-loop lag) unless `process` is false.
 *
 * - A counter or histogram that is bound with `with` shows as 0 from then on, so that its first event is a step and not
 *   a new series. A gauge shows once it is set: 0 would be a claim.
 * - Asking twice for the same name gives the same instrument; with another kind or other labels it throws.
 */
export function createMetrics(options: { readonly process?: boolean } = {}): PrometheusMetrics {
  const registry = new prometheus.Registry();
  if (options.process !== false) prometheus.collectDefaultMetrics({ register: registry });

  const counters = new Map<string, Declared<Counter<string>>>();
  const gauges = new Map<string, Declared<Gauge<string>>>();
  const histograms = new Map<string, Declared<Histogram<string>>>();
  const configure = ({ name, help, labels }: MetricOptions<string>) => {
    // prom-client itself refuses a name that another kind of instrument has taken.
    return { name, help, labelNames: [...(labels ?? [])], registers: [registry] };
  };

  return {
    counter: (options) =>
      declare(counters, options, () => {
        const counter = new prometheus.Counter(configure(options));
        return {
          with: bind((labels) => {
            counter.inc(labels, 0);
            return counter.labels(labels);
          }),
        };
      }),
    gauge: (options) =>
      declare(gauges, options, () => {
        const gauge = new prometheus.Gauge(configure(options));
        return { with: (labels) => gauge.labels(labels), remove: (labels) => gauge.remove(labels) };
      }),
    histogram: (options) =>
      declare(histograms, options, () => {
        const histogram = new prometheus.Histogram({ ...configure(options), buckets: [...options.buckets] });
        return {
          with: bind((labels) => {
            histogram.zero(labels);
            return histogram.labels(labels);
          }),
        };
      }),
    render: async () => ({ contentType: registry.contentType, body: await registry.metrics() }),
  };
}

type LabelValues = Readonly<Record<string, string>>;
type Declared<Instrument> = { readonly labels: string; readonly instrument: Instrument };

/** One instrument per name, however many modules ask for it. */
function declare<Instrument>(
  declared: Map<string, Declared<Instrument>>,
  options: MetricOptions<string>,
  create: () => Instrument,
): Instrument {
  const labels = [...(options.labels ?? [])].sort().join(',');
  const known = declared.get(options.name);
  if (known === undefined) {
    const instrument = create();
    declared.set(options.name, { labels, instrument });
    return instrument;
  }
  if (known.labels === labels) return known.instrument;
  throw new Error(
    `metric ${options.name} is declared with labels "${known.labels}", asked for with "${labels}"`,
  );
}

/** Binds each set of labels once: setting a series to zero again would forget what it has counted. */
function bind<Bound>(create: (labels: LabelValues) => Bound): (labels: LabelValues) => Bound {
  const bound = new Map<string, Bound>();
  return (labels) => {
    const key = JSON.stringify(Object.entries(labels).sort(([a], [b]) => (a < b ? -1 : 1)));
    const known = bound.get(key);
    if (known !== undefined) return known;
    const created = create(labels);
    bound.set(key, created);
    return created;
  };
}
