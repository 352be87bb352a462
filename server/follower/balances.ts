import type { AddressKey } from '../../core/units/address.js';
import type { EpochMs } from '../../core/units/time.js';
import { gwei, gweiFloor, type Gwei } from '../../core/units/wei.js';
import { accountName } from '../../core/usage/accounts.js';
import type { Cursor, FollowerStep } from '../../core/usage/follower-step.js';
import type { AccountId, Reservation } from '../../core/usage/reservation.js';
import type { AccountBalance } from '../../core/usage/reserve-request.js';
import { byOperation, operationId, type MinedOperation } from './mined.js';

/**
 * How much of an account may be promised.
 *
 * Let S be the block up to which events are settled, H the head, B(x) the balance after block x. A reservation that is
 * live after the step was either mined in (S, H] and is not settled yet, or was not mined at all. Both kinds are still
 * held in full. Two bounds keep their sum payable:
 *
 * - Σ needs ≤ B(S): no live reservation was charged at S. The balance is written in the same step as the settlements up
 *   to S, so a charge is never missing from both sides.
 * - Σ needs ≤ B(H) + C, where C is what our operations in (S, H] were charged: B(H) has already paid them while
 *   their needs are still held. A charge is never above its need, so at most B(H) is left for operations that are not
 *   mined. Thus a withdrawal seen at the head counts at once, and no charge counts twice.
 *
 * C may be too low, never too high. A reservation that a reorganisation has brought back is live again, so its need is held.
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
 * deposit in the EntryPoint falls by exactly the cost of the event. A contract may take less from a funding wallet, so
 * nothing is added for the wallet, and such an operation counts twice until it is settled.
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
 * Whether a head is older than the one whose balances were written last. A lagging node shows such a head. So does a chain that a
 * reorganisation has just made shorter, until it has grown again. Where a number of confirmations is asked for, what they leave
 * (`confirmed`) tells it from the stored cursor alone, also after a restart and on another replica. A final block is the same for many
 * heads: there the newest head counts that this process has seen.
 */
export function isOlderHead(
  head: { readonly number: number },
  confirmed: number,
  stored: Cursor,
  newest: number | undefined,
): boolean {
  return confirmed < stored.blockNumber || (newest !== undefined && head.number < newest);
}

/**
 * Balances for a step. A balance that can no longer be read is written with read time 0: too old for every request, so that
 * nothing is promised on a figure from before the settlements of this step. Balances of an older head can only lower the known
 * ones: a withdrawal that was read before is not undone.
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

/**
 * A wallet without live promises is followed for this long after its last promise, or after it was first seen. Then nothing is
 * read until somebody asks for it, and that request reads its balance: a deposit that has come meanwhile counts at once.
 */
export const followedForMs = 2 * 60_000;

/**
 * Decides which accounts are followed: each contract's own deposit, the platform's wallets, and any other account with live
 * promises or recent requests. The replica that gets a request for a wallet puts the wallet into the store, so replicas need not
 * send each other messages. Accounts of a contract that no profile names any longer are followed only while they have live
 * promises.
 */
export class AccountsInUse {
  /** Time of the last promise from an account, by account name; without a promise, the time at which it was first seen. */
  readonly #used = new Map<string, EpochMs>();

  /**
   * `followed`: the accounts whose balances a step reads. `forgotten`: those whose balance the store forgets: the next request for one
   * reads its balance, as for a new wallet.
   */
  select(
    known: readonly AccountBalance[],
    platform: readonly AccountId[],
    contracts: ReadonlySet<AddressKey>,
    now: EpochMs,
  ) {
    const followed = new Map<string, AccountId>();
    const forgotten: AccountId[] = [];
    for (const contract of contracts) followed.set(accountName({ contract }), { contract });
    for (const account of platform)
      if (contracts.has(account.contract)) followed.set(accountName(account), account);
    const names = new Set(known.map(accountName));
    for (const name of this.#used.keys()) if (!names.has(name)) this.#used.delete(name);
    for (const { contract, fundingAddress, reserved } of known) {
      const account = fundingAddress === undefined ? { contract } : { contract, fundingAddress };
      const name = accountName(account);
      if (followed.has(name)) continue;
      if (!contracts.has(contract)) {
        // When a profile is offered again, the store must not hold a balance that nobody has read in the meantime.
        if (reserved > 0) followed.set(name, account);
        else forgotten.push(account);
        continue;
      }
      if (reserved > 0 || !this.#used.has(name)) this.#used.set(name, now);
      const isInUse = now - (this.#used.get(name) ?? now) < followedForMs;
      if (!isInUse) forgotten.push(account);
      else followed.set(name, account);
    }
    return { followed: [...followed.values()], forgotten };
  }
}
