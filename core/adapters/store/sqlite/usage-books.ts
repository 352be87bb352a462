import type { UsageEpoch } from '../../../usage/epoch.js';
import type { Cursor } from '../../../policy/usage-store.js';
import type { AddressKey } from '../../../units/address.js';
import type { EpochMs, EpochSeconds } from '../../../units/time.js';
import type { Hex } from '../../../units/hex.js';
import type { Gwei } from '../../../units/wei.js';
import type { Counter, Window } from './usage-counters.js';

/** A text that occurs in many reservations; the journal writes its number, from 1. */
export type Name<T extends string = string> = { readonly id: number; readonly text: T };

export class Names<T extends string> {
  readonly #byText = new Map<T, Name<T>>();
  /** By number; numbers begin at 1 and leave none out. */
  readonly #byId: (Name<T> | undefined)[] = [undefined];
  readonly #onNew: (name: Name<T>) => void;

  constructor(onNew: (name: Name<T>) => void) {
    this.#onNew = onNew;
  }

  /** The name of a text, made when it is new. */
  of(text: T): Name<T> {
    const known = this.#byText.get(text);
    if (known !== undefined) return known;
    const name = { id: this.#byText.size + 1, text };
    this.restore(name);
    this.#onNew(name);
    return name;
  }

  find(text: T): Name<T> | undefined {
    return this.#byText.get(text);
  }

  byId(id: number): Name<T> | undefined {
    return this.#byId[id];
  }

  restore(name: Name<T>): void {
    this.#byText.set(name.text, name);
    this.#byId[name.id] = name;
  }

  *all(): IterableIterator<Name<T>> {
    for (const name of this.#byId) if (name !== undefined) yield name;
  }
}

/**
 * A paymaster, with what its last request found: the next one nearly always names the same windows and accounts at the
 * same places. Among a hundred thousand paymasters each look-up in a table of all of them misses every cache, and these
 * spare most of them; a request may bring the book itself (`UsageMemo`). What is found here must be checked against the
 * request.
 */
export class PaymasterBook {
  /** Whose book it is: a request may remember that of a store that was closed. */
  readonly state: object;
  readonly name: Name;
  generation = 0;
  windows: Window[] = [];
  /** Of `accountsOf`. */
  accounts: Account[] = [];
  accountsOf: ChainBook | undefined;

  constructor(state: object, name: Name) {
    this.state = state;
    this.name = name;
  }
}

/** Puts `item` at its place, of which all before it are filled. A list that is grown in place would keep room for 16 more. */
export function placed<T>(list: T[], place: number, item: T): T[] {
  if (place > list.length) return list;
  if (place === list.length) return list.concat([item]);
  list[place] = item;
  return list;
}

/** Balance of a contract in the EntryPoint, or of a funding wallet inside the contract. Amounts in gwei. */
export type Account = {
  readonly contract: Name<AddressKey>;
  readonly funding: Name<AddressKey> | undefined;
  balance: Gwei | undefined;
  readAt: EpochMs | undefined;
  /** Sum of what live reservations need. */
  reserved: number;
};

/**
 * A reservation. Never changed (but for the hash, which decides nothing about counters): raising one replaces it, so
 * that a step whose commit fails is undone by putting the former one back.
 */
export type Entry = {
  readonly paymaster: PaymasterBook;
  readonly entryPoint: Name<AddressKey>;
  readonly sender: AddressKey;
  readonly nonce: bigint;
  readonly slot: string;
  readonly contract: Name<AddressKey>;
  readonly mode: ReservationMode;
  readonly funding: Name<AddressKey> | undefined;
  readonly validUntil: EpochSeconds;
  readonly counters: readonly Counter[];
  /** Cost of each of `counters`. */
  readonly costs: readonly number[];
  readonly accounts: readonly Account[];
  /** Need of each of `accounts`, in gwei. */
  readonly needs: readonly number[];
  userOpHash: Hex | undefined;
  /** Reservation of another paymaster for the same operation. */
  rival: Entry | undefined;
  /** Where it is in the list of those that expire together. */
  place: number;
};
export type ReservationMode = 'SPONSORED' | 'ERC20';

const expiryBucketSeconds = 16;

/** Everything that belongs to one chain. */
export class ChainBook {
  readonly chainId: number;
  readonly accounts = new Map<AddressKey, Map<AddressKey | '', Account>>();
  cursor: Cursor | undefined;
  /** Identity of these data; undefined until one was given. */
  epoch: Pick<UsageEpoch, 'id' | 'since'> | undefined;
  #size = 0;
  /** The first of each operation's reservations; others hang on it as rivals. */
  readonly #slots = new Map<string, Entry>();
  /** By validUntil, in steps of 16 s. A list per step, so that an expiry scan touches only what has expired. */
  readonly #expiry = new Map<number, Entry[]>();

  constructor(chainId: number) {
    this.chainId = chainId;
  }

  get size(): number {
    return this.#size;
  }

  /** Reservations of one operation, of whichever paymaster, as a chain of rivals. */
  rivals(slot: string): Entry | undefined {
    return this.#slots.get(slot);
  }

  find(slot: string, paymasterId: string): Entry | undefined {
    return ofPaymaster(this.#slots.get(slot), paymasterId);
  }

  /** Lists an entry whose paymaster has none among the `rivals` of its slot. */
  add(entry: Entry, rivals: Entry | undefined): void {
    entry.rival = rivals;
    this.#slots.set(entry.slot, entry);
    const bucket = bucketOf(entry.validUntil);
    let entries = this.#expiry.get(bucket);
    if (entries === undefined) this.#expiry.set(bucket, (entries = []));
    entry.place = entries.push(entry) - 1;
    this.#size += 1;
  }

  remove(entry: Entry): void {
    const first = this.#slots.get(entry.slot);
    if (first === entry) {
      if (entry.rival === undefined) this.#slots.delete(entry.slot);
      if (entry.rival !== undefined) this.#slots.set(entry.slot, entry.rival);
    }
    for (let other = first; other !== undefined; other = other.rival)
      if (other.rival === entry) other.rival = entry.rival;
    const bucket = bucketOf(entry.validUntil);
    const entries = this.#expiry.get(bucket);
    // The last one takes its place: order says nothing here.
    const last = entries?.pop();
    if (last !== undefined && last !== entry) {
      entries![entry.place] = last;
      last.place = entry.place;
    }
    if (entries?.length === 0) this.#expiry.delete(bucket);
    this.#size -= 1;
  }

  /** Every reservation; may be walked in pieces while they change. */
  *entries(): IterableIterator<Entry> {
    for (const first of this.#slots.values())
      for (let entry: Entry | undefined = first; entry !== undefined; entry = entry.rival) yield entry;
  }

  *expired(before: EpochSeconds): IterableIterator<Entry> {
    for (const [bucket, entries] of this.#expiry)
      if (bucket * expiryBucketSeconds < before)
        for (const entry of entries) if (entry.validUntil < before) yield entry;
  }
}

/** The reservation of a paymaster among those of one operation. */
export function ofPaymaster(rivals: Entry | undefined, paymasterId: string): Entry | undefined {
  let entry = rivals;
  while (entry !== undefined && entry.paymaster.name.text !== paymasterId) entry = entry.rival;
  return entry;
}

/** One text per operation of a chain: full nonce, EntryPoint, sender. */
export function slotOf(entryPoint: Name, sender: AddressKey, nonce: bigint): string {
  return `${nonce.toString(16)}/${entryPoint.id}/${sender}`;
}

function bucketOf(validUntil: EpochSeconds): number {
  return Math.floor(validUntil / expiryBucketSeconds);
}
