import { DomainError } from '../../../errors.js';
import { windowAt, windowEnd } from '../../../policy/spending-limit/cycle.js';
import type {
  AccountId,
  AccountShare,
  LimitShare,
  ReserveRequest,
  ReserveResult,
} from '../../../policy/usage-store.js';
import type { EpochMs } from '../../../units/time.js';
import { placed, type Account, type ChainBook, type Entry, type PaymasterBook } from './usage-books.js';
import { findCounter, isWindow, type Counter, type CounterBook, type Window } from './usage-counters.js';
import { heldCost, heldNeed } from './usage-holdings.js';
import { findAccount } from './usage-views.js';

export const reserved: ReserveResult = Object.freeze({ outcome: 'reserved' });
const stale: ReserveResult = Object.freeze({ outcome: 'stale' });

/**
 * Judges requests over the books, and changes nothing in them. What it found while it judged the last one is kept for
 * carrying that one out in the same synchronous stretch, so that nothing is looked up twice.
 */
export class UsageJudge {
  readonly windows: (Window | undefined)[] = [];
  readonly counters: (Counter | undefined)[] = [];
  readonly accounts: Account[] = [];
  readonly #books: { readonly counters: CounterBook; readonly forgottenUntil: number };

  constructor(books: { readonly counters: CounterBook; readonly forgottenUntil: number }) {
    this.#books = books;
  }

  /** Throws UNAVAILABLE (DEPOSIT_UNKNOWN) when a balance is not known well enough. */
  decide(
    request: ReserveRequest,
    paymaster: PaymasterBook | undefined,
    chain: ChainBook,
    former: Entry | undefined,
    now: EpochMs,
  ): ReserveResult {
    if (paymaster !== undefined && request.configGeneration < paymaster.generation) return stale;
    return (
      this.#judgeLimits(request, paymaster, chain, former, now) ??
      this.#judgeAccounts(request, paymaster, chain, former, now) ??
      reserved
    );
  }

  #judgeLimits(
    request: ReserveRequest,
    paymaster: PaymasterBook | undefined,
    chain: ChainBook,
    former: Entry | undefined,
    now: EpochMs,
  ): ReserveResult | undefined {
    const since = chain.epoch?.since ?? -Infinity;
    for (let index = 0; index < request.limits.length; index++) {
      const limit = request.limits[index]!;
      // Two shares of one counter would each be judged without the other.
      for (let earlier = 0; earlier < index; earlier++)
        if (isSameCounter(limit, request.limits[earlier]!)) throw listedTwice(`limit ${limit.policyId}`);
      const window = windowAt(limit, now);
      const resetsAt = windowEnd(limit, window);
      // A clock that was set back, or a window that began before the data were lost: unknown is not zero.
      const isLost = resetsAt <= this.#books.forgottenUntil || resetsAt - limit.durationMs < since;
      if (isLost && limit.startsOverWhenLost !== true) return { outcome: 'usage-lost', index, resetsAt };
      const open = this.#findWindow(paymaster, index, limit, window);
      const counter = open === undefined ? undefined : findCounter(open, limit.subject);
      this.windows[index] = open;
      this.counters[index] = counter;
      const held = counter === undefined ? 0 : heldCost(former, counter);
      const taken = counter === undefined ? 0 : counter.used + counter.reserved - held;
      if (taken + Math.max(held, limit.cost) > limit.threshold)
        return { outcome: 'limit', index, used: taken, resetsAt };
    }
    return undefined;
  }

  #judgeAccounts(
    request: ReserveRequest,
    paymaster: PaymasterBook | undefined,
    chain: ChainBook,
    former: Entry | undefined,
    now: EpochMs,
  ): ReserveResult | undefined {
    this.accounts.length = 0;
    for (let index = 0; index < request.accounts.length; index++) {
      const share = request.accounts[index]!;
      const account = this.#findAccount(paymaster, index, chain, share);
      if (account?.balance === undefined || account.readAt === undefined)
        throw depositUnknown(share, 'was never read');
      if (now - account.readAt > request.depositMaxAgeMs)
        throw depositUnknown(share, 'was read too long ago');
      if (this.accounts.includes(account)) throw listedTwice(`account ${share.contract}`);
      const held = heldNeed(former, account);
      const others = account.reserved - held;
      if (others + Math.max(held, share.need) > account.balance)
        return { outcome: 'deposit', index, balance: account.balance, reserved: others };
      this.accounts.push(account);
    }
    return undefined;
  }

  #findWindow(
    paymaster: PaymasterBook | undefined,
    place: number,
    { policyId, startMs, unit }: LimitShare,
    index: number,
  ): Window | undefined {
    const last = paymaster?.windows[place];
    if (last?.listed === true && isWindow(last, policyId, startMs, index, unit)) return last;
    const found = this.#books.counters.find(policyId, startMs, index, unit);
    if (found !== undefined && paymaster !== undefined)
      paymaster.windows = placed(paymaster.windows, place, found);
    return found;
  }

  #findAccount(
    paymaster: PaymasterBook | undefined,
    place: number,
    chain: ChainBook,
    share: AccountShare,
  ): Account | undefined {
    const last = paymaster?.accountsOf === chain ? paymaster.accounts[place] : undefined;
    if (last?.contract.text === share.contract && last.funding?.text === share.fundingAddress) return last;
    const found = findAccount(chain, share);
    if (found === undefined || paymaster === undefined) return found;
    if (paymaster.accountsOf !== chain) paymaster.accounts = [];
    paymaster.accountsOf = chain;
    paymaster.accounts = placed(paymaster.accounts, place, found);
    return found;
  }
}

function isSameCounter(a: LimitShare, b: LimitShare): boolean {
  return a.policyId === b.policyId && a.subject === b.subject && a.startMs === b.startMs && a.unit === b.unit;
}

function listedTwice(what: string): DomainError {
  return new DomainError('INTERNAL', `a reservation names ${what} twice`);
}

function depositUnknown(share: AccountId, why: string): DomainError {
  const account = share.fundingAddress === undefined ? 'deposit' : `balance of ${share.fundingAddress}`;
  return new DomainError('UNAVAILABLE', `the ${account} in contract ${share.contract} ${why}`, {
    reason: 'DEPOSIT_UNKNOWN',
    retryAfterSeconds: 1,
  });
}
