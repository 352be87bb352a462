import { isDomainError } from '../../core/errors.js';
import { unusedGasFine } from '../../core/entry-point/gas.js';
import type { EntryPointVersion } from '../../core/entry-point/version.js';
import type { Estimate, EstimateRequest } from '../../core/userop/estimator.js';
import { candidatesOf, type Measured } from './candidates.js';
import { tooLittleGas, type MeasuringLimits } from './eth-call-gas.js';
import { estimationFailed, GasCapped, type SimulationResult, type Simulator } from './simulate-handle-op.js';

/**
 * Simulates with the limits found, because an operation may need more gas than it uses (the 63/64 rule, or contracts that
 * check the gas left), and at the same time with higher ones; returns the lowest that are enough. callGasLimit is enough
 * when the call spends what it spent with plenty of gas (a call that gives up early at the same cost is not noticed),
 * verificationGasLimit when the EntryPoint does not refuse the operation. Throws ESTIMATION_FAILED when the highest
 * limits are not enough either: nothing is measured a second time.
 */
export async function confirm(
  simulate: Simulator,
  request: EstimateRequest,
  measured: Measured,
): Promise<Estimate> {
  const { limits, callGas, whole } = measured;
  const isTogether = request.onCandidates !== undefined;
  const candidates = candidatesOf(request, measured);
  const attempts = candidates.map((candidate) =>
    attempt(simulate, request, { ...measured, limits: candidate }),
  );
  // Those that turn out not to be needed may fail.
  for (const each of attempts) each.catch(() => {});
  request.onCandidates?.(candidates);

  let validated: MeasuringLimits | undefined;
  let isCapped = false;
  for (const each of attempts) {
    const { limits: tried, outcome } = await each;
    if (outcome === 'capped') isCapped = true;
    if (outcome === 'capped' || outcome === 'refused') continue;
    validated ??= tried;
    if (outcome === 'short') continue;
    // Validation and call have a limit each, so the least of one is enough beside the least of the other.
    const { verificationGasLimit } = isTogether ? tried : validated;
    return { ...tried, verificationGasLimit };
  }
  if (isCapped) throw tooLittleGas();
  const last = candidates.at(-1) ?? limits;
  throw validated === undefined
    ? needsMore('validation', {
        name: 'verificationGasLimit',
        cap: request.op.initCode === '0x' ? 'maxVerificationGasLimit' : 'maxDeploymentGas',
        tried: last.verificationGasLimit,
        used: whole.preOpGas,
      })
    : needsMore('call', {
        name: 'callGasLimit',
        cap: 'maxCallGasLimit',
        tried: last.callGasLimit,
        used: callGas,
      });
}

type Attempt = {
  readonly limits: MeasuringLimits;
  /**
   * Refused: the EntryPoint refuses the operation. Short: only the call lacks gas. Capped: the node gives `eth_call` too
   * little gas to try these limits.
   */
  readonly outcome: 'enough' | 'short' | 'refused' | 'capped';
};

async function attempt(simulate: Simulator, request: EstimateRequest, measured: Measured): Promise<Attempt> {
  const { op, paymasterAndData, limits } = measured;
  try {
    const bounded = { ...op, ...limits, preVerificationGas: 0n };
    const result = await simulate({ op: bounded, paymasterAndData, target: undefined });
    const isEnough = behavesAlike(measured, result, request.entryPointVersion);
    return { limits, outcome: isEnough ? 'enough' : 'short' };
  } catch (failure) {
    if (failure instanceof GasCapped) return { limits, outcome: 'capped' };
    if (!isDomainError(failure, 'ESTIMATION_FAILED')) throw failure;
    return { limits, outcome: 'refused' };
  }
}

/**
 * True when the call spent about as much with `limits` as with plenty, or the operation has no call. One that runs out of gas spends
 * the whole limit, at least a tenth and 5,000 more; one that gives up early spends less. Simulations do not report
 * success itself.
 */
export function behavesAlike(
  { op, whole, callGas, limits: { callGasLimit } }: Measured,
  bounded: SimulationResult,
  version: EntryPointVersion,
): boolean {
  if (callGas === 0n) return true;
  const spentWithPlenty = whole.paid - whole.preOpGas;
  const spent = bounded.paid - bounded.preOpGas;
  const fine = (limit: bigint): bigint => unusedGasFine(limit > callGas ? limit - callGas : 0n, 0n, version);
  const fineLess = fine(op.callGasLimit) - fine(callGasLimit);
  const deviation = spent - (spentWithPlenty - fineLess);
  return (deviation < 0n ? -deviation : deviation) <= callGas / 50n + 2_500n;
}

type Lack = {
  readonly name: string;
  readonly cap: string;
  readonly tried: bigint;
  readonly used: bigint;
};

function needsMore(what: string, { name, cap, tried, used }: Lack) {
  return estimationFailed(
    `the ${what} uses ${used} gas, and fails with a ${name} of ${tried}, the highest that is tried for it`,
    `Send gas limits that are known to be enough; where they are above the cap, raise ${cap} of the Chain and of the Paymaster first.`,
  );
}
