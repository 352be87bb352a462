import { AbiCoder } from 'ethers/abi';
import { LRUCache } from 'lru-cache';
import { isDomainError } from '../../core/errors.js';
import { entryPointRules } from '../../core/entry-point/table.js';
import { userOpHash } from '../../core/entry-point/user-op-hash.js';
import type { Hex } from '../../core/units/hex.js';
import { executeUserOpSelector } from '../../core/userop/account-functions.js';
import type { Estimate, EstimateRequest } from '../../core/userop/estimator.js';
import { finesUnusedGas } from '../../core/entry-point/gas.js';
import { preVerificationGas } from '../../core/userop/pre-verification-gas.js';
import type { EntryPointVersion } from '../../core/entry-point/version.js';
import type { FinalUserOperation } from '../../core/entry-point/user-operation.js';
import { behavesAlike, confirm, type Measured } from './confirmation.js';
import type { EthCallGas, MeasuringLimits } from './eth-call-gas.js';
import { explainRevert } from './revert-reason.js';
import { GasCapped, withSignature, type SimulationResult, type Simulator } from './simulate-handle-op.js';
import { larger } from '../../core/units/wei.js';

/**
 * Limits of an operation by simulation. There are two measurements: the operation itself, and the operation without gas for
 * its call, after which the EntryPoint makes the call as `target`. Their difference is the call's gas. The second one also
 * shows whether the call succeeds, and if not why, also for accounts that do not exist yet. Its call data stay whole: some
 * accounts, such as every Safe, only validate operations whose function they know. Further simulations confirm
 * the limits (`confirmation.ts`). One of them is made at once where an earlier operation of the same kind tells which
 * limits to expect. So an estimate takes one round trip or two, never more.
 */
export async function simulateLimits(
  simulate: Simulator,
  request: EstimateRequest,
  { gas, earlier }: { readonly gas: EthCallGas; readonly earlier: EarlierNeeds },
): Promise<Estimate> {
  const paymasterAndData = request.paymasterAndData ?? '0x';
  const [{ op, whole, base }, tried] = await Promise.all([
    gas.measure((limits) => measure(simulate, request, limits)),
    tryExpected(simulate, request, earlier.of(request)),
  ]);

  const callGas = op.callData === '0x' ? 0n : spentByCall({ op, whole, base }, request.entryPointVersion);
  const limits = {
    callGasLimit: withMargin(callGas),
    verificationGasLimit: larger(withMargin(whole.preOpGas), request.minVerificationGasLimit),
    preVerificationGas: preVerificationGas(op, paymasterAndData),
  };
  if (op.callData !== '0x' && !base.targetSuccess) {
    const { text, remedy } = explainRevert(base.targetResult);
    return { ...limits, reverted: text, ...(remedy === undefined ? {} : { remedy }) };
  }
  earlier.note(request, { callGas, preOpGas: whole.preOpGas });
  const measured = { op, paymasterAndData, limits, whole, callGas };
  return isConfirmed(tried, measured, request) ? limits : confirm(simulate, request, measured);
}

async function measure(simulate: Simulator, request: EstimateRequest, limits: MeasuringLimits) {
  const paymasterAndData = request.paymasterAndData ?? '0x';
  const op = measurable(request, limits);
  const bare = { ...op, callGasLimit: 0n };
  const target = { address: op.sender, data: callOfEntryPoint(request, op, paymasterAndData) };
  const [whole, base] = await Promise.all([
    simulate({ op, paymasterAndData, target: undefined }),
    simulate({ op: bare, paymasterAndData, target: op.callData === '0x' ? undefined : target }),
  ]);
  return { op, whole, base };
}

type Tried = { readonly limits: MeasuringLimits; readonly result: SimulationResult };

/** Simulates with limits that an operation with the same needs would more than satisfy. Undefined if it is refused. */
async function tryExpected(
  simulate: Simulator,
  request: EstimateRequest,
  needs: Needs | undefined,
): Promise<Tried | undefined> {
  if (needs === undefined) return undefined;
  const limits = {
    callGasLimit: withHalfMargin(needs.callGas),
    verificationGasLimit: withHalfMargin(needs.preOpGas),
    preVerificationGas: 0n,
  };
  try {
    const paymasterAndData = request.paymasterAndData ?? '0x';
    const result = await simulate({ op: measurable(request, limits), paymasterAndData, target: undefined });
    return { limits, result };
  } catch (error) {
    if (isDomainError(error, 'ESTIMATION_FAILED') || error instanceof GasCapped) return undefined;
    throw error;
  }
}

/** Whether the operation behaved as it should with limits that are nowhere above those found. */
function isConfirmed(tried: Tried | undefined, measured: Measured, request: EstimateRequest): boolean {
  if (tried === undefined) return false;
  const { limits } = measured;
  const { callGasLimit, verificationGasLimit } = tried.limits;
  if (callGasLimit > limits.callGasLimit || verificationGasLimit > limits.verificationGasLimit) return false;
  return behavesAlike({ ...measured, limits: tried.limits }, tried.result, request.entryPointVersion);
}

function measurable({ op }: EstimateRequest, measuring: MeasuringLimits): FinalUserOperation {
  return {
    ...withSignature(op),
    ...measuring,
    // 1 wei per gas, so the payment in wei equals the gas, and every deposit is large enough.
    maxFeePerGas: 1n,
    maxPriorityFeePerGas: 1n,
  };
}

/** What the EntryPoint sends to the account for this callData. */
function callOfEntryPoint(request: EstimateRequest, op: FinalUserOperation, paymasterAndData: Hex): Hex {
  const { passesWholeOperation, form } = entryPointRules[request.entryPointVersion];
  if (!passesWholeOperation || !op.callData.startsWith(executeUserOpSelector)) return op.callData;
  const target = {
    version: request.entryPointVersion,
    entryPoint: request.entryPoint,
    chainId: request.chainId,
  };
  const hash = userOpHash(op, paymasterAndData, target) ?? `0x${'00'.repeat(32)}`;
  const values = [form.abiValues(op, paymasterAndData), hash];
  const encoded = AbiCoder.defaultAbiCoder().encode([form.abiType, 'bytes32'], values);
  return `${executeUserOpSelector}${encoded.slice(2)}`;
}

/**
 * An EntryPoint that fines unused gas adds a tenth of what the call leaves of its limit, in the measurement where it has
 * one.
 */
function spentByCall(
  {
    op,
    whole,
    base,
  }: { readonly op: FinalUserOperation; readonly whole: SimulationResult; readonly base: SimulationResult },
  version: EntryPointVersion,
): bigint {
  const difference = whole.paid - whole.preOpGas - (base.paid - base.preOpGas);
  const gas = finesUnusedGas(version) ? (difference * 10n - op.callGasLimit + 8n) / 9n : difference;
  return gas > 0n ? gas : 0n;
}

function withMargin(gas: bigint): bigint {
  return (gas * 11n) / 10n + 5_000n;
}

/** Less than {@link withMargin}, so that needs that have fallen a little are still confirmed. */
function withHalfMargin(gas: bigint): bigint {
  return (gas * 21n) / 20n + 2_500n;
}

/** Gas that an operation was seen to use, with plenty of limits. */
export type Needs = { readonly callGas: bigint; readonly preOpGas: bigint };

/**
 * What operations like this one needed before. An estimate confirms its limits by a last simulation, for which it
 * normally has to know the results of the first ones. Where an earlier operation of the same kind tells what to expect,
 * that simulation is made at once, with less than the limits that are then found; so a wrong expectation costs a call,
 * and never changes an estimate.
 */
type EarlierNeeds = ReturnType<typeof createEarlierNeeds>;

const most = 1_000;

export function createEarlierNeeds() {
  const kept = new LRUCache<string, Needs>({ max: most });
  return {
    of: (request: EstimateRequest): Needs | undefined => kept.get(operationKind(request)),
    note: (request: EstimateRequest, needs: Needs): void => void kept.set(operationKind(request), needs),
  };
}

/** Operations of one kind: the account's function and its first argument, often the called contract; and sizes. */
function operationKind({ chainId, entryPoint, op, paymasterAndData = '0x' }: EstimateRequest): string {
  const call = op.callData.slice(0, 74);
  const factory = op.initCode.slice(0, 42);
  const sizes = [op.callData.length, op.initCode.length, paymasterAndData.length];
  return [chainId, entryPoint, factory, call, ...sizes].join(' ');
}
