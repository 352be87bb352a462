import { finesUnusedGas } from '../../../core/entry-point/gas.js';
import type { PaymasterGas, FinalUserOperation } from '../../../core/entry-point/user-operation.js';
import {
  decideUnusedGas,
  unusedGasFee,
  unusedGasFeeCap,
  type UnusedGasQuestion,
} from '../../../core/policy/rules/price-guard/unused-gas.js';
import type { Verdict } from '../../../core/refusal.js';
import { NothingSimulates, type Estimate } from '../../../core/userop/estimator.js';
import { maxGasLimits } from '../../../core/policy/rules/price-guard/decide.js';
import { findGuard } from '../../view/served-chain.js';
import type { RequestFacts } from '../facts.js';
import { hasAllLimits, type GivenBounds } from '../gas-limits.js';

// From EntryPoint 0.7 on there is a fine for unused gas, and the bundler gets it. A caller who is his own bundler could ask for
// much gas, use little, and keep the fine. Limits that risk more than the cap are compared with a simulation before they are signed.

/** Whether the limits must be simulated: because we have to find them, or because the fine for unused gas could be too high. */
export function needsSimulation(facts: RequestFacts, gas: PaymasterGas): boolean {
  return facts.estimating || risksFine(facts, gas);
}

/** Whether the fine for unused gas could be too high with the limits that the caller gave. */
function risksFine(facts: RequestFacts, gas: PaymasterGas): boolean {
  const { chain, paymaster, profile, request } = facts;
  if (!finesUnusedGas(profile.entryPointVersion)) return false;
  const { callGasLimit = 0n, maxFeePerGas } = request.op;
  // A limit above its cap is refused without a simulation.
  if (callGasLimit > findGuard(chain, paymaster.gas).maxCallGasLimit) return false;
  return unusedGasFee(toQuestion(facts, { callGasLimit, maxFeePerGas }, gas)) > unusedFeeCap(facts);
}

/** Compares the limits with the gas that the call needs in a simulation. Those that we found ourselves always pass. */
export function decideUnused(
  facts: RequestFacts,
  op: FinalUserOperation,
  { callGasLimit: neededGas }: Pick<Estimate, 'callGasLimit'>,
  extraPostOp = 0n,
): Verdict {
  const bounds = { neededGas, extraPostOp, cap: unusedFeeCap(facts) };
  return decideUnusedGas({ op, version: facts.profile.entryPointVersion }, bounds);
}

/** Of the caller's limits, where the larger of given and found are signed. */
export function boundsOfGiven(facts: RequestFacts): GivenBounds {
  const { chain, paymaster, profile, request } = facts;
  return {
    most: maxGasLimits(findGuard(chain, paymaster.gas), request.op),
    isCheap: (callGasLimit, neededGas) => {
      const op = { callGasLimit, maxFeePerGas: request.op.maxFeePerGas };
      return decideUnusedGas(
        { op, version: profile.entryPointVersion },
        { neededGas, extraPostOp: 0n, cap: unusedFeeCap(facts) },
      ).pass;
    },
  };
}

/**
 * The estimate; undefined where nothing can simulate and the caller's own limits, which were only asked to be compared, need no
 * simulation. Rejects as the estimator does.
 */
export async function estimateOrGiven(
  facts: RequestFacts,
  gas: PaymasterGas,
  estimate: () => Promise<Estimate>,
): Promise<Estimate | undefined> {
  try {
    return await estimate();
  } catch (error) {
    const { op, calculateGasLimits } = facts.request;
    const isGiven = calculateGasLimits === 'larger' && hasAllLimits(op) && !risksFine(facts, gas);
    if (isGiven && error instanceof NothingSimulates) return undefined;
    throw error;
  }
}

/** The fine if no call gas and no postOp gas were used, and the amount at risk; both in wei. */
export function unusedFees(
  facts: RequestFacts,
  op: FinalUserOperation,
  gas: PaymasterGas,
): { readonly fee: bigint; readonly cap: bigint } {
  return { fee: unusedGasFee(toQuestion(facts, op, gas)), cap: unusedFeeCap(facts) };
}

function toQuestion(
  { profile }: RequestFacts,
  op: UnusedGasQuestion['op'],
  paymasterGas: PaymasterGas,
): UnusedGasQuestion {
  return { op, version: profile.entryPointVersion, paymasterGas };
}

function unusedFeeCap({ chain, paymaster, head }: RequestFacts): bigint {
  return unusedGasFeeCap(findGuard(chain, paymaster.gas), head);
}
