import { refusedError } from '../../core/refusal.js';
import { DomainError } from '../../core/errors.js';
import { requirePrice, type Prices } from '../../core/pricing/price-source.js';
import { peek, reserve } from '../../core/usage/plan.js';
import type { UsageStore } from '../../core/usage/usage-store.js';
import type { FeeTokenSpec } from '../../core/pricing/fee-token-spec.js';
import type { AddressKey } from '../../core/units/address.js';
import { toSeconds } from '../../core/units/time.js';
import type { GasEstimator } from '../../core/userop/estimator.js';
import type { TokenPaymentChecker } from '../../core/paymaster/token-payment-checker.js';
import { describeRefusal } from '../decision/refusal.js';
import { planReservation } from '../decision/reservation.js';
import type { CaseDeps } from '../sponsorship/case.js';
import { withFreshConfig } from '../sponsorship/fresh-config.js';
import { signHash } from '../sponsorship/sign-hash.js';
import type { SigningBatch } from '../sponsorship/signing-batch.js';
import { windowOf } from '../sponsorship/terms.js';
import type { ConfigView } from '../view/config-view.js';
import type { ServedPaymaster } from '../view/served-paymaster.js';
import { estimateIfAsked, gatherTokenCase, maxChargeOf, type TokenCase } from './case.js';
import { draftOf, leastDraftOf, takeableNow, unsecuredOf, type Draft } from './draft.js';
import { draftPayment, plannedPayment, type Stake } from './promise.js';
import { type TokenPayment, type TokenPaymentRequest } from './request.js';
import type { TokenAccounts } from './token-accounts.js';

export type PayDeps = CaseDeps & {
  readonly view: Pick<ConfigView, 'refresh' | 'isCurrent'>;
  readonly usage: Pick<UsageStore, 'now' | 'peek' | 'reserve' | 'capacity'>;
  readonly estimator: GasEstimator;
  readonly payments: TokenPaymentChecker;
  readonly prices: Prices;
  readonly tokenAccounts: TokenAccounts;
  readonly signing: SigningBatch;
};

export type PayInTokens = (paymaster: ServedPaymaster, request: TokenPaymentRequest) => Promise<TokenPayment>;

/**
 * Signs data with which the account pays for its gas in a token. Order: state, fees, delegate → token and price → caps on
 * limits that are given → a peek at losses and deposits with the least that the payment can take → what can be taken of the
 * account in advance → limits, estimated where missing, and their caps → a second peek where it takes more than the least →
 * simulation of exactly this operation: does it pay? → reservation of both → signature over today's rate.
 *
 * Every refusal is an error: SPONSORSHIP_REFUSED with the reason, RATE_LIMITED (TOKEN_EXPOSURE_FULL),
 * FEE_TOKEN_UNSUPPORTED, MODE_NOT_AVAILABLE, and what a sponsorship throws. Then nothing was signed that could be used.
 */
export function createPayInTokens(deps: PayDeps): PayInTokens {
  return (paymaster, request) =>
    withFreshConfig(deps.view, paymaster, (current) => attempt(deps, current, request));
}

async function attempt(
  deps: PayDeps,
  paymaster: ServedPaymaster,
  request: TokenPaymentRequest,
): Promise<TokenPayment | 'stale'> {
  const { clock, payments, signing } = deps;
  const facts = gatherTokenCase(deps, paymaster, request);
  const { profile, mode, signer } = facts;
  const token = requireFeeToken(facts, request.feeToken);
  const [answer, payer] = await Promise.all([
    deps.prices.get(token),
    deps.tokenAccounts.payer(facts.chain, mode),
  ]);
  const price = requirePrice(token, answer);
  // A refusal costs the chain nothing: what is known already is asked before balances are read or anything is simulated.
  const least = leastDraftOf(facts, { token, price, now: clock.now() });
  const atLeast = await peekPayment(deps, facts, payer, least);
  if (atLeast === 'stale') return 'stale';

  const [estimate, takeable] = await Promise.all([
    estimateIfAsked(deps.estimator, facts),
    takeableNow(payments, facts, token),
  ]);
  const draft = draftOf(facts, { token, price, estimate, takeable, now: clock.now() });
  const { op, verdict } = draft;
  if (!verdict.pass) throw refusedError(verdict, { isPayer: true });
  maxChargeOf(facts, op, draft.terms);
  const stake = stakeOf(facts, payer, draft);
  if (facts.estimating || stake.unsecured !== atLeast.unsecured)
    if ((await peekPayment(deps, facts, payer, draft)) === 'stale') return 'stale';

  const sign = (hash: Uint8Array): Promise<Uint8Array> => signHash(signing, signer, hash);
  const { entryPoint, entryPointVersion } = profile;
  const { paymasterId, chainId } = paymaster;
  const target = { paymasterId, chainId, entryPoint, entryPointVersion, codec: mode.codec };
  const paid = await payments.check({ ...target, op, terms: draft.terms, sign });
  if (!paid.pass) throw refusedError(paid, { isPayer: true });

  // Prices, estimates and simulations may take seconds: what was suspended meanwhile must not be signed any more.
  if (!deps.view.isCurrent(paymaster, facts.chain)) return 'stale';

  // Reserved before signing: a signature is a promise to pay and cannot be taken back; a reservation can.
  const now = clock.now();
  // The rate that was simulated, for a window that begins now.
  const terms = { ...draft.terms, ...windowOf(facts, toSeconds(now)) };
  const { promised, hash } = draftPayment(facts, op, terms, { stake, now });
  const reserved = await reserve(deps.usage, planReservation(promised, deps.usage.capacity()));
  if (reserved.result.outcome === 'stale') return 'stale';
  if (reserved.result.outcome !== 'reserved')
    throw refusedError(describeRefusal(paymaster, reserved.request, reserved.result), { isPayer: true });
  const paymasterAndData = mode.codec.encode(op, terms, await sign(hash));
  const { validUntil } = terms;
  const { expiryAsked } = facts;
  return { profile, paymasterGas: mode.gas, op, paymasterAndData, validUntil, expiryAsked };
}

/** What a payment that passes puts at stake. Throws SPONSORSHIP_REFUSED and RATE_LIMITED with what a reservation would say now. */
async function peekPayment(
  { usage, clock }: PayDeps,
  facts: TokenCase,
  payer: AddressKey | undefined,
  draft: Draft,
): Promise<Stake | 'stale'> {
  if (!draft.verdict.pass) throw refusedError(draft.verdict, { isPayer: true });
  const stake = stakeOf(facts, payer, draft);
  const planned = plannedPayment(facts, draft.op, stake, clock.now());
  const { request, result } = await peek(usage, planReservation(planned, usage.capacity()));
  if (result.outcome === 'stale') return 'stale';
  if (result.outcome !== 'reserved')
    throw refusedError(describeRefusal(facts.paymaster, request, result), { isPayer: true });
  return stake;
}

function stakeOf(facts: TokenCase, payer: AddressKey | undefined, { op, terms }: Draft): Stake {
  return { payer, token: terms.token, unsecured: unsecuredOf(facts, op, terms) };
}

/** Throws FEE_TOKEN_UNSUPPORTED for a token that this chain does not serve. */
export function requireFeeToken({ chain }: TokenCase, feeToken: AddressKey): FeeTokenSpec {
  const token = chain.feeTokens.get(feeToken);
  if (token !== undefined) return token;
  const served = [...chain.feeTokens.values()].map(({ symbol, address }) => `${symbol} ${address}`);
  throw new DomainError(
    'FEE_TOKEN_UNSUPPORTED',
    `fee token ${feeToken} is not supported; supported: ${served.join(', ') || 'none'}`,
    { reason: 'FEE_TOKEN_UNSUPPORTED' },
  );
}
