import { count } from './format.js';
import { Plot, type Series } from './parts/plot.js';
import { listSteps } from './range.js';
import type { Usage, UsageRow } from './records.js';

/** What can be drawn of usage: its name, its unit, and its value. */
export const measures = {
  sponsored: ['Sponsored', 'operations', ({ sponsored }) => sponsored],
  refused: ['Refused', 'requests', ({ refused }) => refused],
  asks: ['Asked for', 'requests', ({ asks }) => asks],
  mined: ['Mined', 'operations', ({ mined }) => mined],
  spent: ['Spent', 'coins', ({ spent }) => Number(spent)],
} as const satisfies Record<string, readonly [string, string, (row: UsageRow) => number]>;
export type Measure = keyof typeof measures;

const maxSeries = 6;

function chooseFormat(measure: Measure): (value: number) => string {
  // For eyes only; tables have the exact amounts.
  return measure === 'spent' ? (value) => String(Number(value.toPrecision(4))) : count;
}

/** One series for each group, the largest first; those beyond the sixth together, or left out where they do not add up. */
export function GroupPlot({
  title,
  usage,
  measure,
  nameOf,
}: {
  readonly title: string;
  readonly usage: Usage;
  readonly measure: Measure;
  readonly nameOf: (row: UsageRow) => string;
}) {
  const [, unit, valueOf] = measures[measure];
  const times = listSteps(usage);
  const groups = Map.groupBy(usage.items, nameOf);
  const sorted = [...groups]
    .map(([name, rows]) => ({ name, rows, sum: rows.reduce((sum, row) => sum + valueOf(row), 0) }))
    .filter(({ sum }) => sum > 0)
    .sort((a, b) => b.sum - a.sum);
  const shown = sorted.slice(0, maxSeries).map(({ name, rows }) => toSeries(name, rows));
  const others = sorted.slice(maxSeries).flatMap(({ rows }) => rows);
  const series =
    others.length === 0 || !usage.additive
      ? shown
      : [...shown.slice(0, -1), toSeries('all others', [...others, ...(sorted[maxSeries - 1]?.rows ?? [])])];

  function toSeries(name: string, rows: readonly UsageRow[]): Series {
    return { name, values: sumsAt(times, rows, valueOf) };
  }
  return (
    <Plot
      title={title}
      unit={unit}
      times={times}
      series={series}
      format={chooseFormat(measure)}
      isStacked={usage.additive}
    />
  );
}

export function OperationsPlot({ usage }: { readonly usage: Usage }) {
  const times = listSteps(usage);
  const verdictValues = (measure: 'sponsored' | 'refused') =>
    sumsAt(times, usage.items, (row) => row[measure]);
  return (
    <Plot
      title="Operations"
      unit="operations"
      times={times}
      series={[
        { name: 'Sponsored', values: verdictValues('sponsored'), tone: 'good' },
        { name: 'Refused', values: verdictValues('refused'), tone: 'bad' },
      ]}
      format={count}
    />
  );
}

function sumsAt(
  times: readonly string[],
  rows: readonly UsageRow[],
  valueOf: (row: UsageRow) => number,
): readonly number[] {
  const byTime = Map.groupBy(rows, ({ from }) => from);
  return times.map((at) => (byTime.get(at) ?? []).reduce((sum, row) => sum + valueOf(row), 0));
}
