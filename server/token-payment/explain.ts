import { DomainError, isDomainError } from '../../core/errors.js';
import type { TokenTerms } from '../../core/paymaster/layout.js';
import { withApproval } from '../../core/paymaster/token-payment.js';
import type { Verdict } from '../../core/refusal.js';
import { peek, type Peeked } from '../../core/usage/plan.js';
import type { CounterState, UsageStore } from '../../core/usage/usage-store.js';
import type { TokenChoice } from '../../core/pricing/token-list.js';
import { chooseTokens } from '../../core/pricing/token-list.js';
import { requirePrice, type Price } from '../../core/pricing/price-source.js';
import type { FeeTokenSpec } from '../../core/pricing/fee-token-spec.js';
import { zeroAddress, type AddressKey } from '../../core/units/address.js';
import { toSeconds } from '../../core/units/time.js';
import type { FinalUserOperation } from '../../core/entry-point/user-operation.js';
import { describeRefusal } from '../decision/refusal.js';
import { planReservation, type PlannedReservation } from '../decision/reservation.js';
import { withFreshConfig } from '../sponsorship/fresh-config.js';
import { noLimits, withLimits } from '../sponsorship/gas-limits.js';
import type { SponsorRequest } from '../sponsorship/request.js';
import { rulesOfAnyMode } from '../sponsorship/rules.js';
import { showAccounts, showBounds, showGas, type GasFigures } from '../sponsorship/show.js';
import { signHash } from '../sponsorship/sign-hash.js';
import { createTrace, type Trace, type TraceStep } from '../sponsorship/trace.js';
import { unusedFees } from '../sponsorship/unused-gas.js';
import type { ServedPaymaster } from '../view/served-paymaster.js';
import {
  decideTokenLimits,
  estimateIfAsked,
  gatherTokenFacts,
  maxChargeOf,
  requireTokenMode,
  tokenTermsOf,
  type TokenCase,
} from './case.js';
import { draftOf, takeableNow, unsecuredOf } from './draft.js';
import { requireFeeToken, type PayDeps } from './pay.js';
import { plannedPayment } from './promise.js';
import { showFee, showLosses, showPrice, showToken } from './show.js';

export type ExplainPaymentDeps = PayDeps & { readonly usage: Pick<UsageStore, 'counters'> };

/** A request to be explained. The token to pay in may be missing, which is then what is shown. */
export type ExplainedPayment = SponsorRequest & {
  readonly feeToken: AddressKey | undefined;
  /** Tokens that a quote would be asked for. */
  readonly choice: TokenChoice;
};

export type ExplainTokenPayment = (
  paymaster: ServedPaymaster,
  request: ExplainedPayment,
) => Promise<TokenExplanation>;

/** Everything that decides about a payment in tokens. Amounts of coins are decimal text, of tokens as they are named. */
export type TokenExplanation = {
  readonly mode: 'ERC20';
  /** Whether a request would be answered with signed data now. */
  readonly sponsored: boolean;
  readonly reason?: string;
  readonly paymaster: object;
  readonly steps: readonly TraceStep[];
  /** The tokens of the choice with their prices, in the order in which they would be quoted. */
  readonly tokens: readonly object[];
  readonly gas?: object;
  /** Whether the tokens would be taken in validation: such a payment cannot be lost. */
  readonly secured: boolean;
  /** From the price to what is quoted, and what the contract can take of this operation. */
  readonly fee?: object;
  /** What the account and the contract have lost on operations that paid nothing, against what is let go. */
  readonly losses: readonly object[];
  /** What may be promised at once: operations, of a deposit that several use, and of payments that may not come. */
  readonly bounds: readonly object[];
  readonly deposits: readonly object[];
};

/**
 * Decides as a request in mode ERC20 would, but goes on after a refusal, so that every obstacle is shown at once. Reserves
 * nothing, and signs nothing that could be used: the simulation takes data whose window closed in 1970, as for a request,
 * and they stay in the process. Throws what a request throws before any rule is looked at.
 */
export function createExplainTokenPayment(deps: ExplainPaymentDeps): ExplainTokenPayment {
  return (paymaster, request) =>
    withFreshConfig(deps.view, paymaster, (current) => explainOnce(deps, current, request));
}

async function explainOnce(
  deps: ExplainPaymentDeps,
  paymaster: ServedPaymaster,
  request: ExplainedPayment,
): Promise<TokenExplanation | 'stale'> {
  const gathered = gatherTokenFacts(deps, paymaster, request);
  const facts: TokenCase = { ...gathered, mode: requireTokenMode(gathered.profile, paymaster) };
  const trace = createTrace();
  for (const { name, decide } of rulesOfAnyMode) trace.judged(name, decide(facts));

  const token = await attempt(trace, 'token', () => tokenOf(facts, request.feeToken));
  const price = await explainPrice(deps, token, trace);
  const { op, terms } = await explainGas(deps, facts, { token, price }, trace);
  const charge =
    op === undefined || price === undefined
      ? undefined
      : await attempt(trace, 'charge', () => ({
          most: maxChargeOf(facts, op, terms),
          withApproval: maxChargeOf(facts, withApproval(op), terms),
        }));

  const payer = await deps.tokenAccounts.payer(facts.chain, facts.mode);
  const asked = op ?? withLimits(request.op, noLimits);
  const stake = { payer, token: terms.token, unsecured: unsecuredOf(facts, asked, terms) };
  const planned = plannedPayment(facts, asked, stake, deps.clock.now());
  const usage = await peek(deps.usage, planReservation(planned, deps.usage.capacity()));
  if (usage.result.outcome === 'stale') return 'stale';
  await explainUsage(facts, usage, trace);
  await explainPayment(deps, facts, { op, terms, isPriced: charge !== undefined }, trace);

  const stopped = trace.stoppedBy();
  return {
    mode: 'ERC20',
    sponsored: stopped === undefined,
    ...(stopped?.reason === undefined ? {} : { reason: stopped.reason }),
    paymaster: showPaymaster(facts),
    steps: trace.steps,
    tokens: await showTokens(deps, facts, request.choice),
    ...(op === undefined ? {} : { gas: showGas(op, gasFigures(facts, op)) }),
    ...(token === undefined || price === undefined || charge === undefined
      ? {}
      : { fee: showFee({ token, price, charge, usdPerNative: usdOf(deps, facts, price) }) }),
    secured: terms.inAdvance === true,
    losses: showLosses(usage.request, await lossesOf(deps, usage.request)),
    bounds: showBounds(usage.request, usage.peeked, op !== undefined),
    deposits: showAccounts(
      usage.peeked,
      op === undefined ? undefined : usage.request.accounts.map(({ need }) => need),
    ),
  };
}

/** Runs a step that fails by an error: a request would be answered with it. */
async function attempt<T>(
  trace: Trace,
  step: string,
  run: () => T | Promise<T>,
  verdictOf: (value: T) => Verdict = () => ({ pass: true }),
): Promise<T | undefined> {
  try {
    const value = await run();
    trace.judged(step, verdictOf(value));
    return value;
  } catch (error) {
    if (!isDomainError(error)) throw error;
    trace.failed(step, error);
    return undefined;
  }
}

/** Throws FEE_TOKEN_REQUIRED, FEE_TOKEN_UNSUPPORTED. */
function tokenOf(facts: TokenCase, feeToken: AddressKey | undefined): FeeTokenSpec {
  if (feeToken !== undefined) return requireFeeToken(facts, feeToken);
  throw new DomainError('FEE_TOKEN_REQUIRED', 'No tokenInfo.feeTokenAddress is given: the token to pay in.', {
    reason: 'FEE_TOKEN_REQUIRED',
  });
}

async function explainPrice(
  { prices }: PayDeps,
  token: FeeTokenSpec | undefined,
  trace: Trace,
): Promise<Price | undefined> {
  if (token !== undefined)
    return attempt(trace, 'price', async () => requirePrice(token, await prices.get(token)));
  trace.skipped('price', 'There is no token to price.');
  return undefined;
}

type Chosen = { readonly token: FeeTokenSpec | undefined; readonly price: Price | undefined };

/** Without a token and its price those of the same length stand in: limits depend on the length of the data. */
async function explainGas(
  { estimator, payments, clock }: PayDeps,
  facts: TokenCase,
  { token, price }: Chosen,
  trace: Trace,
): Promise<{ readonly op: FinalUserOperation | undefined; readonly terms: TokenTerms }> {
  const standIn = tokenTermsOf(facts, { address: zeroAddress }, { rate: 1n }, toSeconds(clock.now()));
  const found = await attempt(
    trace,
    'gas',
    async () => {
      const estimate = await estimateIfAsked(estimator, facts);
      if (token === undefined || price === undefined)
        return { ...decideTokenLimits(facts, standIn, estimate), terms: standIn };
      const takeable = await takeableNow(payments, facts, token);
      return draftOf(facts, { token, price, estimate, takeable, now: clock.now() });
    },
    ({ verdict }) => verdict,
  );
  return found ?? { op: undefined, terms: standIn };
}

/** What the counters of the request's bars stand at. */
function lossesOf(
  { usage }: ExplainPaymentDeps,
  { key, bars }: PlannedReservation,
): Promise<readonly CounterState[]> {
  return usage.counters(key.chainId, bars);
}

async function explainUsage(
  { paymaster }: TokenCase,
  { request, result }: Peeked<PlannedReservation>,
  trace: Trace,
): Promise<void> {
  await attempt(
    trace,
    'lossesAndDeposit',
    () =>
      result.outcome === 'reserved' || result.outcome === 'stale'
        ? ({ pass: true } as const)
        : describeRefusal(paymaster, request, result),
    (verdict) => verdict,
  );
}

type Priced = {
  readonly op: FinalUserOperation | undefined;
  readonly terms: TokenTerms;
  readonly isPriced: boolean;
};

/** Would exactly this operation pay? */
async function explainPayment(
  { payments, signing }: PayDeps,
  { paymaster, profile, mode, signer }: TokenCase,
  { op, terms, isPriced }: Priced,
  trace: Trace,
): Promise<void> {
  if (op === undefined) return trace.skipped('payment', 'The gas limits are not known.');
  if (!isPriced) return trace.skipped('payment', 'There is no price to charge.');
  const { entryPoint, entryPointVersion } = profile;
  await attempt(
    trace,
    'payment',
    () =>
      payments.check({
        paymasterId: paymaster.paymasterId,
        chainId: paymaster.chainId,
        entryPoint,
        entryPointVersion,
        codec: mode.codec,
        op,
        terms,
        sign: (hash) => signHash(signing, signer, hash),
      }),
    (verdict) => verdict,
  );
}

async function showTokens(
  { prices, clock }: PayDeps,
  { chain }: TokenCase,
  choice: TokenChoice,
): Promise<readonly object[]> {
  const { tokens, unsupported } = chooseTokens(choice, chain.feeTokens);
  const answers = await Promise.all(tokens.map((token) => prices.get(token)));
  return [
    ...tokens.map((token, index) => ({
      ...showToken(token),
      ...showPrice(token, answers[index], clock.now()),
    })),
    ...unsupported.map((address) => ({
      address,
      refusal: { reason: 'FEE_TOKEN_UNSUPPORTED', detail: 'not served on this chain' },
    })),
  ];
}

function gasFigures(facts: TokenCase, op: FinalUserOperation): GasFigures {
  const { estimating, mode } = facts;
  const maxCost = mode.codec.need(op, mode.options).entryPoint;
  return { estimated: estimating, maxCost, unused: unusedFees(facts, op, mode.gas) };
}

function usdOf({ prices }: PayDeps, { chain }: TokenCase, price: Price): bigint | undefined {
  return price.usdPerNative ?? prices.usdPerNative(chain.chainId);
}

function showPaymaster({ paymaster, profile, mode }: TokenCase): object {
  return {
    paymasterId: paymaster.paymasterId,
    chainId: paymaster.chainId,
    version: paymaster.version,
    configGeneration: paymaster.configGeneration,
    layout: profile.layout.id,
    entryPoint: profile.entryPoint,
    contract: mode.contract,
  };
}
