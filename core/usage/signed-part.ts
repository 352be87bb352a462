import { toSeconds, type EpochMs, type EpochSeconds } from '../units/time.js';
import type { RequestRows } from './decide.js';
import { findHeld, limitHeld, raiseRate, type Held, type HeldLimit, type SignedPart } from './held.js';
import type { Entry } from './reservations.js';
import type { ReserveRequest } from './reserve-request.js';

/** All that an entry without a commit holds. */
export function signedPart({ validUntil, limits, holds, accounts }: Entry): SignedPart {
  return {
    validUntil,
    limits: limits.map((one) => ({ ...one })),
    holds: copied(holds),
    accounts: copied(accounts),
  };
}

/** What the promise of a request holds; `found` has its counters and accounts. */
export function amountsOfPromise(
  { promise, limits, holds, accounts }: ReserveRequest,
  found: RequestRows,
): SignedPart {
  return {
    validUntil: promise.validUntil,
    limits: limits.map((limit, i) => limitHeld(found.limits[i]!, limit)),
    holds: holds.map(({ cost }, i) => ({ of: found.holds[i]!, amount: cost })),
    accounts: accounts.map(({ need }, i) => ({ of: found.accounts[i]!, amount: need })),
  };
}

/** Both together, each amount at the larger one. */
export function raiseSignedPart(former: SignedPart | undefined, more: SignedPart): SignedPart {
  if (former === undefined) return more;
  return {
    validUntil: Math.max(former.validUntil, more.validUntil) as EpochSeconds,
    limits: unionOfLimits(former.limits, more.limits),
    holds: union(former.holds, more.holds),
    accounts: union(former.accounts, more.accounts),
  };
}

/** Lowers what an entry holds to `kept`, in the entry and in the counters or accounts. */
export function trim<T>(
  list: Held<T>[],
  kept: readonly Held<T>[],
  all: { unhold(of: T, amount: number): void; raise(of: T, by: number): void },
): void {
  for (const { of, amount } of list) {
    const stays = findHeld(kept, of);
    if (stays === undefined) all.unhold(of, amount);
    else if (stays.amount !== amount) all.raise(of, stays.amount - amount);
  }
  list.splice(0, list.length, ...kept);
}

/** Until when the reservation of a request counts: as long as its promise, or as the commit that it has just made. */
export function lastMoment({ promise, phase }: ReserveRequest, { commit }: Entry): EpochSeconds {
  const isCommit = phase?.kind === 'commit' && commit !== undefined;
  return isCommit ? ceilSeconds(commit.until) : promise.validUntil;
}

export function ceilSeconds(at: EpochMs): EpochSeconds {
  return toSeconds((at + 999) as EpochMs);
}

function union<T>(former: readonly Held<T>[], more: readonly Held<T>[]): Held<T>[] {
  const all = copied(former);
  for (const { of, amount } of more) {
    const known = findHeld(all, of);
    if (known === undefined) all.push({ of, amount });
    else known.amount = Math.max(known.amount, amount);
  }
  return all;
}

function unionOfLimits(former: readonly HeldLimit[], more: readonly HeldLimit[]): HeldLimit[] {
  const all: HeldLimit[] = union(former, more);
  for (const each of all)
    for (const list of [former, more]) raiseRate(each, list.find(({ of }) => of === each.of)?.rate);
  return all;
}

function copied<T>(held: readonly Held<T>[]): Held<T>[] {
  return held.map(({ of, amount }) => ({ of, amount }));
}
