import { DomainError } from '../../../core/errors.js';
import type { TokenTerms } from '../../../core/paymaster/layout.js';
import { tokenStub, tokenStubForLater } from '../../../core/paymaster/stub.js';
import { signatureToTail } from '../../../core/paymaster/tail.js';
import { limitsWithPayment } from '../../../core/paymaster/token-payment.js';
import { decideGasLimits } from '../../../core/policy/rules/price-guard/decide.js';
import { refuseReverted, type Verdict } from '../../../core/refusal.js';
import { parseMarkup } from '../../../core/pricing/rate.js';
import type { Price } from '../../../core/pricing/price-source.js';
import type { FeeTokenSpec } from '../../../core/pricing/fee-token-spec.js';
import { parseAddressKey } from '../../../core/units/address.js';
import type { Hex } from '../../../core/units/hex.js';
import type { EpochSeconds } from '../../../core/units/time.js';
import type { Estimate, EstimateRequest, GasEstimator } from '../../../core/userop/estimator.js';
import type {
  FinalUserOperation,
  GasLimits,
  UserOperation,
} from '../../../core/entry-point/user-operation.js';
import { findGuard, type ServedTokenMode } from '../../view/served-chain.js';
import type { ServedPaymaster } from '../../view/served-paymaster.js';
import { ownPreVerificationGas, requireDataFee, withDataFee } from '../steps/data-fee.js';
import { type FactDeps, gatherFacts, type RequestFacts } from '../facts.js';
import { estimateRequest, foundLimits, withLimits } from '../gas-limits.js';
import type { SponsorRequest } from '../request.js';
import { boundsOfGiven, decideUnused, estimateOrGiven, needsSimulation } from '../steps/unused-gas.js';
import { chooseValidity } from '../steps/validity.js';

/** What is known about a request in mode ERC20 before its token is checked. */
export type TokenFacts = RequestFacts & { readonly mode: ServedTokenMode };

/** A rate is promised for as long as the data are valid: at most this long, even if the chain allows longer sponsorships. */
const maxTokenExpirySeconds = 600;

/** Throws as {@link gatherFacts}, and MODE_NOT_AVAILABLE without a token contract. */
export function gatherTokenFacts(
  deps: FactDeps,
  paymaster: ServedPaymaster,
  request: SponsorRequest,
): TokenFacts {
  const facts = gatherFacts(deps, paymaster, request, 'ERC20', maxTokenExpirySeconds);
  const { token: mode, version } = facts.profile;
  if (mode !== undefined) return { ...facts, mode };
  throw new DomainError(
    'MODE_NOT_AVAILABLE',
    `Version "${version}" of chain ${paymaster.chainId} has no contract for mode ERC20; use SPONSORED.`,
  );
}

/** The terms that would be signed with the operation at this price. */
export function toTokenTerms(
  facts: TokenFacts,
  token: Pick<FeeTokenSpec, 'address' | 'premiumPercentage'>,
  { rate }: Pick<Price, 'rate'>,
  now: EpochSeconds,
): TokenTerms {
  const { paymaster, mode } = facts;
  return {
    chainId: paymaster.chainId,
    paymaster: mode.contract,
    token: parseAddressKey(token.address),
    exchangeRate: rate,
    priceMarkup: Number(parseMarkup(token.premiumPercentage)),
    ...chooseValidity(facts, now),
    options: mode.options,
  };
}

/** Data of the final shape with a dummy signature. Throws FEE_TOKEN_UNSUPPORTED. */
function tokenStubData({ mode, request }: TokenFacts, op: UserOperation, terms: TokenTerms): Hex {
  return shapedFor(
    request,
    atRate(terms, () => tokenStub(mode.codec, withLimits(op, op), terms)),
  );
}

/** The same for a wallet, which asks for the final data later. Throws FEE_TOKEN_UNSUPPORTED. */
export function tokenStubDataForLater(
  { mode, request }: TokenFacts,
  op: UserOperation,
  terms: TokenTerms,
): Hex {
  return shapedFor(
    request,
    atRate(terms, () => tokenStubForLater(mode.codec, withLimits(op, op), terms)),
  );
}

/** In two phases the signature is in the tail. */
function shapedFor({ phase }: SponsorRequest, data: Hex): Hex {
  return phase === undefined ? data : signatureToTail(data);
}

/**
 * The gas that the operation itself needs, simulated without a paymaster. So an account that cannot pay yet can still get a quote;
 * the check of its payment refuses it later. Undefined, without waiting, when the caller's limits are used as they are. `onCandidates`
 * is as in an EstimateRequest. Throws ESTIMATION_FAILED, UNAVAILABLE.
 */
export function estimateIfAsked(
  estimator: GasEstimator,
  facts: TokenFacts,
  // Given also where nothing waits for them: a quote has to find the limits that are signed later.
  onCandidates: NonNullable<EstimateRequest['onCandidates']> = () => {},
): Promise<Estimate | undefined> | undefined {
  const { request, mode } = facts;
  if (!needsSimulation(facts, mode.gas)) return undefined;
  if (facts.estimating) requireDataFee(facts);
  const asked = estimateRequest(facts, request.op, undefined);
  const payment = mode.codec.validationGas(mode.options);
  const { verificationGasLimit } = asked.most;
  const whole = {
    ...asked,
    // The gas of the payment comes on top.
    most: {
      ...asked.most,
      verificationGasLimit: verificationGasLimit > payment ? verificationGasLimit - payment : 0n,
    },
    onCandidates,
  };
  return estimateOrGiven(facts, mode.gas, () => estimator.estimate(whole));
}

/** The operation with the least limits that an estimate can find for it. */
export function minOperation(facts: TokenFacts, terms: TokenTerms): FinalUserOperation {
  const { mode, request } = facts;
  const nothing = { callGasLimit: 0n, verificationGasLimit: 0n, preVerificationGas: 0n };
  const stub = tokenStubData(facts, request.op, terms);
  const least = limitsWithPayment(nothing, request.op, mode.codec, stub, mode.options);
  return withLimits(request.op, foundLimits(request, least));
}

/** The operation with final limits, and whether these limits are acceptable. */
export function decideTokenLimits(
  facts: TokenFacts,
  terms: TokenTerms,
  estimate: Estimate | undefined,
): { readonly op: FinalUserOperation; readonly verdict: Verdict } {
  const { chain, paymaster, mode, request } = facts;
  const stub = () => tokenStubData(facts, request.op, terms);
  const isFound = facts.estimating && estimate !== undefined;
  const limits = isFound
    ? foundLimits(request, withPayment(facts, estimate, stub()), boundsOfGiven(facts))
    : request.op;
  const op = withLimits(request.op, limits);
  if (estimate?.reverted !== undefined)
    return { op, verdict: refuseReverted(estimate.reverted, estimate.remedy) };
  const verdict = decideGasLimits(findGuard(chain, paymaster.gas), op, {
    minVerificationGasLimit: mode.codec.minVerificationGasLimit,
    ownPreVerificationGas: () => ownPreVerificationGas(facts, op, stub()),
  });
  if (!verdict.pass || estimate === undefined) return { op, verdict };
  return { op, verdict: decideUnused(facts, op, estimate) };
}

function withPayment(facts: TokenFacts, estimate: Estimate, data: Hex): GasLimits {
  const { mode, request } = facts;
  const limits = limitsWithPayment(estimate, request.op, mode.codec, data, mode.options);
  return withDataFee(facts, limits, request.op, data);
}

/** The most that the contract can take, in token base units. Throws FEE_TOKEN_UNSUPPORTED. */
export function computeMaxCharge({ mode }: TokenFacts, op: FinalUserOperation, terms: TokenTerms): bigint {
  return atRate(terms, () => mode.codec.maxTokenCharge(op, terms));
}

/** Throws FEE_TOKEN_UNSUPPORTED for a rate that overflows the contract's data or its arithmetic: the gas would be lost. */
function atRate<T>({ token }: TokenTerms, compute: () => T): T {
  try {
    return compute();
  } catch (cause) {
    if (!(cause instanceof RangeError)) throw cause;
    const message = `fee token ${token} cannot be charged: ${cause.message}`;
    throw new DomainError('FEE_TOKEN_UNSUPPORTED', message, { cause });
  }
}

type Redraft = {
  readonly token: FeeTokenSpec;
  /** What the commit answered. */
  readonly committed: Hex;
  readonly now: EpochSeconds;
};

/**
 * The terms of data that a commit has answered, for its finalize. Rate, validity and whether the tokens are taken in validation
 * are those that the account has signed. Contract, token and premium are those of now, so other data are not the committed
 * ones. Undefined where something has changed since: the contract no longer takes tokens in validation, or only payments that
 * are taken there are still signed, or a policy's window ends earlier. Throws RangeError for bytes that the codec did not make.
 */
export function redraftTerms(facts: TokenFacts, { token, committed, now }: Redraft): TokenTerms | undefined {
  const { codec, isSecured, requiresAllowance } = facts.mode;
  const { exchangeRate, validUntil, validAfter, inAdvance } = codec.decode(committed);
  if (inAdvance === true ? !isSecured : requiresAllowance) return undefined;
  if (validUntil > facts.lastSecond) return undefined;
  const plain = toTokenTerms(facts, token, { rate: exchangeRate }, now);
  return { ...plain, validUntil, validAfter, ...(inAdvance === undefined ? {} : { inAdvance }) };
}
