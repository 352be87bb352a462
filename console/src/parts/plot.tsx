import type { ComponentChildren } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';
import UPlot from 'uplot';
import 'uplot/dist/uPlot.min.css';
import { type Column, Table, Time } from './parts.js';

type Props = {
  readonly title: string;
  readonly unit: string;
  /** Begin of each step. */
  readonly times: readonly string[];
  readonly series: readonly Series[];
  readonly format: (value: number) => string;
  /** False: the values do not add up, so they are drawn as lines. Default: bars on top of each other. */
  readonly isStacked?: boolean;
};

/** Bars or lines, with their legend, and the same as a table. */
export function Plot({ title, unit, times, series, format, isStacked = true }: Props) {
  const place = useRef<HTMLDivElement>(null);
  const drawing = useRef<UPlot | undefined>(undefined);
  const data = JSON.stringify([times, series, isStacked]);

  useEffect(() => {
    const { current } = place;
    if (current === null) return undefined;
    const layers = isStacked ? stacked(times, series) : series.map(({ values }) => [...values]).reverse();
    const drawn: UPlot.AlignedData = [times.map((at) => Date.parse(at) / 1000), ...layers];
    const plot = new UPlot(plotOptions(current, { times, series, format, isStacked }), drawn, current);
    drawing.current = plot;
    const fit = new ResizeObserver(() => plot.setSize({ width: current.clientWidth, height }));
    fit.observe(current);
    // Colours are read when it is drawn.
    const scheme = matchMedia('(prefers-color-scheme: dark)');
    const draw = (): void => plot.redraw(true, true);
    scheme.addEventListener('change', draw);
    return () => {
      fit.disconnect();
      scheme.removeEventListener('change', draw);
      plot.destroy();
    };
  }, [data]);

  const rows = times.map((at, index) => ({ at, index }));
  const columns: Column<(typeof rows)[number]>[] = [
    { name: 'From', of: ({ at }) => <Time>{at}</Time>, by: ({ at }) => at },
    ...series.map(({ name, values }) => ({
      name,
      isNumber: true,
      of: ({ index }: { index: number }) => format(values[index] ?? 0),
      by: ({ index }: { index: number }) => values[index] ?? 0,
    })),
  ];
  return (
    <figure>
      <PlotSteps times={times} series={series} format={format} title={title} drawing={drawing}>
        <div ref={place} role="img" aria-label={`${title}: the table below has the same figures`} />
      </PlotSteps>
      {/* Below, since it may take several lines: plots beside each other begin at the same height. */}
      <ul class="legend">
        {series.map((one, index) => (
          <li key={one.name}>
            <Swatch tone={seriesTone(one, index)} />
            {one.name} <b>{format(one.values.reduce((sum, value) => sum + value, 0))}</b>
          </li>
        ))}
        <li class="quiet">{unit}</li>
      </ul>
      <details>
        <summary>Show as a table</summary>
        <Table caption={title} id={({ at }) => at} columns={columns} rows={rows} />
      </details>
    </figure>
  );
}

const height = 220;

/** uPlot draws each series from zero. So each layer is a running sum, and the highest is drawn first, behind the others. */
function stacked(times: readonly string[], series: readonly Series[]): number[][] {
  const sums = times.map(() => 0);
  const layers = series.map(({ values }) =>
    sums.map((_, index) => (sums[index] = sums[index]! + (values[index] ?? 0))),
  );
  return layers.reverse();
}

const daySeconds = 86_400;

/** Counts have no fractions on their axis. */
const wholeSteps = Array.from({ length: 12 }, (_, power) =>
  [1, 2, 5].map((digit) => digit * 10 ** power),
).flat();

function plotOptions(
  element: HTMLElement,
  { times, series, format, isStacked }: Omit<Props, 'title' | 'unit'>,
): UPlot.Options {
  const toSeconds = (at = '') => Date.parse(at) / 1000;
  const [first, last] = [toSeconds(times[0]), toSeconds(times.at(-1))];
  const isOfDays = last - first >= 2 * daySeconds;
  const isOfMonths = (last - first) / Math.max(1, times.length - 1) > 27 * daySeconds;
  const isWhole = series.every(({ values }) => values.every(Number.isInteger));
  const colour = (name: string) => () => getComputedStyle(element).getPropertyValue(`--${name}`);
  const axis = {
    stroke: colour('quiet'),
    grid: { stroke: colour('line'), width: 1 },
    ticks: { show: false },
  };
  const bars = UPlot.paths.bars!({ size: [0.8, 48], align: 1, radius: 0.15 });
  return {
    width: element.clientWidth,
    height,
    legend: { show: false },
    cursor: { show: false },
    scales: {
      // The last bar needs its step, too.
      x: { range: () => [first, last + (last - first) / Math.max(1, times.length - 1)] },
      y: { range: (_, __, max) => [0, max * 1.1 || 1] },
    },
    axes: [
      {
        ...axis,
        size: 34,
        ...(isOfMonths
          ? {
              splits: times.map(toSeconds),
              values: ({ width }, ticks) => ticks.map(monthLabel(width / ticks.length)),
            }
          : { values: (_, ticks) => labelled(ticks, tickLabel(isOfDays)) }),
        // Else a day is named twice.
        ...(isOfDays && !isOfMonths && { incrs: [1, 2, 7, 14, 28].map((days) => days * daySeconds) }),
      },
      {
        ...axis,
        size: 64,
        values: (_, ticks) => labelled(ticks, format),
        ...(isWhole && { incrs: wholeSteps }),
      },
    ],
    series: [
      {},
      ...series
        .map((one, index) => ({
          ...(isStacked
            ? { fill: colour(seriesTone(one, index)), width: 0, paths: bars }
            : { stroke: colour(seriesTone(one, index)), width: 2 }),
          points: { show: !isStacked && times.length === 1 },
        }))
        .reverse(),
    ],
  };
}

export type Series = {
  readonly name: string;
  /** One for each time. */
  readonly values: readonly number[];
  readonly tone?: 'good' | 'bad';
};

/** The figures of a step, where somebody points at it or goes to it by arrow keys. */
function PlotSteps({
  times,
  series,
  format,
  title,
  drawing,
  children,
}: {
  readonly title: string;
  readonly times: readonly string[];
  readonly series: readonly Series[];
  readonly format: (value: number) => string;
  readonly drawing: { readonly current: UPlot | undefined };
  readonly children: ComponentChildren;
}) {
  const [step, setStep] = useState<number>();
  const hide = () => setStep(undefined);
  useEffect(() => {
    // Steps are elsewhere then.
    addEventListener('resize', hide);
    return () => removeEventListener('resize', hide);
  }, []);
  const point = ({ clientX }: { readonly clientX: number }): void => {
    const plot = drawing.current;
    if (plot === undefined) return;
    const seconds = plot.posToVal(clientX - plot.over.getBoundingClientRect().left, 'x');
    const found = times.findLastIndex((at) => Date.parse(at) / 1000 <= seconds);
    setStep(found < 0 ? undefined : found);
  };
  const go = (event: KeyboardEvent): void => {
    const by = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
    if (event.key === 'Escape') hide();
    if (by === undefined) return;
    event.preventDefault();
    setStep(Math.min(times.length - 1, Math.max(0, (step ?? (by < 0 ? times.length : -1)) + by)));
  };
  const at = step === undefined ? undefined : times[step];
  const plot = drawing.current;
  const left =
    at === undefined || plot === undefined
      ? 0
      : plot.valToPos(Date.parse(at) / 1000, 'x') + plot.over.offsetLeft;
  const side = plot !== undefined && left > plot.width / 2 ? 'before' : 'after';
  return (
    <div
      class="plot"
      tabIndex={0}
      role="group"
      aria-label={`${title}, step by step with the arrow keys`}
      onPointerMove={point}
      onPointerLeave={hide}
      onKeyDown={go}
      onBlur={hide}
    >
      {children}
      <div role="status">
        {at !== undefined && step !== undefined && (
          <div class={`tip ${side}`} style={{ left: `${left}px` }}>
            <Time>{at}</Time>
            <ul class="plain">
              {series.map((one, index) => (
                <li key={one.name}>
                  <Swatch tone={seriesTone(one, index)} />
                  {one.name} <b>{format(one.values[step] ?? 0)}</b>
                </li>
              ))}
            </ul>
          </div>
        )}
      </div>
    </div>
  );
}

function Swatch({ tone }: { readonly tone: string }) {
  return <span class="swatch" style={{ background: `var(--${tone})` }} />;
}

/** The name of its colour: of a series that is good or bad, or of its place. */
function seriesTone({ tone }: Series, index: number): string {
  return tone ?? `tone-${index % 6}`;
}

const pad = (value: number) => String(value).padStart(2, '0');

/** In the reader's time zone: a day, or a time of day, where midnight is the day that begins. */
function tickLabel(isOfDays: boolean) {
  return (seconds: number): string => {
    const at = new Date(seconds * 1000);
    const time = `${pad(at.getHours())}:${pad(at.getMinutes())}`;
    return isOfDays || time === '00:00' ? `${pad(at.getMonth() + 1)}-${pad(at.getDate())}` : time;
  };
}

const minMonthPixels = 64;

/** Of months, which begin in UTC; where they have little room, only of some. */
function monthLabel(pixels: number) {
  const each = Math.max(1, Math.ceil(minMonthPixels / pixels));
  return (seconds: number, index: number): string =>
    index % each === 0 ? new Date(seconds * 1000).toISOString().slice(0, 7) : '';
}

/** The labels of ticks. Where several would say the same, only the first has it. */
function labelled(ticks: readonly number[], label: (tick: number) => string): string[] {
  const labels = ticks.map(label);
  return labels.map((text, index) => (labels.indexOf(text) === index ? text : ''));
}
