import type { EpochMs } from '../units/time.js';
import type { CounterId, CounterState, Unit } from './usage-store.js';

/**
 * A counter in memory. `reserved` and `holders` are derived from the reservations; only `used` and `until` are
 * stored.
 */
export type Counter = {
  readonly counter: string;
  readonly unit: Unit;
  /** The end of its window; 0 while only holds use it, because holds have no window. */
  until: EpochMs;
  /** Settled use. */
  used: number;
  /** Sum of what live reservations hold of it. */
  reserved: number;
  /** Number of reservations that hold it, also with a cost of 0. */
  holders: number;
};

/**
 * Counters of a chain by unit and name. A counter that was never written is 0, so it exists here only while it has
 * settled use or a reservation holds it.
 */
export class Counters {
  readonly #byUnit = new Map<Unit, Map<string, Counter>>();
  /** Counters with settled use by the end of their window. */
  readonly #ends = new Map<EpochMs, Set<Counter>>();

  find({ counter, unit }: CounterId): Counter | undefined {
    return this.#byUnit.get(unit)?.get(counter);
  }

  /** The counter with this name; creates it if it does not exist. */
  of({ counter, unit }: CounterId): Counter {
    const known = this.#byUnit.get(unit)?.get(counter);
    if (known !== undefined) return known;
    const made: Counter = { counter, unit, until: 0 as EpochMs, used: 0, reserved: 0, holders: 0 };
    let ofUnit = this.#byUnit.get(unit);
    if (ofUnit === undefined) this.#byUnit.set(unit, (ofUnit = new Map()));
    ofUnit.set(counter, made);
    return made;
  }

  state(id: CounterId): CounterState {
    const { used = 0, reserved = 0 } = this.find(id) ?? {};
    return { used, reserved };
  }

  setUsed(counter: Counter, used: number): void {
    if (counter.used > 0) this.#unlist(counter);
    counter.used = used;
    if (used > 0) this.#list(counter);
    else this.#dropIdle(counter);
  }

  /** Keeps the latest window end that anyone has named for the counter. */
  extend(counter: Counter, until: EpochMs): void {
    if (until <= counter.until) return;
    if (counter.used > 0) this.#unlist(counter);
    counter.until = until;
    if (counter.used > 0) this.#list(counter);
  }

  hold(counter: Counter, cost: number): void {
    counter.holders += 1;
    counter.reserved += cost;
  }

  unhold(counter: Counter, cost: number): void {
    counter.holders -= 1;
    counter.reserved -= cost;
    this.#dropIdle(counter);
  }

  /**
   * At most `limit` counters whose window ended before the given time, that have settled use, and that no reservation
   * holds.
   */
  ended(before: EpochMs, limit: number): readonly Counter[] {
    const found: Counter[] = [];
    for (const [until, ending] of this.#ends) {
      if (until >= before) continue;
      for (const counter of ending) {
        if (found.length === limit) return found;
        if (counter.holders === 0) found.push(counter);
      }
    }
    return found;
  }

  #list(counter: Counter): void {
    const ending = this.#ends.get(counter.until);
    if (ending === undefined) this.#ends.set(counter.until, new Set([counter]));
    else ending.add(counter);
  }

  #unlist(counter: Counter): void {
    const ending = this.#ends.get(counter.until);
    ending?.delete(counter);
    if (ending?.size === 0) this.#ends.delete(counter.until);
  }

  #dropIdle({ counter, unit, used, holders }: Counter): void {
    if (used === 0 && holders === 0) this.#byUnit.get(unit)?.delete(counter);
  }
}
