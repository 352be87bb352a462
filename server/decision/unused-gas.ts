import { finesUnusedGas } from '../../core/entry-point/gas.js';
import type { PaymasterGas } from '../../core/entry-point/user-operation.js';
import {
  decideUnusedGas,
  unusedGasFee,
  unusedGasFeeCap,
  type UnusedGasQuestion,
} from '../../core/policy/rules/price-guard/unused-gas.js';
import { pass, type Verdict } from '../../core/refusal.js';
import type { Estimate } from '../../core/userop/estimator.js';
import type { FinalUserOperation } from '../../core/entry-point/user-operation.js';
import { guardOf } from '../view/served-chain.js';
import type { RequestFacts } from './facts.js';

// From EntryPoint 0.7 on unused gas is fined, in favour of the bundler: a caller who is his own could ask for much, use
// little, and keep the fine. Limits that risk more than the cap are compared with a simulation before they are signed.

/** Whether the limits must be simulated: because they are ours to find, or because too much could be paid for unused gas. */
export function needsSimulation(facts: RequestFacts, gas: PaymasterGas): boolean {
  if (facts.estimating) return true;
  const { chain, paymaster, profile, request } = facts;
  if (!finesUnusedGas(profile.entryPointVersion)) return false;
  const { callGasLimit = 0n, maxFeePerGas } = request.op;
  // A limit above its cap is refused without a simulation.
  if (callGasLimit > guardOf(chain, paymaster.gas).maxCallGasLimit) return false;
  return unusedGasFee(questionOf(facts, { callGasLimit, maxFeePerGas }, gas)) > capOf(facts);
}

/** Judges the caller's limits by what the call was found to need; those that were found by us are as they must be. */
export function decideUnused(
  facts: RequestFacts,
  op: FinalUserOperation,
  { callGasLimit: neededGas }: Pick<Estimate, 'callGasLimit'>,
): Verdict {
  if (facts.estimating) return pass;
  return decideUnusedGas({ op, version: facts.profile.entryPointVersion }, { neededGas, cap: capOf(facts) });
}

/** The fine that could be paid if nothing of call and postOp gas were used, and what is risked; wei. */
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
