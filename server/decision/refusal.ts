import { unreachable } from '../../core/errors.js';
import { limitReached, usageLost } from '../../core/policy/share-texts.js';
import { exposureFull, senderBarred, tokenModeStopped } from '../../core/policy/token-loss.js';
import { refuse, type Refusal } from '../../core/refusal.js';
import { contractFence } from '../../core/usage/counter-names.js';
import { accountBars } from '../../core/usage/token-losses.js';
import { chainFence, type ReserveRefusal } from '../../core/usage/reserve-request.js';
import type { AddressKey } from '../../core/units/address.js';
import { given } from '../../core/units/given.js';
import { formatCoins } from '../../core/units/wei.js';
import { formatAmount } from '../../core/usage/units.js';
import type { ServedPaymaster } from '../view/served-paymaster.js';
import type { PlannedHold, PlannedReservation } from './reservation.js';

/** The text that says why nothing was reserved. */
export function describeRefusal(
  paymaster: ServedPaymaster,
  request: PlannedReservation,
  refusal: ReserveRefusal,
): Refusal {
  switch (refusal.outcome) {
    case 'suspended':
      return refuse('SUSPENDED', describeSuspension(request, refusal.id));
    case 'barred': {
      const bar = at(request.bars, refusal.index);
      if (refusal.index >= accountBars)
        return tokenModeStopped(request.promise.contract, bar.most, bar.window.until);
      return senderBarred(request.key.sender, bar.window.until);
    }
    case 'limit':
    case 'usage-lost': {
      const share = at(request.limits, refusal.index);
      const { name, perSender, policyId } = share.policy;
      const subject = perSender ? request.key.sender : '';
      const reached =
        refusal.outcome === 'usage-lost'
          ? usageLost(name, share.window.until)
          : limitReached(share, { ...share.policy, subject }, refusal.used);
      return { ...reached, policyId };
    }
    case 'held':
      return describeHold(paymaster, request, at(request.holds, refusal.index), refusal);
    case 'deposit':
      return describeDeposit(request, refusal);
    case 'not-committed':
      return refuse(
        'COMMIT_NOT_OPEN',
        'the commit is over, was replaced by a newer one of this sender, or was made for another operation or authorization',
      );
    default:
      return unreachable(refusal);
  }
}

function describeSuspension({ key, promise }: PlannedReservation, id: string): string {
  if (id === chainFence) return `chain ${key.chainId} is suspended in the usage store`;
  if (id === contractFence(promise.contract))
    return `contract ${promise.contract} is suspended in the usage store: by the platform, or because an operation of it was mined that nobody here had promised`;
  return 'the paymaster is suspended in the usage store';
}

function describeHold(
  { namespace }: ServedPaymaster,
  { accounts, promise }: PlannedReservation,
  { bounds, cost, threshold, policy, unit }: PlannedHold,
  { taken, most }: Extract<ReserveRefusal, { outcome: 'held' }>,
): Refusal {
  switch (bounds) {
    case 'live':
      return refuse('TOO_MANY_PROMISES', `${taken} operations are not mined yet, at most ${most} may be`);
    case 'share': {
      const whose = accounts.at(-1)?.fundingAddress ?? promise.contract;
      // For an organisation that may use the whole deposit, the deposit itself is too low.
      if (typeof threshold === 'object' && threshold.percent === 100)
        return refuse('DEPOSIT_TOO_LOW', depositText(whose, { balance: most, reserved: taken, need: cost }));
      return refuse(
        'ORGANISATION_SHARE_FULL',
        `operations of "${namespace}" that are not mined yet take ${formatCoins(taken)} of ${formatCoins(most)} ether, its share of the deposit of ${whose}; this one needs ${formatCoins(cost)}`,
      );
    }
    case 'budget': {
      const [held, quarter, needed] = [taken, most, cost].map((amount) => formatAmount(unit, amount));
      const detail = `operations that are not mined yet hold ${held} of ${quarter}, a quarter of "${policy?.name}"; this one needs ${needed}`;
      const refusal = refuse('BUDGET_SHARE_FULL', detail, cost > most ? 'ABOVE_SHARE' : undefined);
      return { ...refusal, ...given({ policyId: policy?.policyId }) };
    }
    case 'contract':
    case 'organisation':
    case 'paymaster':
    case 'account':
      return exposureFull(bounds, { taken, most, cost });
    default:
      return unreachable(bounds);
  }
}

/** Says which deposit is too low, and by how much, in ether. */
function describeDeposit(
  { accounts, promise }: PlannedReservation,
  { index, balance, reserved }: Extract<ReserveRefusal, { outcome: 'deposit' }>,
): Refusal {
  const { fundingAddress, need } = at(accounts, index);
  const detail = depositText(fundingAddress ?? promise.contract, { balance, reserved, need });
  // A user who pays in tokens cannot fund the deposit. A sponsor can, so the detail says how much is missing.
  return refuse(promise.mode === 'ERC20' && balance === 0 ? 'NOT_FUNDED' : 'DEPOSIT_TOO_LOW', detail);
}

function depositText(
  whose: AddressKey,
  { balance, reserved, need }: { readonly balance: number; readonly reserved: number; readonly need: number },
): string {
  return `deposit of ${whose}: ${formatCoins(balance)} ether, of which ${formatCoins(reserved)} are promised, needs ${formatCoins(need)}`;
}

function at<T>(items: readonly T[], index: number): T {
  const item = items[index];
  if (item === undefined)
    throw new RangeError(`the usage store refused for number ${index} of ${items.length}`);
  return item;
}
