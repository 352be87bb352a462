import type { EpochSeconds } from '../units/time.js';
import { gwei } from '../units/wei.js';
import type { Account } from './accounts.js';
import type { EntryCommit, Held } from './held.js';
import type { Counter } from './counters.js';
import type {
  Commit,
  FoldedPromises,
  OperationId,
  Reservation,
  ReservationKey,
  SignedPromise,
} from './usage-store.js';

/** A live reservation in memory. */
export type Entry = {
  /** Its number in storage; unique across all chains. */
  readonly row: number;
  readonly key: ReservationKey;
  readonly operation: string;
  promises: readonly SignedPromise[];
  folded: readonly FoldedPromises[];
  /** The latest `validUntil` of all promises, or the end of the commit; only {@link Reservations} changes it. */
  validUntil: EpochSeconds;
  // Create lists at their final length: a list that grows in place keeps room for 16 more entries, half of the memory
  // of a reservation.
  readonly limits: Held<Counter>[];
  readonly holds: Held<Counter>[];
  readonly accounts: Held<Account>[];
  commit: EntryCommit | undefined;
  recordId: string | undefined;
  /** Its position in the list of reservations that expire together. */
  place: number;
  /** True while the stored form is out of date. */
  isChanged: boolean;
  isEnded: boolean;
};

const bucketSeconds = 16;

/** Live reservations of a chain, by operation and by expiry. */
export class Reservations {
  /** The reservations of each operation: one per paymaster. */
  readonly #byOperation = new Map<string, Entry[]>();
  /** By validUntil, in steps of 16 s, so that an expiry scan touches only expired reservations. */
  readonly #expiry = new Map<number, Entry[]>();
  #size = 0;

  get size(): number {
    return this.#size;
  }

  find(operation: string, paymasterId: string): Entry | undefined {
    const entries = this.#byOperation.get(operation);
    if (entries === undefined) return undefined;
    for (const entry of entries) if (entry.key.paymasterId === paymasterId) return entry;
    return undefined;
  }

  ofOperation(operation: string): readonly Entry[] {
    return this.#byOperation.get(operation) ?? [];
  }

  add(entry: Entry): void {
    const others = this.#byOperation.get(entry.operation);
    if (others === undefined) this.#byOperation.set(entry.operation, [entry]);
    else others.push(entry);
    this.#list(entry);
    this.#size += 1;
  }

  remove(entry: Entry): void {
    const others = this.ofOperation(entry.operation).filter((other) => other !== entry);
    if (others.length === 0) this.#byOperation.delete(entry.operation);
    else this.#byOperation.set(entry.operation, others);
    this.#unlist(entry);
    this.#size -= 1;
  }

  postpone(entry: Entry, validUntil: EpochSeconds): void {
    if (validUntil > entry.validUntil) this.reschedule(entry, validUntil);
  }

  /** Sets the last moment, also to an earlier one. */
  reschedule(entry: Entry, validUntil: EpochSeconds): void {
    this.#unlist(entry);
    entry.validUntil = validUntil;
    this.#list(entry);
  }

  *all(): IterableIterator<Entry> {
    for (const entries of this.#byOperation.values()) yield* entries;
  }

  /** Reservations that expired before the given time, the oldest first. */
  *expired(before: EpochSeconds): IterableIterator<Entry> {
    const buckets = [...this.#expiry.keys()].filter((bucket) => bucket * bucketSeconds < before);
    for (const bucket of buckets.toSorted((a, b) => a - b)) {
      const entries = (this.#expiry.get(bucket) ?? []).filter((entry) => entry.validUntil < before);
      yield* entries.sort((a, b) => a.validUntil - b.validUntil);
    }
  }

  #list(entry: Entry): void {
    const bucket = bucketOf(entry.validUntil);
    const entries = this.#expiry.get(bucket);
    entry.place = entries?.length ?? 0;
    if (entries === undefined) this.#expiry.set(bucket, [entry]);
    else entries.push(entry);
  }

  #unlist(entry: Entry): void {
    const bucket = bucketOf(entry.validUntil);
    const entries = this.#expiry.get(bucket);
    // The last entry moves into the free place: the order has no meaning here.
    const last = entries?.pop();
    if (last !== undefined && last !== entry) {
      entries![entry.place] = last;
      last.place = entry.place;
    }
    if (entries?.length === 0) this.#expiry.delete(bucket);
  }
}

/** One text per operation of a chain, from the full nonce, EntryPoint and sender. */
export function operationOf({ entryPoint, sender, nonce }: OperationId): string {
  return `${nonce.toString(16)}/${entryPoint}/${sender}`;
}

/** What the port shows of a reservation. */
export function reservationOf(entry: Entry): Reservation {
  const { key, promises, folded, commit, recordId } = entry;
  return {
    key,
    promises,
    folded,
    ...amountsOf(entry),
    ...(commit === undefined ? {} : { commit: commitOf(commit) }),
    ...(recordId === undefined ? {} : { recordId }),
  };
}

function commitOf({ commitment, until, isSigned, signed }: EntryCommit): Commit {
  return { commitment, until, isSigned, ...(signed === undefined ? {} : { signed: amountsOf(signed) }) };
}

type Amounts = Pick<Entry, 'validUntil' | 'limits' | 'holds' | 'accounts'>;

function amountsOf({
  validUntil,
  ...held
}: Amounts): Pick<Reservation, 'validUntil' | 'limits' | 'holds' | 'accounts'> {
  return {
    validUntil,
    limits: held.limits.map(({ of: { counter, unit, until }, amount }) => ({
      counter,
      unit,
      until,
      cost: amount,
    })),
    holds: held.holds.map(({ of: { counter, unit }, amount }) => ({ counter, unit, cost: amount })),
    accounts: held.accounts.map(({ of: { contract, fundingAddress }, amount }) => ({
      contract,
      ...(fundingAddress === undefined ? {} : { fundingAddress }),
      need: gwei(amount),
    })),
  };
}

function bucketOf(validUntil: EpochSeconds): number {
  return Math.floor(validUntil / bucketSeconds);
}
