import type { ComponentChildren } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import type UPlot from 'uplot';
import { Time } from './parts.js';

export type Series = {
  readonly name: string;
  /** One for each time. */
  readonly values: readonly number[];
  readonly tone?: 'good' | 'bad';
};

/** The figures of a step, where somebody points at it or goes to it by arrow keys. */
export function PlotSteps({
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
                  <span class={`swatch ${toneOf(one, index)}`} />
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

/** Its class: of a series that is good or bad, or of its place. */
export function toneOf({ tone }: Series, index: number): string {
  return tone ?? `tone-${index % 6}`;
}
