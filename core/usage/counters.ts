import type { EpochMs } from '../units/time.js';
import { isEmptyCounter, type CounterRow, type RowSource } from './rows.js';
import type { Unit } from './units.js';
import type { CounterId } from './reservation.js';
import type { CounterState } from './reserve-request.js';

/** A turn's copy of a counter. */
export type Counter = { -readonly [K in keyof CounterRow]: CounterRow[K] } & { isChanged: boolean };

const empty = { until: 0 as EpochMs, used: 0, reserved: 0, holders: 0 };

/** Counters of a turn, copied when they are first looked up. */
export class Counters {
  readonly #rows: Pick<RowSource, 'counter'>;
  readonly #byUnit = new Map<Unit, Map<string, Counter>>();
  readonly #changed: Counter[] = [];

  constructor(rows: Pick<RowSource, 'counter'>) {
    this.#rows = rows;
  }

  /** Undefined: it was never written, so it is 0. */
  find(id: CounterId): Counter | undefined {
    const counter = this.of(id);
    return isEmptyCounter(counter) ? undefined : counter;
  }

  /** One that was never written is 0, and is written only if it changes. */
  of(id: CounterId): Counter {
    return this.#byUnit.get(id.unit)?.get(id.counter) ?? this.#keep(this.#copied(id));
  }

  state(id: CounterId): CounterState {
    const { used = 0, reserved = 0 } = this.find(id) ?? {};
    return { used, reserved };
  }

  setUsed(counter: Counter, used: number): void {
    counter.used = used;
    this.#note(counter);
  }

  /** Keeps the latest window end that anyone has named for the counter. */
  extend(counter: Counter, until: EpochMs): void {
    if (until <= counter.until) return;
    counter.until = until;
    this.#note(counter);
  }

  hold(counter: Counter, cost: number): void {
    counter.holders += 1;
    counter.reserved += cost;
    this.#note(counter);
  }

  unhold(counter: Counter, cost: number): void {
    counter.holders -= 1;
    counter.reserved -= cost;
    this.#note(counter);
  }

  /** Changes what one reservation holds. */
  raise(counter: Counter, by: number): void {
    counter.reserved += by;
    this.#note(counter);
  }

  changed(): readonly CounterRow[] {
    return this.#changed;
  }

  #note(counter: Counter): void {
    if (counter.isChanged) return;
    counter.isChanged = true;
    this.#changed.push(counter);
  }

  #copied(id: CounterId): Counter {
    const { counter, unit } = id;
    const { until, used, reserved, holders } = this.#rows.counter(id) ?? empty;
    return { counter, unit, until, used, reserved, holders, isChanged: false };
  }

  #keep(counter: Counter): Counter {
    let ofUnit = this.#byUnit.get(counter.unit);
    if (ofUnit === undefined) this.#byUnit.set(counter.unit, (ofUnit = new Map()));
    ofUnit.set(counter.counter, counter);
    return counter;
  }
}
