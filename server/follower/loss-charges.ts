import type { Charge } from '../../core/usage/usage-store.js';
import { contractLosses, lossCharges } from '../../core/usage/token-losses.js';
import type { EpochMs } from '../../core/units/time.js';
import { gweiCeil } from '../../core/units/wei.js';
import type { MinedOperation } from './mined.js';

/** What an unpaid operation adds to the losses of its contract and, if it is proven, of its account: nobody is barred without proof. */
export function chargesOfLoss(
  { paymaster: contract, sender, actualGasCost }: MinedOperation,
  { chainId, at, isProven }: { readonly chainId: number; readonly at: EpochMs; readonly isProven: boolean },
): readonly Charge[] {
  const [of, loss] = [{ chainId, contract }, gweiCeil(actualGasCost)];
  if (isProven) return lossCharges(of, sender, { loss, at });
  const { counter, unit, window } = contractLosses(of, at);
  return [{ counter, unit, until: window.until, amount: loss }];
}
