import { invalidInput, type Problem } from '../../core/errors.js';
import type { Hex } from '../../core/units/hex.js';
import { larger, smaller } from '../../core/units/wei.js';
import type { EstimateRequest } from '../../core/userop/estimator.js';
import { maxGasLimits } from '../../core/policy/rules/price-guard/decide.js';
import { preVerificationGas } from '../../core/userop/pre-verification-gas.js';
import type { FinalUserOperation, GasLimits, UserOperation } from '../../core/entry-point/user-operation.js';
import { findGuard, type ServedChain, type ServedProfile } from '../view/served-chain.js';
import type { ServedPaymaster } from '../view/served-paymaster.js';
import type { SponsorRequest } from './request.js';

/** Limits as the caller gave them; undefined members are missing. */
type GivenLimits = Pick<UserOperation, keyof GasLimits>;

/**
 * Whether we find the limits. `calculateGasLimits: true`, `larger`: yes. `false`: no, and a missing limit throws DomainError
 * INVALID_INPUT. Undefined or `missing`: only when a limit is missing.
 */
export function wantsEstimate(
  op: UserOperation,
  calculateGasLimits: SponsorRequest['calculateGasLimits'],
): boolean {
  if (calculateGasLimits === true || calculateGasLimits === 'larger') return true;
  if (calculateGasLimits !== false) return !hasAllLimits(op);
  const problems: Problem[] = limitNames
    .filter((name) => (name === 'preVerificationGas' ? op[name] : givenLimit(op, name)) === undefined)
    .map((name) => ({
      field: `params[0].${name}`,
      // A bundler of one's own may ask for none.
      expected: `${name === 'preVerificationGas' ? 'given' : 'above 0'}: send what an estimate with the stub found, or calculateGasLimits: true`,
    }));
  if (problems.length > 0) throw invalidInput(problems);
  return false;
}

/** Whether the caller gave all limits. */
export function hasAllLimits(op: UserOperation): boolean {
  return limitNames.every((name) => givenLimit(op, name) !== undefined);
}

const limitNames = ['callGasLimit', 'verificationGasLimit', 'preVerificationGas'] as const;

/** A zero counts as missing where it cannot be right: some clients fill in zeros for what they do not know. */
function givenLimit(op: UserOperation, name: keyof GasLimits): bigint | undefined {
  const isRight = name === 'callGasLimit' && op.callData === '0x';
  return op[name] === 0n && !isRight ? undefined : op[name];
}

/** Which of the caller's limits may count where they are larger than those found. */
export type GivenBounds = {
  /** The caps, to which larger ones are shortened. */
  readonly most: Pick<GasLimits, 'callGasLimit' | 'verificationGasLimit'>;
  /** Whether the fine for unused gas stays within what is risked. */
  readonly isCheap: (callGasLimit: bigint, found: bigint) => boolean;
};

/**
 * The limits to use, given what an estimate found: the caller's own where only the missing ones were asked for, or where the larger
 * ones were and they may count. Without `bounds` the answer is a lower bound: those found.
 */
export function foundLimits(
  { op, calculateGasLimits, margins }: Pick<SponsorRequest, 'op' | 'calculateGasLimits' | 'margins'>,
  foundExactly: GivenLimits,
  bounds?: GivenBounds,
): GivenLimits {
  const found = margins === undefined ? foundExactly : withMargins(foundExactly, margins);
  if (calculateGasLimits === 'larger' && bounds !== undefined) return largerLimits(op, found, bounds);
  if (calculateGasLimits !== 'missing') return found;
  return {
    callGasLimit: givenLimit(op, 'callGasLimit') ?? found.callGasLimit,
    verificationGasLimit: givenLimit(op, 'verificationGasLimit') ?? found.verificationGasLimit,
    preVerificationGas: givenLimit(op, 'preVerificationGas') ?? found.preVerificationGas,
  };
}

function withMargins(found: GivenLimits, margins: NonNullable<SponsorRequest['margins']>): GivenLimits {
  const of = (name: keyof GasLimits): bigint | undefined => {
    const limit = found[name];
    return limit && (limit * BigInt(margins[name] ?? 100)) / 100n;
  };
  return {
    callGasLimit: of('callGasLimit'),
    verificationGasLimit: of('verificationGasLimit'),
    preVerificationGas: of('preVerificationGas'),
  };
}

function largerLimits(op: UserOperation, found: GivenLimits, { most, isCheap }: GivenBounds): GivenLimits {
  const {
    callGasLimit: call = 0n,
    verificationGasLimit: validation = 0n,
    preVerificationGas: before = 0n,
  } = found;
  const given = {
    callGasLimit: smaller(op.callGasLimit ?? 0n, most.callGasLimit),
    verificationGasLimit: smaller(op.verificationGasLimit ?? 0n, most.verificationGasLimit),
    preVerificationGas: op.preVerificationGas ?? 0n,
  };
  const isLarger = given.callGasLimit > call && isCheap(given.callGasLimit, call);
  return {
    callGasLimit: isLarger ? given.callGasLimit : call,
    verificationGasLimit: larger(given.verificationGasLimit, validation),
    preVerificationGas: larger(given.preVerificationGas, before),
  };
}

/** The operation with limits filled in; missing limits become 0, so its cost is a lower bound. */
export function withLimits(op: UserOperation, limits: GivenLimits): FinalUserOperation {
  return {
    sender: op.sender,
    nonce: op.nonce,
    initCode: op.initCode,
    callData: op.callData,
    callDataBytes: op.callDataBytes,
    callGasLimit: limits.callGasLimit ?? 0n,
    verificationGasLimit: limits.verificationGasLimit ?? 0n,
    preVerificationGas: limits.preVerificationGas ?? 0n,
    maxFeePerGas: op.maxFeePerGas,
    maxPriorityFeePerGas: op.maxPriorityFeePerGas,
    signature: op.signature,
    ...(op.eip7702Auth === undefined ? {} : { eip7702Auth: op.eip7702Auth }),
  };
}

/** No limits: with these an operation costs the least that it can, so no operation that could still pass is refused. */
export const noLimits: GivenLimits = {
  callGasLimit: undefined,
  verificationGasLimit: undefined,
  preVerificationGas: undefined,
};

/**
 * The limits in a refusal: those of the caller, else fixed figures that are enough for an ordinary operation. Never an error,
 * never 0. Nothing is simulated to find them: a refusal must cost the chain nothing, since anybody can provoke one.
 */
export function limitsOfRefusal(op: UserOperation, estimating: boolean): GasLimits {
  if (!estimating) return withLimits(op, op);
  return {
    callGasLimit: op.callGasLimit || fallbackLimits.callGasLimit,
    verificationGasLimit:
      op.verificationGasLimit ||
      (op.initCode === '0x' ? fallbackLimits.verificationGasLimit : fallbackLimits.deploymentGasLimit),
    preVerificationGas: op.preVerificationGas || preVerificationGas(op, '0x'),
  };
}

const fallbackLimits = {
  callGasLimit: 500_000n,
  verificationGasLimit: 200_000n,
  deploymentGasLimit: 1_000_000n,
} as const;

/** `most`: the highest limits that would be signed for the operation. */
export function estimateRequest(
  served: {
    readonly chain: ServedChain;
    readonly profile: ServedProfile;
    readonly paymaster: ServedPaymaster;
  },
  op: UserOperation,
  paymasterAndData: Hex | undefined,
): EstimateRequest {
  const { chain, profile, paymaster } = served;
  return {
    paymasterId: paymaster.paymasterId,
    chainId: paymaster.chainId,
    entryPoint: profile.entryPoint,
    entryPointVersion: profile.entryPointVersion,
    op,
    paymasterAndData,
    minVerificationGasLimit:
      paymasterAndData === undefined ? 0n : profile.layout.sponsorship.minVerificationGasLimit,
    most: maxGasLimits(findGuard(chain, paymaster.gas), op),
  };
}
