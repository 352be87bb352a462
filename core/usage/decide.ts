import { DomainError } from '../errors.js';
import type { EpochMs } from '../units/time.js';
import { takePercent } from '../units/wei.js';
import type { Account, Accounts } from './accounts.js';
import { isFinalizable } from './commits.js';
import type { Counter, Counters } from './counters.js';
import type { Fences } from './fences.js';
import { findHeld } from './held.js';
import type { Entry } from './reservations.js';
import type { AccountId, AccountShare } from './reservation.js';
import type {
  AccountBalance,
  HoldShare,
  PeekResult,
  ReserveRefusal,
  ReserveRequest,
  ReserveResult,
} from './reserve-request.js';
import { contains } from './window.js';

const reserved: ReserveResult = Object.freeze({ outcome: 'reserved' });

/**
 * What a decision looked up, by position in the request, so that applying the decision needs no second look-up.
 * Entries beyond the length of the request are left over from an earlier request; ignore them.
 */
export type RequestRows = {
  readonly limits: Counter[];
  readonly holds: Counter[];
  readonly accounts: Account[];
};

/** The part of a turn that decisions read. */
type TurnState = {
  readonly counters: Counters;
  readonly accounts: Accounts;
  readonly fences: Fences;
  readonly since: number;
  readonly forgottenUntil: number;
  balance(id: AccountId): AccountBalance;
};

/**
 * The verdict about a request, from the rows of its turn. Changes nothing. `former` is the reservation that the
 * operation already has; `found` is filled as far as the verdict has looked. Throws UNAVAILABLE (DEPOSIT_UNKNOWN) when a balance
 * is unknown or too old.
 */
export function decide(
  chain: TurnState,
  request: ReserveRequest,
  former: Entry | undefined,
  now: EpochMs,
  found: RequestRows,
): ReserveResult {
  return decideFences(chain, request, now) ?? decideShares(chain, request, former, now, found);
}

/** Whether the request may be judged at all: its windows are current, and no fence refuses its config. */
export function decideFences(
  { fences }: TurnState,
  request: ReserveRequest,
  now: EpochMs,
): ReserveResult | undefined {
  if (hasTurned(request, now)) return { outcome: 'turned', now };
  return fences.refusal(request.fences);
}

/** The verdict of the request's bars, limits, holds and accounts. */
export function decideShares(
  chain: TurnState,
  request: ReserveRequest,
  former: Entry | undefined,
  now: EpochMs,
  found: RequestRows,
): ReserveResult {
  const over: number[] = [];
  const overHolds: number[] = [];
  return (
    decideBars(chain, request) ??
    decideLimits(chain, request, former, found, over) ??
    decideHolds(chain, request, former, now, found, overHolds) ??
    decideAccounts(chain, request, former, now, found) ??
    decideCommit(request, former, now) ??
    reservedWith(over, overHolds)
  );
}

function reservedWith(over: readonly number[], overHolds: readonly number[]): ReserveResult {
  if (over.length === 0 && overHolds.length === 0) return reserved;
  return {
    outcome: 'reserved',
    ...(over.length > 0 && { over }),
    ...(overHolds.length > 0 && { overHolds }),
  };
}

/** Counters behind the verdict, without what the reservation itself holds. `found`: what the verdict has looked up. */
export function explained(
  chain: TurnState,
  request: ReserveRequest,
  former: Entry | undefined,
  found: RequestRows,
): Omit<PeekResult, 'result'> {
  return {
    limits: request.limits.map((limit, index) => {
      const counter = found.limits[index] ?? chain.counters.of(limit);
      const held = findHeld(former?.limits, counter)?.amount ?? 0;
      return { used: counter.used, reserved: counter.reserved - held };
    }),
    holds: request.holds.map((hold, index) => {
      const counter = found.holds[index] ?? chain.counters.of(hold);
      const others = counter.reserved - (findHeld(former?.holds, counter)?.amount ?? 0);
      return { taken: others + plusUsed(chain, hold), most: findThreshold(chain, request, hold) };
    }),
    accounts: request.accounts.map((share) => chain.balance(share)),
  };
}

/** Whether a window of the request does not contain the time. */
export function hasTurned({ bars, limits }: Pick<ReserveRequest, 'bars' | 'limits'>, now: EpochMs): boolean {
  for (const { window } of bars) if (!contains(window, now)) return true;
  for (const { window } of limits) if (!contains(window, now)) return true;
  return false;
}

function decideBars(chain: TurnState, { bars }: ReserveRequest): ReserveRefusal | undefined {
  for (let index = 0; index < bars.length; index++) {
    const bar = bars[index]!;
    const used = chain.counters.find(bar)?.used ?? 0;
    if (used > bar.most) return { outcome: 'barred', index, used };
  }
  return undefined;
}

function decideLimits(
  chain: TurnState,
  { limits }: ReserveRequest,
  former: Entry | undefined,
  found: RequestRows,
  over: number[],
): ReserveRefusal | undefined {
  for (let index = 0; index < limits.length; index++) {
    const limit = limits[index]!;
    const { from, until } = limit.window;
    // The clock was set back, or the window began before the data were lost. Unknown is not zero.
    const isLost = until <= chain.forgottenUntil || from < chain.since;
    if (isLost && limit.enforce) return { outcome: 'usage-lost', index };
    const counter = chain.counters.of(limit);
    refuseSame(found.limits, index, counter);
    found.limits[index] = counter;
    const held = findHeld(former?.limits, counter)?.amount ?? 0;
    const used = counter.used + counter.reserved - held;
    if (used + Math.max(held, limit.cost) <= limit.threshold) continue;
    if (limit.enforce) return { outcome: 'limit', index, used };
    over.push(index);
  }
  return undefined;
}

function decideHolds(
  chain: TurnState,
  request: ReserveRequest,
  former: Entry | undefined,
  now: EpochMs,
  found: RequestRows,
  overHolds: number[],
): ReserveRefusal | undefined {
  for (let index = 0; index < request.holds.length; index++) {
    const hold = request.holds[index]!;
    const counter = chain.counters.of(hold);
    refuseSame(found.holds, index, counter);
    found.holds[index] = counter;
    const held = findHeld(former?.holds, counter)?.amount ?? 0;
    const others = counter.reserved - held;
    const taken = others + plusUsed(chain, hold);
    const most = knownMost(chain, request, hold, now);
    if (taken + Math.max(held, hold.cost) <= most) continue;
    if (hold.admitsOneAlone === true && others === 0) continue;
    if (hold.ofUnenforced !== undefined) {
      overHolds.push(index);
      continue;
    }
    return { outcome: 'held', index, taken, most };
  }
  return undefined;
}

function decideAccounts(
  chain: TurnState,
  request: ReserveRequest,
  former: Entry | undefined,
  now: EpochMs,
  found: RequestRows,
): ReserveRefusal | undefined {
  for (let index = 0; index < request.accounts.length; index++) {
    const share = request.accounts[index]!;
    const { account, balance } = knownAccount(chain, request, share, now);
    for (let earlier = 0; earlier < index; earlier++)
      if (found.accounts[earlier] === account) throw listedTwice(`account ${share.contract}`);
    found.accounts[index] = account;
    const held = findHeld(former?.accounts, account)?.amount ?? 0;
    const others = account.reserved - held;
    if (others + Math.max(held, share.need) > balance)
      return { outcome: 'deposit', index, balance, reserved: others };
  }
  return undefined;
}

function decideCommit(
  request: ReserveRequest,
  former: Entry | undefined,
  now: EpochMs,
): ReserveRefusal | undefined {
  return isFinalizable(request, former, now) ? undefined : { outcome: 'not-committed' };
}

function plusUsed(chain: TurnState, { plusUsed: names, unit }: HoldShare): number {
  let used = 0;
  if (names !== undefined)
    for (const counter of names) used += chain.counters.find({ counter, unit })?.used ?? 0;
  return used;
}

/** The threshold in force; 0 if it is a share of a balance that was never read. */
function findThreshold(chain: TurnState, { accounts }: ReserveRequest, { threshold }: HoldShare): number {
  if (typeof threshold === 'number') return threshold;
  const share = accounts[threshold.account];
  const balance = share === undefined ? undefined : chain.accounts.find(share)?.balance;
  return takePercent(balance ?? 0, threshold.percent);
}

function knownAccount(
  chain: TurnState,
  { depositMaxAgeMs }: ReserveRequest,
  share: AccountShare,
  now: EpochMs,
): { readonly account: Account; readonly balance: number } {
  const account = chain.accounts.find(share);
  if (account?.balance === undefined || account.readAt === undefined)
    throw depositUnknown(share, 'was never read');
  if (now - account.readAt > depositMaxAgeMs) throw depositUnknown(share, 'was read too long ago');
  return { account, balance: account.balance };
}

/** Like `findThreshold`, but requires that the balance behind a percentage is known and recent enough. */
function knownMost(chain: TurnState, request: ReserveRequest, hold: HoldShare, now: EpochMs): number {
  if (typeof hold.threshold === 'number') return hold.threshold;
  const share = request.accounts[hold.threshold.account];
  if (share === undefined)
    throw new DomainError('INTERNAL', 'a hold names an account that the request does not have');
  return takePercent(knownAccount(chain, request, share, now).balance, hold.threshold.percent);
}

/** If a request named one counter twice, each share would be judged without the other. */
function refuseSame(found: readonly Counter[], index: number, counter: Counter): void {
  for (let earlier = 0; earlier < index; earlier++)
    if (found[earlier] === counter) throw listedTwice(`counter ${counter.counter}`);
}

function listedTwice(what: string): DomainError {
  return new DomainError('INTERNAL', `a reservation names ${what} twice`);
}

/** Nothing is promised from an account whose balance is not known well enough. */
function depositUnknown(share: AccountId, why: string): DomainError {
  const account = share.fundingAddress === undefined ? 'deposit' : `balance of ${share.fundingAddress}`;
  return new DomainError('UNAVAILABLE', `the ${account} in contract ${share.contract} ${why}`, {
    reason: 'DEPOSIT_UNKNOWN',
    retryAfterSeconds: 1,
  });
}
