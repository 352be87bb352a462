import type { Charge } from '../../core/usage/follower-step.js';
import { lossCharges } from '../../core/usage/token-losses.js';
import type { AddressKey } from '../../core/units/address.js';
import type { EpochMs } from '../../core/units/time.js';
import type { WatchedContract } from './source.js';
import type { Loss } from './unpaid.js';

/** What an unpaid operation adds to the losses of its contract and, if it is proven, of its account: nobody is barred without proof. */
export function chargesOfLoss(
  { operation: { paymaster: contract, sender }, lost, bars }: Loss,
  { chainId, at, isProven }: { readonly chainId: number; readonly at: EpochMs; readonly isProven: boolean },
): readonly Charge[] {
  return lossCharges({ chainId, contract }, sender, { loss: lost, bars: bars && isProven, at });
}

/** How many operations did not pay, and the gwei that they cost, by contract: 0 for one that takes tokens and lost nothing. */
export function unpaidIn(
  losses: readonly Loss[],
  contracts: ReadonlyMap<AddressKey, WatchedContract>,
): { readonly unpaid: number; readonly lost: ReadonlyMap<AddressKey, number> } {
  const lost = new Map<AddressKey, number>();
  for (const { contract, modes } of contracts.values())
    if (modes.some(({ token }) => token !== undefined)) lost.set(contract, 0);
  for (const { operation, lost: gwei } of losses)
    lost.set(operation.paymaster, (lost.get(operation.paymaster) ?? 0) + gwei);
  return { unpaid: losses.length, lost };
}
