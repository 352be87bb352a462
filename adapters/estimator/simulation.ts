import { AbiCoder } from 'ethers';
import { isDomainError, type DomainError } from '../../core/errors.js';
import { entryPointRules } from '../../core/entry-point/table.js';
import { stubSignature } from '../../core/paymaster/signature.js';
import { userOpHash } from '../../core/entry-point/user-op-hash.js';
import { bytesToHex, type Hex } from '../../core/units/hex.js';
import type { Estimate, EstimateRequest } from '../../core/userop/estimator.js';
import { finesUnusedGas, unusedGasFine } from '../../core/entry-point/gas.js';
import { preVerificationGas } from '../../core/userop/pre-verification-gas.js';
import type { FinalUserOperation } from '../../core/entry-point/user-operation.js';
import { explainRevert } from './revert-reason.js';
import type { EarlierNeeds, Needs } from './earlier-needs.js';
import { estimationFailed, GasCapped, type SimulationResult, type Simulator } from './simulate-handle-op.js';

type MeasuringLimits = Pick<
  FinalUserOperation,
  'callGasLimit' | 'verificationGasLimit' | 'preVerificationGas'
>;

/**
 * Limits while measuring, tried in this order: first above every guard, then what a node that caps `eth_call` may
 * allow.
 */
const measuringLimits: readonly MeasuringLimits[] = [
  { callGasLimit: 12_000_000n, verificationGasLimit: 8_000_000n, preVerificationGas: 0n },
  { callGasLimit: 4_000_000n, verificationGasLimit: 3_000_000n, preVerificationGas: 0n },
];
/** Rounds in which limits are raised; callGasLimit reaches 1,024 times what was found. */
const maxRounds = 2;
/** executeUserOp(PackedUserOperation,bytes32): EntryPoints from 0.7 on call such accounts with the whole operation. */
const executeUserOpSelector = '0x8dd7712f';

/**
 * Limits of an operation by simulation. There are two measurements: the operation itself, and the operation without its
 * call, after which the EntryPoint makes the call as `target`. Their difference is the call's gas. The second one also
 * shows whether the call succeeds, and if not why, also for accounts that do not exist yet. A third simulation confirms
 * the final limits, because a call may need more gas than it uses (the 63/64 rule, or contracts that check the gas
 * left). All three are made at once where an earlier operation of the same kind tells which limits to expect. So an
 * estimate takes one round trip or two; three if a limit that was found is far too low, or the node caps `eth_call`.
 */
export async function simulateLimits(
  simulate: Simulator,
  request: EstimateRequest,
  earlier: EarlierNeeds,
): Promise<Estimate> {
  for (const measuring of measuringLimits)
    try {
      return await measure(simulate, request, { measuring, earlier });
    } catch (error) {
      if (!(error instanceof GasCapped)) throw error;
    }
  throw estimationFailed('the chain node gives eth_call too little gas for this operation');
}

async function measure(
  simulate: Simulator,
  request: EstimateRequest,
  { measuring, earlier }: { readonly measuring: MeasuringLimits; readonly earlier: EarlierNeeds },
): Promise<Estimate> {
  const paymasterAndData = request.paymasterAndData ?? '0x';
  const op = measurable(request, measuring);
  const bare = { ...op, callData: '0x' as const };
  const target = { address: op.sender, data: callOfEntryPoint(request, op, paymasterAndData) };
  const [whole, base, tried] = await Promise.all([
    simulate({ op, paymasterAndData, target: undefined }),
    simulate({ op: bare, paymasterAndData, target: op.callData === '0x' ? undefined : target }),
    tryExpected(simulate, { op, paymasterAndData, needs: earlier.of(request) }),
  ]);

  const callGas = op.callData === '0x' ? 0n : spentByCall(whole, base, request);
  const limits = {
    callGasLimit: withMargin(callGas),
    verificationGasLimit: atLeast(withMargin(whole.preOpGas), request.minVerificationGasLimit),
    preVerificationGas: preVerificationGas(op, paymasterAndData),
  };
  if (op.callData !== '0x' && !base.targetSuccess) {
    const { text, remedy } = explainRevert(base.targetResult);
    return { ...limits, reverted: text, ...(remedy === undefined ? {} : { remedy }) };
  }
  earlier.note(request, { callGas, preOpGas: whole.preOpGas });
  const measured = { op, paymasterAndData, limits, whole, callGas };
  if (isConfirmed(tried, measured, request)) return limits;
  request.onFound?.(limits);
  return confirm(simulate, request, measured);
}

type Tried = { readonly limits: MeasuringLimits; readonly result: SimulationResult };

/** Simulates with limits that an operation with the same needs would more than satisfy. Undefined if it is refused. */
async function tryExpected(
  simulate: Simulator,
  {
    op,
    paymasterAndData,
    needs,
  }: Pick<Measured, 'op' | 'paymasterAndData'> & { readonly needs: Needs | undefined },
): Promise<Tried | undefined> {
  if (needs === undefined) return undefined;
  const limits = {
    callGasLimit: withHalfMargin(needs.callGas),
    verificationGasLimit: withHalfMargin(needs.preOpGas),
    preVerificationGas: 0n,
  };
  try {
    const result = await simulate({ op: { ...op, ...limits }, paymasterAndData, target: undefined });
    return { limits, result };
  } catch (error) {
    if (isDomainError(error, 'ESTIMATION_FAILED') || error instanceof GasCapped) return undefined;
    throw error;
  }
}

/** Whether the operation behaved as it should with limits that are nowhere above those found. */
function isConfirmed(tried: Tried | undefined, measured: Measured, request: EstimateRequest): boolean {
  if (tried === undefined) return false;
  const { limits, callGas } = measured;
  const { callGasLimit, verificationGasLimit } = tried.limits;
  if (callGasLimit > limits.callGasLimit || verificationGasLimit > limits.verificationGasLimit) return false;
  return callGas === 0n || behavesAlike(measured, tried.result, callGasLimit, request);
}

type Measured = {
  readonly op: FinalUserOperation;
  readonly paymasterAndData: Hex;
  readonly limits: MeasuringLimits;
  readonly whole: SimulationResult;
  readonly callGas: bigint;
};

/**
 * Simulates with the limits found, and at the same time with each of them raised. Raises callGasLimit until the call
 * spends what it spent with plenty of gas (a call that gives up early at the same cost is not noticed), and
 * verificationGasLimit while the EntryPoint refuses an operation that it accepted with plenty of gas. Only what needs
 * both raised, or one of them further, takes another round.
 */
async function confirm(simulate: Simulator, request: EstimateRequest, measured: Measured): Promise<Estimate> {
  const tryAll = (candidates: readonly MeasuringLimits[]): Promise<readonly Attempt[]> => {
    const attempts = Promise.all(
      candidates.map((limits) => attempt(simulate, request, { ...measured, limits })),
    );
    // Those that turn out not to be needed may fail.
    attempts.catch(() => {});
    return attempts;
  };
  const { limits } = measured;
  const found = tryAll([limits]);
  const raised = {
    // Without a call no limit of it is too low.
    callGasLimit: tryAll(measured.callGas === 0n ? [] : raisedLimits(limits, 'callGasLimit')),
    verificationGasLimit: tryAll(raisedLimits(limits, 'verificationGasLimit')),
  };
  let reached = furthest(await found);
  let failure = estimationFailed('the call needs much more gas than it uses');
  for (let round = 1; reached.lacks !== undefined; round += 1) {
    if (reached.lacks === 'node') throw reached.failure;
    failure = reached.failure ?? failure;
    if (round > maxRounds) throw failure;
    const further = round === 1 ? raised[reached.lacks] : tryAll(raisedLimits(reached.limits, reached.lacks));
    reached = furthest(await further);
  }
  return reached.limits;
}

type Lack = 'callGasLimit' | 'verificationGasLimit';
type Attempt =
  /** `lacks`: the limit that was too low; undefined when both were enough. */
  | { readonly limits: MeasuringLimits; readonly lacks?: Lack; readonly failure?: DomainError }
  /** The node gives `eth_call` too little gas for these limits. */
  | { readonly lacks: 'node'; readonly failure: GasCapped };

/** The first with enough gas, or the first that lacks something else than the one before it, or the last. */
function furthest(attempts: readonly Attempt[]): Attempt {
  const index = attempts.findIndex(
    ({ lacks }, at) => lacks === undefined || lacks !== attempts[0]?.lacks || at === attempts.length - 1,
  );
  const found = attempts[index];
  if (found === undefined) throw new RangeError('no limits were tried');
  return found;
}

async function attempt(simulate: Simulator, request: EstimateRequest, measured: Measured): Promise<Attempt> {
  const { op, paymasterAndData, callGas, limits } = measured;
  try {
    const bounded = { ...op, ...limits, preVerificationGas: 0n };
    const result = await simulate({ op: bounded, paymasterAndData, target: undefined });
    const isEnough = callGas === 0n || behavesAlike(measured, result, limits.callGasLimit, request);
    return isEnough ? { limits } : { limits, lacks: 'callGasLimit' };
  } catch (failure) {
    if (failure instanceof GasCapped) return { lacks: 'node', failure };
    if (!isDomainError(failure, 'ESTIMATION_FAILED')) throw failure;
    return { limits, lacks: 'verificationGasLimit', failure };
  }
}

/**
 * Factors by which a limit is raised in one round. Calls that check the gas left may want several times what they use;
 * a validation wants little more, and nobody is fined for gas that it leaves.
 */
const factors = { callGasLimit: [2n, 4n, 8n, 32n], verificationGasLimit: [2n, 4n, 8n] } as const;

function raisedLimits(limits: MeasuringLimits, lack: Lack): readonly MeasuringLimits[] {
  return factors[lack].map((factor) => ({ ...limits, [lack]: limits[lack] * factor }));
}

function measurable({ op }: EstimateRequest, measuring: MeasuringLimits): FinalUserOperation {
  return {
    ...op,
    ...measuring,
    // 1 wei per gas, so the payment in wei equals the gas, and every deposit is large enough.
    maxFeePerGas: 1n,
    maxPriorityFeePerGas: 1n,
    // Accounts recover a signer from it. Bytes that cannot be a signature would revert; a wrong signature is only
    // reported.
    signature: op.signature === '0x' ? bytesToHex(stubSignature()) : op.signature,
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
 * An EntryPoint that fines unused gas charges a tenth of it, so the difference is short by a tenth of what the call
 * uses.
 */
function spentByCall(
  whole: SimulationResult,
  base: SimulationResult,
  { entryPointVersion }: EstimateRequest,
): bigint {
  const difference = whole.paid - whole.preOpGas - (base.paid - base.preOpGas);
  const gas = finesUnusedGas(entryPointVersion) ? (difference * 10n + 8n) / 9n : difference;
  return gas > 0n ? gas : 0n;
}

/**
 * True when the call spent about as much with its final limit as with plenty. One that runs out of gas spends the whole
 * limit, at least a tenth and 5,000 more; one that gives up early spends less. Simulations do not report success itself.
 */
function behavesAlike(
  { op, whole, callGas }: Measured,
  bounded: SimulationResult,
  callGasLimit: bigint,
  { entryPointVersion }: EstimateRequest,
): boolean {
  const spentWithPlenty = whole.paid - whole.preOpGas;
  const spent = bounded.paid - bounded.preOpGas;
  const fine = (limit: bigint): bigint =>
    unusedGasFine(limit > callGas ? limit - callGas : 0n, 0n, entryPointVersion);
  const fineLess = fine(op.callGasLimit) - fine(callGasLimit);
  const deviation = spent - (spentWithPlenty - fineLess);
  return (deviation < 0n ? -deviation : deviation) <= callGas / 50n + 2_500n;
}

function withMargin(gas: bigint): bigint {
  return (gas * 11n) / 10n + 5_000n;
}

/** Less than {@link withMargin}, so that needs that have fallen a little are still confirmed. */
function withHalfMargin(gas: bigint): bigint {
  return (gas * 21n) / 20n + 2_500n;
}

function atLeast(value: bigint, least: bigint): bigint {
  return value > least ? value : least;
}
