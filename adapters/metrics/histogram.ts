import type { Histogram, MetricOptions } from '../../core/metrics.js';

/**
 * A histogram whose bound series are plain arrays: an observation is a short search and three additions. prom-client's
 * own histogram builds a key from the labels each time, which on the sponsor path costs as much as parsing the
 * operation. Values that are not finite numbers are ignored: a metric must never fail a request.
 */
export class LeanHistogram<L extends string> implements Histogram<L> {
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
