import { windowEnd } from '../../../policy/spending-limit/cycle.js';
import type { LimitShare } from '../../../policy/usage-store.js';
import type { AddressKey } from '../../../units/address.js';
import type { EpochMs } from '../../../units/time.js';

/**
 * Counters of spending limits in memory.
 *
 * - A counter is there while it is not zero or a reservation holds it. It may be taken out and put back as the same
 *   object, because reservations point to it.
 * - A window stays until it has ended for a grace period and no reservation holds a counter of it.
 */
export type Counter = {
  readonly window: Window;
  readonly subject: AddressKey | '';
  /** Settled. */
  used: number;
  /** Sum of what live reservations hold. */
  reserved: number;
  /** Number of reservations that hold it, also with a cost of 0. */
  holds: number;
};

export type Window = {
  /** Names the window in the journal. */
  readonly id: number;
  readonly policyId: string;
  readonly startMs: EpochMs;
  /** Longest duration asked for with this start: decides when the window may be forgotten. */
  durationMs: number;
  readonly index: number;
  readonly unit: LimitShare['unit'];
  /** The counter of subject '': the only one of a limit of scope PAYMASTER, which so needs no table. */
  own: Counter | undefined;
  /** Counters of senders; made with the first of them. */
  bySender: Map<AddressKey, Counter> | undefined;
  /** Number of its counters that reservations hold. */
  holds: number;
  /** False once it is forgotten: whoever still points to it must look for another. */
  listed: boolean;
};

export type WindowTerms = Pick<Window, 'policyId' | 'startMs' | 'durationMs' | 'index' | 'unit'>;

export class CounterBook {
  /** Windows of each policy, the newest first: nearly always the first one is asked for. */
  readonly #policies = new Map<string, Window[]>();
  readonly #byId = new Map<number, Window>();
  #nextId = 1;

  find(policyId: string, startMs: EpochMs, index: number, unit: LimitShare['unit']): Window | undefined {
    const windows = this.#policies.get(policyId);
    if (windows === undefined) return undefined;
    for (const window of windows) if (isWindow(window, policyId, startMs, index, unit)) return window;
    return undefined;
  }

  /** Adds a window that `find` does not know. `id` is given on recovery only. */
  open({ policyId, startMs, durationMs, index, unit }: WindowTerms, id = this.#nextId): Window {
    const contents = { own: undefined, bySender: undefined, holds: 0, listed: true };
    const opened: Window = { id, policyId, startMs, durationMs, index, unit, ...contents };
    const windows = this.#policies.get(policyId);
    if (windows === undefined) this.#policies.set(policyId, [opened]);
    if (windows !== undefined) windows.unshift(opened);
    this.#byId.set(id, opened);
    this.#nextId = Math.max(this.#nextId, id + 1);
    return opened;
  }

  byId(id: number): Window | undefined {
    return this.#byId.get(id);
  }

  /** All windows, the oldest first; may be walked in pieces while they change. */
  windows(): IterableIterator<Window> {
    return this.#byId.values();
  }

  forget(window: Window): void {
    window.listed = false;
    window.own = undefined;
    window.bySender = undefined;
    this.#byId.delete(window.id);
    const rest = (this.#policies.get(window.policyId) ?? []).filter((other) => other !== window);
    if (rest.length === 0) this.#policies.delete(window.policyId);
    if (rest.length > 0) this.#policies.set(window.policyId, rest);
  }
}

export function isWindow(
  window: Window,
  policyId: string,
  startMs: EpochMs,
  index: number,
  unit: LimitShare['unit'],
): boolean {
  return (
    window.index === index &&
    window.startMs === startMs &&
    window.unit === unit &&
    window.policyId === policyId
  );
}

export function findCounter(window: Window, subject: AddressKey | ''): Counter | undefined {
  return subject === '' ? window.own : window.bySender?.get(subject);
}

/** The counter of a subject, made when it is missing. */
export function counterOf(window: Window, subject: AddressKey | ''): Counter {
  return findCounter(window, subject) ?? newCounter(window, subject);
}

/** Counters that are not zero or held. */
export function* countersOf(window: Window): IterableIterator<Counter> {
  if (window.own !== undefined) yield window.own;
  if (window.bySender !== undefined) yield* window.bySender.values();
}

function list(counter: Counter): void {
  const { window, subject } = counter;
  if (subject === '') window.own = counter;
  else (window.bySender ??= new Map()).set(subject, counter);
}

function unlist({ window, subject }: Counter): void {
  if (subject === '') window.own = undefined;
  else window.bySender?.delete(subject);
}

/** A counter of a subject that has none; it joins its window with its first hold or use. */
export function newCounter(window: Window, subject: AddressKey | ''): Counter {
  return { window, subject, used: 0, reserved: 0, holds: 0 };
}

export function hold(counter: Counter, cost: number): void {
  if (counter.holds === 0) {
    list(counter);
    counter.window.holds += 1;
  }
  counter.holds += 1;
  counter.reserved += cost;
}

export function unhold(counter: Counter, cost: number): void {
  counter.holds -= 1;
  counter.reserved -= cost;
  if (counter.holds > 0) return;
  counter.window.holds -= 1;
  if (counter.used === 0) unlist(counter);
}

export function setUsed(counter: Counter, used: number): void {
  counter.used = used;
  if (used > 0) list(counter);
}

export function endOf(window: Window): EpochMs {
  return windowEnd(window, window.index);
}

/** Stable text that names a counter for people and other stores. */
export function counterName({ window, subject }: Counter): string {
  return `${window.policyId}/${window.startMs}/${window.index}/${subject}`;
}
