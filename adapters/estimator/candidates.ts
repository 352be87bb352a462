import type { FinalUserOperation } from '../../core/entry-point/user-operation.js';
import type { Hex } from '../../core/units/hex.js';
import type { EstimateRequest } from '../../core/userop/estimator.js';
import type { MeasuringLimits } from './eth-call-gas.js';
import type { SimulationResult } from './simulate-handle-op.js';

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
export function candidatesOf(request: EstimateRequest, measured: Measured): readonly MeasuringLimits[] {
  const highest = highestLimits(request, measured);
  const candidates =
    request.onCandidates === undefined
      ? raisedSingly(measured, highest)
      : raisedTogether(measured.limits, highest);
  return candidates.filter((each, at) => candidates.findIndex((other) => isSame(each, other)) === at);
}

/** The most that would be signed, as far as the node can simulate it; the limits found where they are higher. */
function highestLimits({ most }: EstimateRequest, { op, limits }: Measured): MeasuringLimits {
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
  const validation = [1n, 2n, 8n].map((factor) => raised(limits, highest, { validation: factor }));
  // Without a call no limit of it is too low.
  const factors = callGas === 0n ? [1n] : [2n, 4n, 8n, 32n];
  const call = factors.map((factor) => ({
    ...raised(limits, highest, { call: factor }),
    verificationGasLimit: highest.verificationGasLimit,
  }));
  return [...validation, ...call, ...(callGas === 0n ? [] : [highest])];
}

/** Few, since the work that needs limits starts with each of them; the chosen one was tried as it is. */
function raisedTogether(limits: MeasuringLimits, highest: MeasuringLimits): readonly MeasuringLimits[] {
  return [
    limits,
    raised(limits, highest, { call: 4n, validation: 2n }),
    raised(limits, highest, { call: 32n, validation: 8n }),
  ];
}

function raised(
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

function smaller(a: bigint, b: bigint): bigint {
  return a < b ? a : b;
}

function larger(a: bigint, b: bigint): bigint {
  return a > b ? a : b;
}
