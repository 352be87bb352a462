import type { ComponentChildren } from 'preact';
import { useState } from 'preact/hooks';
import type { Live } from '../api.js';
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

/** What there is; else that it is on its way, why it is not, or `empty`: what to do so that there is something. */
export function Shown<T>({
  live,
  empty,
  isEmpty = isBare,
  children,
}: {
  readonly live: Live<T>;
  readonly empty?: ComponentChildren;
  /** Default: of a list, or an answer with one, that nothing is in it. */
  readonly isEmpty?: (data: T) => boolean;
  readonly children: (data: T) => ComponentChildren;
}) {
  const { data, error } = live;
  const note = error !== undefined && <Note kind="error">{error}</Note>;
  if (data === undefined) return note || <p class="quiet">Loading…</p>;
  return (
    <>
      {note}
      {empty !== undefined && isEmpty(data) ? <p class="empty">{empty}</p> : children(data)}
    </>
  );
}

function isBare(data: unknown): boolean {
  const { items = data } = Object(data) as { readonly items?: unknown };
  return Array.isArray(items) && items.length === 0;
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

export type Column<T> = {
  readonly name: string;
  readonly isNumber?: boolean;
  /** Undefined or null: the row does not have it. */
  readonly of: (row: T) => ComponentChildren;
  /** What rows are sorted by when somebody presses the heading. */
  readonly by?: (row: T) => string | number | bigint | undefined;
  /** Rows come in this order, and there are more of them than are shown: to sort those that are here would mislead. */
  readonly isNewestFirst?: true;
};

/** `isUp`: the smallest first. */
type Order = { readonly name: string; readonly isUp: boolean };

export function Table<T>({
  caption,
  id,
  columns: given,
  rows,
  total,
}: {
  readonly caption: string;
  /**
   * Which row it is, also after others have come before it: otherwise a button that somebody presses while the table is drawn again would
   * act on another row.
   */
  readonly id: (row: T, index: number) => string;
  /** False: a column that is not for this token. */
  readonly columns: readonly (Column<T> | false)[];
  readonly rows: readonly T[];
  /** Stays at the end, whatever the others are sorted by. */
  readonly total?: T;
}) {
  const [order, setOrder] = useState<Order>();
  const columns = given.filter((column) => column !== false);
  const by = columns.find(({ name }) => name === order?.name)?.by;
  const shown = order === undefined || by === undefined ? rows : sorted(rows, by, order.isUp);
  // Names begin with A, figures with the largest.
  const press = ({ name, by: key }: Column<T>): void => {
    const isText = rows.some((row) => typeof key?.(row) === 'string');
    setOrder({ name, isUp: order?.name === name ? !order.isUp : isText });
  };
  const cells = (row: T) =>
    columns.map((column) => (
      <td key={column.name} class={kind(column)} data-name={column.name}>
        {column.of(row) ?? <span class="none">–</span>}
      </td>
    ));
  const kind = ({ isNumber }: Column<T>) => (isNumber ? 'number' : '');
  const sortDirection = ({ name, isNewestFirst }: Column<T>) => {
    if (isNewestFirst) return 'descending';
    if (order?.name !== name) return undefined;
    return order.isUp ? 'ascending' : 'descending';
  };
  return (
    // Wide tables scroll by themselves; focus lets the keyboard do it. On a phone rows are below each other, with the names of
    // columns in front of what they hold (content.css).
    <div class="scroll" tabIndex={0} role="group" aria-label={caption}>
      <table>
        <caption class="hidden">{caption}</caption>
        <thead>
          <tr>
            {columns.map((column) => (
              <th key={column.name} scope="col" class={kind(column)} aria-sort={sortDirection(column)}>
                {column.by === undefined ? (
                  `${column.name}${column.isNewestFirst ? ', newest first' : ''}`
                ) : (
                  <button type="button" class="sort" onClick={() => press(column)}>
                    {column.name}
                  </button>
                )}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {shown.map((row, index) => (
            <tr key={id(row, index)}>{cells(row)}</tr>
          ))}
        </tbody>
        {total !== undefined && (
          <tfoot>
            <tr>{cells(total)}</tr>
          </tfoot>
        )}
      </table>
    </div>
  );
}

/** Rows without a value come last in both directions. */
function sorted<T>(rows: readonly T[], by: NonNullable<Column<T>['by']>, isUp: boolean): readonly T[] {
  const keyed = rows.map((row) => ({ row, key: by(row) }));
  const [known, others] = [keyed.filter(isKnown), keyed.filter((each) => !isKnown(each))];
  const up = known.toSorted(({ key: a }, { key: b }) =>
    typeof a === 'string' || typeof b === 'string'
      ? String(a).localeCompare(String(b), 'en')
      : Number(a! > b!) - Number(a! < b!),
  );
  return [...(isUp ? up : up.toReversed()), ...others].map(({ row }) => row);
}

function isKnown({ key }: { readonly key: unknown }): boolean {
  return key !== undefined;
}
