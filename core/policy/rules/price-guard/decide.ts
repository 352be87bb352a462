import type { Head } from '../../../chain/heads.js';
import type { GasLimits, UserOperation } from '../../../entry-point/user-operation.js';
import { pass, refuse, type RefusalReason, type Verdict } from '../../../refusal.js';
import { chooseCap, platformCaps, type PriceGuard } from './compile.js';
import { larger } from '../../../units/wei.js';

export type NetworkFees = Pick<Head, 'baseFeePerGas' | 'priorityFeePerGas'>;

/**
 * Whether the operation's fees are within their caps. A caller who could choose them freely could empty a deposit
 * with one operation. Without a head only the fixed minimums count, which is the strictest choice.
 */
export function decideFees(
  guard: PriceGuard,
  network: NetworkFees | undefined,
  op: Pick<UserOperation, 'maxFeePerGas' | 'maxPriorityFeePerGas'>,
): Verdict {
  const baseFees = 3n * (network?.baseFeePerGas ?? 0n);
  const feeCap = chooseCap(guard.maxFeePerGas, larger(baseFees, platformCaps.maxFeePerGas));
  if (op.maxFeePerGas > feeCap) return feeAbove('FEE_TOO_HIGH', 'maxFeePerGas', op.maxFeePerGas, feeCap);
  if (op.maxPriorityFeePerGas > op.maxFeePerGas)
    return refuse(
      'PRIORITY_FEE_TOO_HIGH',
      `maxPriorityFeePerGas is ${op.maxPriorityFeePerGas} wei, above maxFeePerGas of ${op.maxFeePerGas} wei`,
    );
  const tips = larger(3n * (network?.priorityFeePerGas ?? 0n), guard.minPriorityFeePerGas);
  const tipCap = chooseCap(guard.maxPriorityFeePerGas, larger(tips, platformCaps.maxPriorityFeePerGas));
  if (op.maxPriorityFeePerGas > tipCap)
    return feeAbove('PRIORITY_FEE_TOO_HIGH', 'maxPriorityFeePerGas', op.maxPriorityFeePerGas, tipCap);
  return pass;
}

/** Whether the tip is what the chain asks for: an operation with less is never mined, and holds its limits until it expires. */
export function decideTip(
  { minPriorityFeePerGas: least }: Pick<PriceGuard, 'minPriorityFeePerGas'>,
  { maxPriorityFeePerGas: tip }: Pick<UserOperation, 'maxPriorityFeePerGas'>,
): Verdict {
  if (tip >= least) return pass;
  return refuse(
    'PRIORITY_FEE_TOO_LOW',
    `maxPriorityFeePerGas is ${tip} wei, the chain asks for at least ${least}`,
  );
}

type GasLimitBounds = {
  /** The layout's `minVerificationGasLimit`. */
  readonly minVerificationGasLimit: bigint;
  /**
   * Our own figure for the preVerificationGas of this operation, from signed fields only; computed only above the
   * fixed cap.
   */
  readonly ownPreVerificationGas: () => bigint;
};

/** Whether the limits that will be signed are within their caps. */
export function decideGasLimits(
  guard: PriceGuard,
  limits: GasLimits & Pick<UserOperation, 'initCode'>,
  bounds: GasLimitBounds,
): Verdict {
  const { callGasLimit, verificationGasLimit, preVerificationGas, initCode } = limits;
  if (callGasLimit > guard.maxCallGasLimit)
    return gasAbove('callGasLimit', callGasLimit, guard.maxCallGasLimit);
  if (verificationGasLimit > guard.maxVerificationGasLimit)
    return gasAbove('verificationGasLimit', verificationGasLimit, guard.maxVerificationGasLimit);
  if (initCode !== '0x' && verificationGasLimit > guard.maxDeploymentGas)
    return gasAbove('verificationGasLimit with initCode', verificationGasLimit, guard.maxDeploymentGas);
  const preVerificationCap = preVerificationCapFor(guard, preVerificationGas, bounds);
  if (preVerificationGas > preVerificationCap)
    return gasAbove('preVerificationGas', preVerificationGas, preVerificationCap);
  const sum = callGasLimit + verificationGasLimit + preVerificationGas;
  if (sum > guard.maxOperationGas)
    return gasAbove('callGasLimit + verificationGasLimit + preVerificationGas', sum, guard.maxOperationGas);
  if (verificationGasLimit < bounds.minVerificationGasLimit)
    return refuse(
      'GAS_LIMIT_TOO_LOW',
      `verificationGasLimit is ${verificationGasLimit} gas, the paymaster contract needs ${bounds.minVerificationGasLimit}`,
    );
  return pass;
}

/** The highest of these limits that {@link decideGasLimits} lets pass. */
export function maxGasLimits(
  { maxCallGasLimit, maxVerificationGasLimit, maxDeploymentGas }: PriceGuard,
  { initCode }: Pick<UserOperation, 'initCode'>,
): Pick<GasLimits, 'callGasLimit' | 'verificationGasLimit'> {
  const isLower = initCode !== '0x' && maxDeploymentGas < maxVerificationGasLimit;
  return {
    callGasLimit: maxCallGasLimit,
    verificationGasLimit: isLower ? maxDeploymentGas : maxVerificationGasLimit,
  };
}

function preVerificationCapFor(
  { maxPreVerificationGas: cap }: PriceGuard,
  value: bigint,
  bounds: GasLimitBounds,
): bigint {
  const least = chooseCap(cap, platformCaps.maxPreVerificationGas);
  if (value <= least || cap.platform !== undefined) return least;
  return chooseCap(cap, larger(platformCaps.maxPreVerificationGas, 2n * bounds.ownPreVerificationGas()));
}

function feeAbove(reason: RefusalReason, field: string, fee: bigint, cap: bigint): Verdict {
  return refuse(reason, `${field} is ${fee} wei, the cap is ${cap}`);
}

function gasAbove(field: string, gas: bigint, cap: bigint): Verdict {
  return refuse('GAS_LIMIT_TOO_HIGH', `${field} is ${gas} gas, the cap is ${cap}`);
}
