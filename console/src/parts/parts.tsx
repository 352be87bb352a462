import type { ComponentChildren } from 'preact';
import type { Live } from '../live.js';
import { coins, short, time } from '../format.js';

export function Card({
  title,
  aside,
  children,
}: {
  readonly title: string;
  readonly aside?: ComponentChildren;
  readonly children: ComponentChildren;
}) {
  return (
    <section class="card" aria-label={title}>
      <header>
        <h2>{title}</h2>
        {aside}
      </header>
      {children}
    </section>
  );
}

/** What there is; else that it is on its way, why it is not, or what to do so that there is something. */
export function Shown<T>({
  live,
  isEmpty,
  empty,
  children,
}: {
  readonly live: Live<T>;
  readonly isEmpty?: (data: T) => boolean;
  readonly empty?: ComponentChildren;
  readonly children: (data: T) => ComponentChildren;
}) {
  const { data, error } = live;
  const note = error !== undefined && <Note kind="error">{error}</Note>;
  if (data === undefined) return note || <p class="quiet">Loading…</p>;
  return (
    <>
      {note}
      {isEmpty?.(data) ? <p class="empty">{empty}</p> : children(data)}
    </>
  );
}

/** Text of the service, in which code is between backticks. */
export function Prose({ children }: { readonly children: string }) {
  return children.split('`').map((part, index) => (index % 2 === 1 ? <code key={index}>{part}</code> : part));
}

export function Note({
  kind,
  children,
}: {
  readonly kind: 'error' | 'done' | 'warn';
  readonly children: ComponentChildren;
}) {
  return (
    <p class={`note ${kind}`} role={kind === 'error' ? 'alert' : 'status'}>
      {children}
    </p>
  );
}

export type Choice = readonly [value: string, label: string];

export function Select({
  label,
  value,
  choices,
  onChoose,
}: {
  readonly label: string;
  readonly value: string;
  readonly choices: readonly Choice[];
  readonly onChoose: (value: string) => void;
}) {
  return (
    <label class="field">
      <span>{label}</span>
      <select value={value} onChange={(event) => onChoose(event.currentTarget.value)}>
        {choices.map(([of, text]) => (
          <option key={of} value={of} selected={of === value}>
            {text}
          </option>
        ))}
      </select>
    </label>
  );
}

export function Tile({
  label,
  value,
  note,
  href,
}: {
  readonly label: string;
  readonly value: string;
  readonly note?: string;
  readonly href?: string | undefined;
}) {
  const inside = (
    <>
      <span class="label">{label}</span>
      <strong>{value}</strong>
      <span class="quiet">{note}</span>
    </>
  );
  return href === undefined ? (
    <div class="tile">{inside}</div>
  ) : (
    <a class="tile" href={href}>
      {inside}
    </a>
  );
}

const tones: Readonly<Record<string, string>> = {
  sponsored: 'good',
  mined: 'good',
  pass: 'good',
  counted: 'good',
  refused: 'bad',
  refuse: 'bad',
  failed: 'bad',
  critical: 'bad',
  warning: 'warn',
  would_refuse: 'warn',
  expired: 'warn',
  paused: 'warn',
};

export function Badge({ children, of = children }: { readonly children: string; readonly of?: string }) {
  return <span class={`badge ${tones[of] ?? ''}`}>{children.replaceAll('_', ' ')}</span>;
}

export function Hex({ children }: { readonly children: string }) {
  return <code title={children}>{short(children)}</code>;
}

export function Coins({ children }: { readonly children: string }) {
  return <span title={children}>{coins(children)}</span>;
}

/** In the reader's time zone; the hint has it in UTC. */
export function Time({ children }: { readonly children: string }) {
  return (
    <time dateTime={children} title={`${children.replace('T', ' ').replace('Z', '')} UTC`}>
      {time(children)}
    </time>
  );
}

export function Facts({
  children,
}: {
  readonly children: readonly (readonly [string, ComponentChildren])[];
}) {
  return (
    <dl>
      {children.map(([name, value]) => (
        <div key={name}>
          <dt>{name}</dt>
          <dd>{value ?? '–'}</dd>
        </div>
      ))}
    </dl>
  );
}
