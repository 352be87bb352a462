import { isObject } from '../../core/schema/json-value.js';
import type { Heads } from '../../core/chain/heads.js';
import { hexQuantity } from '../../core/units/hex.js';
import type { Clock } from '../../core/units/time.js';
import { requireHead } from '../decision/facts.js';
import type { SponsorRequest } from '../decision/request.js';
import type { ConfigView } from '../view/config-view.js';
import type { ServedPaymaster } from '../view/served-paymaster.js';
import type { ModeRequest } from './entry-point-form.js';
import type { RpcResult } from './method.js';
import { answerSigned, type SponsorMethodDeps } from './pm_sponsorUserOperation.js';
import { renderErc7677, renderHexLimits } from './results.js';

// Methods of other services that are asked once, for limits, fees and signed data together.

export type FeeDeps = {
  readonly view: Pick<ConfigView, 'chain'>;
  readonly heads: Heads;
  readonly clock: Clock;
};

export type Fees = { readonly maxFeePerGas: bigint; readonly maxPriorityFeePerGas: bigint };

/** Fees with which an operation is mined now, and still when the base fee has risen by half. Throws UNAVAILABLE. */
export function suggestedFees({ view, heads, clock }: FeeDeps, { chainId }: ServedPaymaster): Fees {
  const { baseFeePerGas, priorityFeePerGas } = requireHead(heads, chainId, clock.now());
  const least = view.chain(chainId)?.guard.minPriorityFeePerGas ?? 0n;
  const tip = priorityFeePerGas > least ? priorityFeePerGas : least;
  return { maxFeePerGas: (baseFeePerGas * 3n) / 2n + tip, maxPriorityFeePerGas: tip };
}

/** In hex. */
export function renderFees({ maxFeePerGas, maxPriorityFeePerGas }: Fees) {
  return {
    maxFeePerGas: hexQuantity(maxFeePerGas),
    maxPriorityFeePerGas: hexQuantity(maxPriorityFeePerGas),
  };
}

/** The operation with these fees in place of those that it has. */
export function withFees(operation: unknown, fees: Fees): unknown {
  if (!isObject(operation)) return operation;
  const { gasFees: _packed, ...rest } = operation;
  return { ...rest, ...renderFees(fees) };
}

/** Signs, and answers every field that the caller copies into its operation, in hex. Throws a refusal. */
export async function signWithFees(
  deps: SponsorMethodDeps,
  paymaster: ServedPaymaster,
  asked: ModeRequest,
  limits: Pick<SponsorRequest, 'calculateGasLimits' | 'margins'>,
): Promise<RpcResult> {
  const { profile, op, paymasterAndData, isOpen } = await answerSigned(deps, paymaster, asked, limits);
  const fields = {
    ...renderErc7677(profile, paymasterAndData),
    ...renderHexLimits(op),
    ...renderFees(op),
  };
  return { json: JSON.stringify(fields), ...(isOpen ? { isOpen } : {}) };
}
