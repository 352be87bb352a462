import { DomainError } from '../errors.js';
import type { AddressKey } from '../units/address.js';
import type { EpochMs } from '../units/time.js';
import { formatDecimal, gweiFloor, parseEther, type Gwei } from '../units/wei.js';
import type { LimitShare } from './usage-store.js';
import { windowAt, windowEnd } from './spending-limit/cycle.js';
import { refuse, type Refusal } from './verdict.js';

// What the platform loses on operations that were mined in mode ERC20 and paid no token, kept as counters of the usage store:
// a reservation takes nothing of them, and a settlement adds what the operation has cost if it did not pay. And what it may
// lose on those under way, by account: a reservation takes what the operation may cost, a settlement as above.
//
// They start over when the store has lost its data: a thief who is forgotten costs one more operation, and all of them
// together one more budget for each loss. Refusing everybody until the windows turn would cost honest accounts two days.

const dayMs = 86_400_000;
/** Smaller losses are no loss. */
const tolerated = 1;

/** Coins that token payments of a contract may lose in a day (UTC) where its profile does not say, as decimal text. */
export const defaultTokenLossBudget = '0.1';

/** The budget of a profile, `tokenLossBudget`, as it is counted. Throws RangeError on what is no decimal text. */
export function parseLossBudget(text: string = defaultTokenLossBudget): Gwei {
  return gweiFloor(parseEther(text));
}

/** A paymaster contract of one chain. At the same address of another chain is another contract, with losses of its own. */
export type TokenContract = { readonly chainId: number; readonly contract: AddressKey };

/**
 * Counters of a reservation in mode ERC20: the account's losses, then the contract's. An account is looked at in two windows
 * of two days that begin a day apart: whenever it is promised what it will not pay, it stays barred for one to two days. The
 * window that ends later comes first, so that an account which both bar is told when the second of them ends.
 */
export function tokenLossShares(
  of: TokenContract,
  sender: AddressKey,
  { budget, now }: { readonly budget: Gwei; readonly now: EpochMs },
): readonly LimitShare[] {
  const ofSender = { ...counterOf(of), durationMs: 2 * dayMs, subject: sender, threshold: tolerated };
  const first: LimitShare = { ...ofSender, startMs: 0 as EpochMs };
  const second: LimitShare = { ...ofSender, startMs: dayMs as EpochMs };
  const windows = endAt(first, now) > endAt(second, now) ? [first, second] : [second, first];
  return [...windows, contractLossShare(of, budget)];
}

function endAt(share: LimitShare, now: EpochMs): EpochMs {
  return windowEnd(share, windowAt(share, now));
}

/** The counter of all that a contract has lost today (UTC); above `budget` its token mode has stopped. */
export function contractLossShare(of: TokenContract, budget: Gwei): LimitShare {
  return {
    ...counterOf(of),
    startMs: 0 as EpochMs,
    durationMs: dayMs,
    subject: '',
    threshold: budget,
  };
}

/**
 * The counter of what an account is promised at once. Each promise is judged on the same tokens, of which only the first few
 * to be mined may find any left; so those under way may together cost no more than the contract may lose in a day. As many
 * as bundlers keep of an account without stake (ERC-7562) are let through, whatever they cost.
 */
export function tokenPromiseShare(
  of: TokenContract,
  sender: AddressKey,
  { budget, cost }: { readonly budget: Gwei; readonly cost: Gwei },
): LimitShare {
  return {
    ...counterOf(of),
    policyId: `${promisesOf}${nameOf(of)}`,
    startMs: 0 as EpochMs,
    durationMs: dayMs,
    subject: sender,
    threshold: Math.max(budget, keptByBundlers * cost),
    cost,
  };
}

const promisesOf = 'token-promises:';
/** SAME_SENDER_MEMPOOL_COUNT. */
const keptByBundlers = 4;

/** Whether a counter is one of {@link tokenPromiseShare}. */
export function countsPromises({ policyId }: Pick<LimitShare, 'policyId'>): boolean {
  return policyId.startsWith(promisesOf);
}

function counterOf(of: TokenContract) {
  return {
    policyId: `token-loss:${nameOf(of)}`,
    cost: 0,
    unit: 'NATIVE_ASSET',
    startsOverWhenLost: true,
  } as const;
}

/** Stores may keep the counters of all chains in one place. */
function nameOf({ chainId, contract }: TokenContract): string {
  return `${chainId}:${contract}`;
}

/**
 * Promises of both modes for one operation are apart, since only one of them can come true: which one, its events tell.
 * Names the paymaster in the key of a reservation in mode ERC20.
 */
export function tokenReservationOwner(paymasterId: string): string {
  return `${paymasterId}+ERC20`;
}

/**
 * The refusal for an account that is barred or has too much under way; throws PAYMASTER_NOT_READY (TOKEN_LOSS) when the
 * contract has stopped.
 */
export function refuseForLoss(
  share: Pick<LimitShare, 'policyId' | 'subject' | 'threshold'>,
  contract: AddressKey,
  resetsAt: EpochMs,
): Refusal {
  const { subject, threshold } = share;
  if (countsPromises(share))
    return refuse(
      'TOKEN_PAYMENTS_OPEN',
      `operations of ${subject} that are not mined yet may cost ${formatDecimal(BigInt(threshold), 9)} coins together with this one at most`,
    );
  const until = new Date(resetsAt).toISOString();
  if (subject !== '')
    return refuse('SENDER_BARRED', `an operation of ${subject} paid no token; ask again after ${until}`);
  throw new DomainError(
    'PAYMASTER_NOT_READY',
    `Token payments of ${contract} have stopped until ${until}: operations that paid no token cost more than ${formatDecimal(BigInt(threshold), 9)} coins today.`,
    { reason: 'TOKEN_LOSS' },
  );
}
