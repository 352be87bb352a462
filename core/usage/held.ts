import type { EpochMs, EpochSeconds } from '../units/time.js';
import type { Account } from './accounts.js';
import type { Counter } from './counters.js';
import type { Taken } from './unit.js';
import type { Commit } from './reservation.js';

/** How much a reservation holds of a counter or needs from an account. */
export type Held<T> = { readonly of: T; amount: number };

/** `rate`: see {@link Taken}; of several promises the highest, so that none is counted too low. */
export type HeldLimit = Held<Counter> & { rate?: bigint };

/** What is held with one rate, or without a rate. */
export function limitHeld(of: Counter, { cost, rate }: Taken): HeldLimit {
  return rate === undefined ? { of, amount: cost } : { of, amount: cost, rate };
}

export function raiseRate(held: HeldLimit, rate: bigint | undefined): void {
  if (rate !== undefined && rate > (held.rate ?? -1n)) held.rate = rate;
}

/** What a reservation holds for its promises alone, without its commit. The entry itself holds it in its counters. */
export type SignedPart = {
  readonly validUntil: EpochSeconds;
  limits: HeldLimit[];
  readonly holds: Held<Counter>[];
  readonly accounts: Held<Account>[];
};

/** The commit of a reservation in memory. */
export type EntryCommit = {
  readonly commitment: Commit['commitment'];
  until: EpochMs;
  isSigned: boolean;
  /** Undefined while nothing was signed for the operation. */
  signed: SignedPart | undefined;
};

/** The entry for `of` in `held`; undefined when nothing is held for it. */
export function findHeld<T>(held: readonly Held<T>[] | undefined, of: T): Held<T> | undefined {
  if (held === undefined) return undefined;
  for (const one of held) if (one.of === of) return one;
  return undefined;
}
