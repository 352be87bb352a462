import type { Charge } from '../../core/usage/usage-store.js';
import { lossCharges } from '../../core/usage/token-losses.js';
import type { EpochMs } from '../../core/units/time.js';
import type { Loss } from './unpaid.js';

/** What an unpaid operation adds to the losses of its contract and, if it is proven, of its account: nobody is barred without proof. */
export function chargesOfLoss(
  { operation: { paymaster: contract, sender }, lost, bars }: Loss,
  { chainId, at, isProven }: { readonly chainId: number; readonly at: EpochMs; readonly isProven: boolean },
): readonly Charge[] {
  return lossCharges({ chainId, contract }, sender, { loss: lost, bars: bars && isProven, at });
}
