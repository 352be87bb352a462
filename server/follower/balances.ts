import type {
  AccountBalance,
  AccountId,
  Cursor,
  FollowerStep,
  Reservation,
} from '../../core/usage/usage-store.js';
import type { EpochMs } from '../../core/units/time.js';
import { gwei, gweiFloor, type Gwei } from '../../core/units/wei.js';
import { byOperation, operationId, type MinedOperation } from './mined.js';

/**
 * How much of an account may be promised.
 *
 * Let S be the block up to which events are settled, H the head, B(x) the balance after block x. Reservations that are
 * live after the step are of two kinds: mined in (S, H] and not settled yet, and not mined at all. Both are still held
 * in full. Two bounds keep their sum payable:
 *
 * - Σ needs ≤ B(S): nothing that is live was charged at S. Written in the same step as the settlements up to S, so a
 *   charge is never missing from both sides.
 * - Σ needs ≤ B(H) + C, where C is what operations of ours in (S, H] were charged: B(H) has paid them already while
 *   their needs are still held. As a charge is never above its need, what is left for operations that are not mined
 *   is at most B(H). A withdrawal seen at the head thus counts at once, and no charge counts twice.
 *
 * C may be too low, never too high. What a reorganisation brought back is live again, so its needs are held.
 */
export function usable(balance: {
  readonly settled: bigint;
  readonly head: bigint;
  readonly chargedSince: bigint;
}): Gwei {
  const atHead = balance.head + balance.chargedSince;
  return gweiFloor(balance.settled < atHead ? balance.settled : atHead);
}

/**
 * Wei that operations above the settled block took from each account, by {@link accountName}. Only the contract's
 * deposit in the EntryPoint falls by exactly the cost of the event; what the contract takes from a funding wallet may
 * be less, so there nothing is added, and such an operation weighs twice until it is settled.
 */
export function charges(
  unsettled: readonly MinedOperation[],
  reservations: readonly Reservation[],
): ReadonlyMap<string, bigint> {
  const promised = byOperation(reservations);
  const sums = new Map<string, bigint>();
  for (const operation of unsettled) {
    const { paymaster, actualGasCost } = operation;
    const isHeld = (promised.get(operationId(operation)) ?? []).some(({ accounts }) =>
      accounts.some(({ contract }) => contract === paymaster),
    );
    const name = accountName({ contract: paymaster });
    if (isHeld) sums.set(name, (sums.get(name) ?? 0n) + actualGasCost);
  }
  return sums;
}

/**
 * Whether a head is older than the one whose balances were written last: it was at most so far above the settled block. A node that
 * lags shows such a head, or a chain that has just been replaced by a shorter one, which soon is as long. Asks only the stored
 * cursor, so it also holds after a restart and for another replica.
 */
export function isOlderHead(
  head: { readonly number: number },
  confirmations: number,
  stored: Cursor,
): boolean {
  return Math.max(0, head.number - confirmations) < stored.blockNumber;
}

/**
 * Balances for a step. One that can no longer be read is written as read at the beginning of time: too old for every
 * request, so that nothing is promised on a figure from before the settlements of this step. Those of an older head only lower
 * what is known: a withdrawal that was read before is not undone.
 */
export function stepBalances(
  accounts: readonly AccountId[],
  balances: ReadonlyMap<string, Gwei>,
  known: readonly AccountBalance[],
  { readAt, isOlder }: { readonly readAt: EpochMs; readonly isOlder: boolean },
): FollowerStep['balances'] {
  const before = new Map(known.map((account) => [accountName(account), account]));
  return accounts.flatMap((account) => {
    const name = accountName(account);
    const last = before.get(name);
    const isKnown = last?.balance !== undefined && (last.readAt ?? 0) > 0;
    const read = balances.get(name);
    if (read === undefined)
      return last?.balance === undefined ? [] : [{ ...account, balance: gwei(0), readAt: 0 as EpochMs }];
    if (!isOlder) return [{ ...account, balance: read, readAt }];
    return isKnown ? [{ ...account, balance: last.balance < read ? last.balance : read, readAt }] : [];
  });
}

export function accountName({ contract, fundingAddress }: AccountId): string {
  return `${contract}/${fundingAddress ?? ''}`;
}
