import { DomainError } from '../errors.js';
import type { AddressKey } from '../units/address.js';
import type { EpochMs } from '../units/time.js';
import type { LimitShare } from './usage-store.js';
import { refuse, type Refusal } from './verdict.js';

// What the platform loses on operations that were mined in mode ERC20 and paid no token, kept as counters of the usage store:
// a reservation takes nothing of them, and a settlement adds what the operation has cost if it did not pay.

const dayMs = 86_400_000;
/** Smaller losses are no loss. */
const tolerated = 1;

/** Native coin, in gwei, that a contract may lose in a day (UTC) before its token mode stops: 0.1 coins. */
export const dailyLossBudget = 100_000_000;

/**
 * Counters of a reservation in mode ERC20: the account's losses, then the contract's. An account is looked at in two windows
 * of two days that begin a day apart: whenever it fails to pay, it stays barred for one to two days.
 */
export function tokenLossShares(contract: AddressKey, sender: AddressKey): readonly LimitShare[] {
  const counter = { policyId: `token-loss:${contract}`, cost: 0, unit: 'NATIVE_ASSET' } as const;
  const ofSender = { ...counter, durationMs: 2 * dayMs, subject: sender, threshold: tolerated } as const;
  return [
    { ...ofSender, startMs: 0 as EpochMs },
    { ...ofSender, startMs: dayMs as EpochMs },
    { ...counter, startMs: 0 as EpochMs, durationMs: dayMs, subject: '', threshold: dailyLossBudget },
  ];
}

/**
 * Promises of both modes for one operation are apart, since only one of them can come true: which one, its events tell.
 * Names the paymaster in the key of a reservation in mode ERC20.
 */
export function tokenReservationOwner(paymasterId: string): string {
  return `${paymasterId}+ERC20`;
}

/** The refusal for an account that is barred; throws PAYMASTER_NOT_READY (TOKEN_LOSS) when the contract has stopped. */
export function refuseForLoss(
  { subject }: Pick<LimitShare, 'subject'>,
  contract: AddressKey,
  resetsAt: EpochMs,
): Refusal {
  const until = new Date(resetsAt).toISOString();
  if (subject !== '')
    return refuse('SENDER_BARRED', `an operation of ${subject} paid no token; ask again after ${until}`);
  throw new DomainError(
    'PAYMASTER_NOT_READY',
    `Token payments of ${contract} have stopped until ${until}: too many operations paid nothing today.`,
    { reason: 'TOKEN_LOSS' },
  );
}
