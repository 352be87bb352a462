import { hash } from 'node:crypto';
import { accountName } from '../../../core/usage/accounts.js';
import { operationKey } from '../../../core/usage/reservations.js';
import {
  isEmptyAccount,
  isEmptyCounter,
  type AccountRow,
  type ChainRow,
  type CounterRow,
  type FenceRow,
  type RowChanges,
  type RowSource,
} from '../../../core/usage/rows.js';
import type {
  AccountId,
  CounterId,
  OperationId,
  Reservation,
  ReservationKey,
} from '../../../core/usage/reservation.js';
import type { Unit } from '../../../core/usage/units.js';
import type { EpochMs } from '../../../core/units/time.js';

/** Where a live reservation is stored. */
type StoredReservation = { readonly paymasterId: string; readonly row: number };

/** `others`: of the same operation; nearly always none, so that no list is kept for each. */
type Place = StoredReservation & { readonly others: Place | undefined };

/** Where a turn has written a reservation: its row, and the name under which the row is found. */
export type WrittenPlace = { readonly name: string; readonly row: number; readonly isNew: boolean };

/** Reads the stored form of reservations. Both throw UNAVAILABLE. */
type ReservationReader = {
  reservation(key: ReservationKey, row: number): Reservation;
  committed(key: ReservationKey): readonly Reservation[];
};

/**
 * Rows of one chain in memory, written through: they change after a commit and never before it. What reservations hold is
 * derived from them when the tables are read; the reservations themselves stay in their table, only their places are here.
 */
export class ChainRows implements RowSource {
  readonly chainId: number;
  chain: ChainRow = { cursor: undefined, since: 0, forgottenUntil: 0, open: undefined };
  /** "id:since" of the epoch, or "" when no epoch has begun. */
  epoch = '';
  longestExpiryMs = 0;
  /** Of the last write. */
  written = 0;
  /** Of the next decision since then. */
  place = 0;
  readonly #counters = new Map<Unit, Map<string, CounterRow>>();
  readonly #accounts = new Map<string, AccountRow>();
  readonly #fences = new Map<string, FenceRow>();
  readonly #operations = new Map<string, Place>();
  readonly #reader: ReservationReader;
  #live = 0;

  constructor(chainId: number, reader: ReservationReader) {
    this.chainId = chainId;
    this.#reader = reader;
  }

  get sequence(): number {
    return this.written + 1;
  }

  get live(): number {
    return this.#live;
  }

  counter({ counter, unit }: CounterId): CounterRow | undefined {
    return this.#counters.get(unit)?.get(counter);
  }

  account(id: AccountId): AccountRow | undefined {
    return this.#accounts.get(accountName(id));
  }

  fence(id: string): FenceRow | undefined {
    return this.#fences.get(id);
  }

  reservation(key: ReservationKey): Reservation | undefined {
    const row = this.rowOf(key);
    return row === undefined ? undefined : this.#reader.reservation(key, row);
  }

  committed(key: ReservationKey): readonly Reservation[] {
    return this.#reader.committed(key);
  }

  rowOf(key: ReservationKey): number | undefined {
    return this.#rowIn(placeName(key), key);
  }

  /** Where the reservation is stored, or where it will be if it is in no row yet. `takeRow` answers a free row. */
  placeOf(key: ReservationKey, takeRow: () => number): WrittenPlace {
    const name = placeName(key);
    const row = this.#rowIn(name, key);
    return { name, row: row ?? takeRow(), isNew: row === undefined };
  }

  #rowIn(name: string, { paymasterId }: ReservationKey): number | undefined {
    for (let one = this.#operations.get(name); one !== undefined; one = one.others)
      if (one.paymasterId === paymasterId) return one.row;
    return undefined;
  }

  *ofOperation(operation: OperationId): Iterable<StoredReservation> {
    for (let one = this.#operations.get(placeName(operation)); one !== undefined; one = one.others) yield one;
  }

  *counters(): Iterable<CounterRow> {
    for (const ofUnit of this.#counters.values()) yield* ofUnit.values();
  }

  accounts(): Iterable<AccountRow> {
    return this.#accounts.values();
  }

  fences(): Iterable<FenceRow> {
    return this.#fences.values();
  }

  setCounter(row: CounterRow): void {
    let ofUnit = this.#counters.get(row.unit);
    if (ofUnit === undefined) this.#counters.set(row.unit, (ofUnit = new Map()));
    if (isEmptyCounter(row)) ofUnit.delete(row.counter);
    else ofUnit.set(row.counter, row);
  }

  setAccount(row: AccountRow): void {
    if (isEmptyAccount(row)) this.#accounts.delete(accountName(row));
    else this.#accounts.set(accountName(row), row);
  }

  setFence(row: FenceRow): void {
    this.#fences.set(row.id, row);
  }

  removeFence(id: string): void {
    this.#fences.delete(id);
  }

  #add(name: string, paymasterId: string, row: number): void {
    this.#operations.set(name, { paymasterId, row, others: this.#operations.get(name) });
    this.#live += 1;
  }

  #removeReservation(key: ReservationKey): void {
    const name = placeName(key);
    if (this.#rowIn(name, key) === undefined) return;
    let rest: Place | undefined;
    for (let one = this.#operations.get(name); one !== undefined; one = one.others)
      if (one.paymasterId !== key.paymasterId)
        rest = { paymasterId: one.paymasterId, row: one.row, others: rest };
    if (rest === undefined) this.#operations.delete(name);
    else this.#operations.set(name, rest);
    this.#live -= 1;
  }

  /** Adds what a stored reservation holds, and its place. */
  addStored({ key, limits, holds, accounts }: Reservation, row: number): void {
    for (const { counter, unit, until, cost } of limits) this.#hold({ counter, unit }, cost, until);
    for (const { counter, unit, cost } of holds) this.#hold({ counter, unit }, cost, 0 as EpochMs);
    for (const { need, ...id } of accounts) {
      const known = this.account(id);
      const { balance, readAt, reserved = 0, holders = 0 } = known ?? {};
      this.setAccount({ ...id, balance, readAt, reserved: reserved + need, holders: holders + 1 });
    }
    this.#add(placeName(key), key.paymasterId, row);
  }

  #hold(id: CounterId, cost: number, until: EpochMs): void {
    const known = this.counter(id);
    const last = Math.max(known?.until ?? 0, until) as EpochMs;
    const { used = 0, reserved = 0, holders = 0 } = known ?? {};
    this.setCounter({ ...id, until: last, used, reserved: reserved + cost, holders: holders + 1 });
  }

  /** Takes what a commit has written; `places` are those of its reservations, in their order. */
  take(changes: RowChanges, places: readonly WrittenPlace[]): void {
    this.chain = changes.chain;
    for (const row of changes.counters) this.setCounter(row);
    for (const row of changes.accounts) this.setAccount(row);
    for (const row of changes.fences) this.setFence(row);
    for (const [i, { key }] of changes.reservations.entries()) {
      const { name, row, isNew } = places[i]!;
      if (isNew) this.#add(name, key.paymasterId, row);
    }
    for (const key of changes.ended) this.#removeReservation(key);
  }
}

/**
 * A hash, since a million live reservations would keep the texts of as many senders and nonces in memory. Callers choose those, so
 * no two of them may be found that have one hash.
 */
function placeName(operation: OperationId): string {
  return hash('sha256', operationKey(operation), 'binary');
}
