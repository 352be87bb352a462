import { isDomainError } from '../../core/errors.js';
import { unusedGasFine } from '../../core/entry-point/gas.js';
import type { EntryPointVersion } from '../../core/entry-point/version.js';
import type { Estimate, EstimateRequest } from '../../core/userop/estimator.js';
import { tooLittleGas, type MeasuringLimits } from './eth-call-gas.js';
import { estimationFailed, GasCapped, type SimulationResult, type Simulator } from './simulate-handle-op.js';
import type { FinalUserOperation } from '../../core/entry-point/user-operation.js';
import type { Hex } from '../../core/units/hex.js';
import { larger, smaller } from '../../core/units/wei.js';

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
  const candidates = listCandidates(request, measured);
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

/** What was seen of an operation with plenty of gas. */
export type Measured = {
  /** With the limits of the measurement. */
  readonly op: FinalUserOperation;
  readonly paymasterAndData: Hex;
  /** The limits found. */
  readonly limits: MeasuringLimits;
  readonly whole: SimulationResult;
  readonly callGas: bigint;
};

/**
 * Limits to try at once, without repeats: those found, and higher ones, none above what would be signed. Where nobody waits
 * for them, each limit is raised by itself; else few pairs are tried, each as it would be chosen.
 */
export function listCandidates(request: EstimateRequest, measured: Measured): readonly MeasuringLimits[] {
  const highest = maxLimits(request, measured);
  const candidates =
    request.onCandidates === undefined
      ? raisedSingly(measured, highest)
      : raisedTogether(measured.limits, highest);
  return candidates.filter((each, at) => candidates.findIndex((other) => isSame(each, other)) === at);
}

/** The most that would be signed, as far as the node can simulate it; the limits found where they are higher. */
function maxLimits({ most }: EstimateRequest, { op, limits }: Measured): MeasuringLimits {
  const highest = (name: 'callGasLimit' | 'verificationGasLimit'): bigint =>
    larger(limits[name], smaller(most[name], op[name]));
  return {
    ...limits,
    callGasLimit: highest('callGasLimit'),
    verificationGasLimit: highest('verificationGasLimit'),
  };
}

/**
 * The limits found; then those with a higher verificationGasLimit, which costs nothing when it is not used; then with a
 * higher callGasLimit, beside a verificationGasLimit that is certainly enough; both in ascending order.
 */
function raisedSingly({ limits, callGas }: Measured, highest: MeasuringLimits): readonly MeasuringLimits[] {
  const validation = [1n, 2n, 8n].map((factor) => raiseLimits(limits, highest, { validation: factor }));
  // Without a call no limit of it is too low.
  const factors = callGas === 0n ? [1n] : [2n, 4n, 8n, 32n];
  const call = factors.map((factor) => ({
    ...raiseLimits(limits, highest, { call: factor }),
    verificationGasLimit: highest.verificationGasLimit,
  }));
  return [...validation, ...call, ...(callGas === 0n ? [] : [highest])];
}

/** Few, since the work that needs limits starts with each of them; the chosen one was tried as it is. */
function raisedTogether(limits: MeasuringLimits, highest: MeasuringLimits): readonly MeasuringLimits[] {
  return [
    limits,
    raiseLimits(limits, highest, { call: 4n, validation: 2n }),
    raiseLimits(limits, highest, { call: 32n, validation: 8n }),
  ];
}

function raiseLimits(
  limits: MeasuringLimits,
  highest: MeasuringLimits,
  { call = 1n, validation = 1n }: { readonly call?: bigint; readonly validation?: bigint },
): MeasuringLimits {
  return {
    ...limits,
    callGasLimit: smaller(limits.callGasLimit * call, highest.callGasLimit),
    verificationGasLimit: smaller(limits.verificationGasLimit * validation, highest.verificationGasLimit),
  };
}

function isSame(a: MeasuringLimits, b: MeasuringLimits): boolean {
  return a.callGasLimit === b.callGasLimit && a.verificationGasLimit === b.verificationGasLimit;
}
