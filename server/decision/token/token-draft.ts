import type { TokenTerms } from '../../../core/paymaster/layout.js';
import { pass, refuse, type Verdict } from '../../../core/refusal.js';
import type { Price } from '../../../core/pricing/price-source.js';
import type { FeeTokenSpec } from '../../../core/pricing/fee-token-spec.js';
import { parseAddressKey, toAddressKey, type AddressKey } from '../../../core/units/address.js';
import { toSeconds, type EpochMs } from '../../../core/units/time.js';
import type { Estimate } from '../../../core/userop/estimator.js';
import type { Holdings } from '../../../core/paymaster/token-payment.js';
import type { TokenPaymentChecker } from '../../../core/paymaster/token-payment-checker.js';
import type { FinalUserOperation } from '../../../core/entry-point/user-operation.js';
import {
  decideTokenLimits,
  minOperation,
  computeMaxCharge,
  toTokenTerms,
  type TokenFacts,
} from './token-terms.js';

/** An operation with final limits and the terms on which it would pay. */
export type TokenDraft = {
  readonly op: FinalUserOperation;
  readonly terms: TokenTerms;
  readonly verdict: Verdict;
};

type DraftInput = {
  readonly token: FeeTokenSpec;
  readonly price: Price;
  readonly estimate: Estimate | undefined;
  /** See {@link takeableNow}. */
  readonly takeable: bigint;
  readonly now: EpochMs;
};

/**
 * How many of the account's tokens the contract could take now, in base units. 0 when the contract takes them after the call
 * anyway, and when a treasury must pay back the excess and has not allowed it. Throws UNAVAILABLE. Waits only where the chain
 * must be asked.
 */
export function takeableNow(
  payments: Pick<TokenPaymentChecker, 'holdings'>,
  facts: TokenFacts,
  token: Pick<FeeTokenSpec, 'address'>,
): bigint | Promise<bigint> {
  const { mode, request } = facts;
  if (!mode.isSecured) return 0n;
  const { treasury } = mode.options;
  const of = (account: AddressKey): Promise<Holdings> => readHoldings(payments, facts, token, account);
  if (!mode.codec.namesTreasury || treasury === undefined) return of(request.op.sender).then(lesser);
  return Promise.all([of(request.op.sender), of(toAddressKey(treasury))]).then(([ofSender, ofTreasury]) =>
    // The treasury receives the tokens first, so its balance covers what it pays back.
    lesser({ balance: lesser(ofSender), allowance: ofTreasury.allowance }),
  );
}

/** What an account holds now, and allows the contract of this mode. Throws UNAVAILABLE. */
export function readHoldings(
  payments: Pick<TokenPaymentChecker, 'holdings'>,
  { paymaster, profile, mode }: TokenFacts,
  token: Pick<FeeTokenSpec, 'address'>,
  account: AddressKey,
): Promise<Holdings> {
  return payments.holdings({
    paymasterId: paymaster.paymasterId,
    chainId: paymaster.chainId,
    entryPoint: profile.entryPoint,
    entryPointVersion: profile.entryPointVersion,
    token: parseAddressKey(token.address),
    account,
    contract: mode.contractKey,
  });
}

function lesser({ balance, allowance }: Holdings): bigint {
  return balance < allowance ? balance : allowance;
}

/**
 * The payment is taken in advance if the account holds and allows the most that can be charged: such a payment cannot be lost.
 * Otherwise it is taken after the call, which may be the approval, unless the platform forbids such payments.
 */
export function toDraft(
  facts: TokenFacts,
  { token, price, estimate, takeable, now }: DraftInput,
): TokenDraft {
  const terms = toTokenTerms(facts, token, price, toSeconds(now));
  if (takeable > 0n) {
    const secured: TokenTerms = { ...terms, inAdvance: true };
    const limits = decideTokenLimits(facts, secured, estimate);
    if (computeMaxCharge(facts, limits.op, secured) <= takeable) return { ...limits, terms: secured };
  }
  const limits = decideTokenLimits(facts, terms, estimate);
  if (!limits.verdict.pass || !facts.mode.requiresAllowance) return { ...limits, terms };
  const most = computeMaxCharge(facts, limits.op, terms);
  return { ...limits, terms, verdict: allowanceRequired(facts, terms, { most, takeable }) };
}

/**
 * The draft with the least amount that the payment can take, before the chain is asked. It uses the caller's limits, after
 * checking them, or else the gas that the payment needs whatever the account does. It is taken in advance if that is possible.
 * So no operation that could still pass is refused.
 */
export function toMinDraft(
  facts: TokenFacts,
  { token, price, now }: Pick<DraftInput, 'token' | 'price' | 'now'>,
): TokenDraft {
  const plain = toTokenTerms(facts, token, price, toSeconds(now));
  const terms: TokenTerms = facts.mode.isSecured ? { ...plain, inAdvance: true } : plain;
  const found = facts.estimating
    ? { op: minOperation(facts, terms), verdict: pass }
    : decideTokenLimits(facts, terms, undefined);
  const isRefused = facts.mode.requiresAllowance && !facts.mode.isSecured && found.verdict.pass;
  return isRefused
    ? { ...found, terms, verdict: allowanceRequired(facts, terms, { most: 0n, takeable: 0n }) }
    : { ...found, terms };
}

/** The refusal of a payment that the contract could not take now, where the platform wants no other. */
export function allowanceRequired(
  { mode }: TokenFacts,
  { paymaster, token }: TokenTerms,
  { most, takeable }: { readonly most: bigint; readonly takeable: bigint },
): Verdict {
  const detail = mode.isSecured
    ? `${paymaster} could take ${takeable} base units of ${token} from the account now, it may charge ${most}`
    : `${paymaster} takes tokens after the call`;
  return refuse('TOKEN_ALLOWANCE_REQUIRED', detail);
}
