import { finesUnusedGas } from '../../../core/entry-point/gas.js';
import type { PaymasterGas, FinalUserOperation } from '../../../core/entry-point/user-operation.js';
import {
  decideUnusedGas,
  unusedGasFee,
  unusedGasFeeCap,
  type UnusedGasQuestion,
} from '../../../core/policy/rules/price-guard/unused-gas.js';
import type { Verdict } from '../../../core/refusal.js';
import type { Estimate } from '../../../core/userop/estimator.js';
import { guardOf } from '../../view/served-chain.js';
import type { RequestFacts } from '../facts.js';

// From EntryPoint 0.7 on there is a fine for unused gas, and the bundler gets it. A caller who is his own bundler could ask for
// much gas, use little, and keep the fine. Limits that risk more than the cap are compared with a simulation before they are signed.

/** Whether the limits must be simulated: because we have to find them, or because the fine for unused gas could be too high. */
export function needsSimulation(facts: RequestFacts, gas: PaymasterGas): boolean {
  if (facts.estimating) return true;
  const { chain, paymaster, profile, request } = facts;
  if (!finesUnusedGas(profile.entryPointVersion)) return false;
  const { callGasLimit = 0n, maxFeePerGas } = request.op;
  // A limit above its cap is refused without a simulation.
  if (callGasLimit > guardOf(chain, paymaster.gas).maxCallGasLimit) return false;
  return unusedGasFee(questionOf(facts, { callGasLimit, maxFeePerGas }, gas)) > capOf(facts);
}

/** Compares the limits with the gas that the call needs in a simulation. Those that we found ourselves always pass. */
export function decideUnused(
  facts: RequestFacts,
  op: FinalUserOperation,
  { callGasLimit: neededGas }: Pick<Estimate, 'callGasLimit'>,
): Verdict {
  return decideUnusedGas({ op, version: facts.profile.entryPointVersion }, { neededGas, cap: capOf(facts) });
}

/** The fine if no call gas and no postOp gas were used, and the amount at risk; both in wei. */
export function unusedFees(
  facts: RequestFacts,
  op: FinalUserOperation,
  gas: PaymasterGas,
): { readonly fee: bigint; readonly cap: bigint } {
  return { fee: unusedGasFee(questionOf(facts, op, gas)), cap: capOf(facts) };
}

function questionOf(
  { profile }: RequestFacts,
  op: UnusedGasQuestion['op'],
  paymasterGas: PaymasterGas,
): UnusedGasQuestion {
  return { op, version: profile.entryPointVersion, paymasterGas };
}

function capOf({ chain, paymaster, head }: RequestFacts): bigint {
  return unusedGasFeeCap(guardOf(chain, paymaster.gas), head);
}
