import { requireSignature, type SigningItem } from '../../../core/paymaster/signer.js';
import { DomainError } from '../../../core/errors.js';
import { toDigest } from '../../../core/paymaster/digest.js';
import type { TokenTerms } from '../../../core/paymaster/layout.js';
import { maxLost } from '../../../core/paymaster/token-payment.js';
import { type PriceAnswer, type Prices, requirePrice } from '../../../core/pricing/price-source.js';
import { pass, refuse, type Verdict } from '../../../core/refusal.js';
import { zeroAddress } from '../../../core/units/address.js';
import { type EpochMs, type EpochSeconds, toSeconds } from '../../../core/units/time.js';
import type { UsageStore } from '../../../core/usage/usage-store.js';
import type { Estimate, GasEstimator } from '../../../core/userop/estimator.js';
import type {
  TokenPaymentChecker,
  TokenPaymentRequest,
} from '../../../core/paymaster/token-payment-checker.js';
import type { FinalUserOperation } from '../../../core/entry-point/user-operation.js';
import { beginPayments } from './early-payment.js';
import { decodeRequestCalls } from '../calls.js';
import { delegateOnChain, type Delegates } from '../delegates.js';
import type { FactDeps } from '../facts.js';
import { noLimits, withLimits } from '../gas-limits.js';
import { inRange } from '../steps/in-range.js';
import { toPromised, type Stake } from '../steps/promise.js';
import { lateRulesOfTokens, rulesOfTokens } from '../steps/rules.js';
import type { SigningBatch } from '../sign/signing-batch.js';
import { type Draft, type Finalize, type Mode, type Outcome, step } from '../step.js';
import type { TokenAccounts } from './token-accounts.js';
import { gatherTokenCase, type TokenCase, type TokenRequest } from './token-case.js';
import { toDraft, toMinDraft, takeableNow, type TokenDraft } from './token-draft.js';
import { decideHeldNow } from './held-now.js';
import {
  decideTokenLimits,
  estimateIfAsked,
  computeMaxCharge,
  redraftTerms,
  type TokenFacts,
  tokenStubDataForLater,
  toTokenTerms,
} from './token-terms.js';
import { peekUsage } from '../usage.js';
import { whenBoth } from '../steps/when-both.js';
import { chooseValidity } from '../steps/validity.js';

export type TokenModeDeps = FactDeps & {
  readonly usage: Pick<UsageStore, 'now' | 'peek' | 'capacity'>;
  readonly estimator: GasEstimator;
  readonly payments: TokenPaymentChecker;
  readonly prices: Prices;
  readonly delegates: Delegates;
  readonly tokenAccounts: TokenAccounts;
  readonly signing: SigningBatch;
};

type TokenMode = Mode<TokenRequest, TokenCase, TokenTerms> & {
  readonly finalize: Finalize<TokenCase, TokenTerms>;
};

/**
 * Mode ERC20: state, fees, delegate → token and price → caps on the limits that the caller gave → a peek at losses and deposits
 * with the least amount that the payment can take → how much the contract can take from the account in advance → limits,
 * estimated where missing, and their caps → a second peek if the payment takes more than the least → simulation of exactly this
 * operation: does it pay? → reservation of losses and deposits → signature over the current rate. Whitelist, deployment rule,
 * spending limits and webhooks do not apply, since the user pays; other policies do where they say so.
 */
export function tokenMode(deps: TokenModeDeps): TokenMode {
  const { usage, estimator, payments, prices, tokenAccounts, delegates, signing, clock } = deps;

  function decidePrice(gathered: TokenCase): Outcome | Promise<Outcome> {
    const token = needed(gathered.token);
    const priced = (answer: PriceAnswer): Outcome => {
      gathered.price = requirePrice(token, answer);
      return pass;
    };
    const warm = prices.peek(token);
    return warm === undefined ? prices.get(token).then(priced) : priced(warm);
  }

  function decideMinDraft(gathered: TokenCase): Verdict {
    gathered.minDraft = toMinDraft(gathered, {
      token: needed(gathered.token),
      price: needed(gathered.price),
      now: clock.now(),
    });
    const { op, terms, verdict } = gathered.minDraft;
    // The step that charges refuses a rate at which nothing can be charged.
    if (!verdict.pass || gathered.maxTokenAmount === undefined) return verdict;
    return decideMaxCharge(gathered, computeMaxCharge(gathered, op, terms));
  }

  function findPayer(gathered: TokenCase): Verdict | Promise<Verdict> {
    const found = (payer: TokenCase['payer']): Verdict => {
      gathered.payer = payer;
      return pass;
    };
    const payer = tokenAccounts.payer(gathered.chain, gathered.mode);
    return payer instanceof Promise ? payer.then(found) : found(payer);
  }

  async function peekAt(
    gathered: TokenCase,
    { op, terms }: Pick<TokenDraft, 'op' | 'terms'>,
  ): Promise<Outcome> {
    const finding = findPayer(gathered);
    if (finding instanceof Promise) await finding;
    return peekUsage(usage, gathered, toPromised(gathered, op, toStake(gathered, op, terms), clock.now()));
  }

  /** Without a token and a price, uses placeholders of the same length: limits depend on the length of the data. */
  const standIn = (gathered: TokenCase): TokenTerms =>
    toTokenTerms(gathered, { address: zeroAddress }, { rate: 1n }, toSeconds(clock.now()));

  function decideGas(gathered: TokenCase): Verdict | Promise<Verdict> {
    const { token, price } = gathered;
    gathered.ground = payments.ground({ ...toTarget(gathered), contract: gathered.mode.contract });
    // Only the payment's step waits for it, which is not reached if limits cannot be found.
    gathered.ground.catch(() => {});
    const draftWith = (estimate: Estimate | undefined, takeable: bigint): TokenDraft => {
      if (token !== undefined && price !== undefined)
        return toDraft(gathered, { token, price, estimate, takeable, now: clock.now() });
      const terms = standIn(gathered);
      return { ...decideTokenLimits(gathered, terms, estimate), terms };
    };
    const holds = token === undefined || price === undefined ? 0n : takeableNow(payments, gathered, token);
    // A failure is reported where `holds` is awaited, once limits are found.
    if (holds instanceof Promise) holds.catch(() => {});
    const beginWith = (candidates: readonly Estimate[]): void => {
      gathered.early = beginPayments(
        candidates.map(async (candidate) => draftWith(candidate, await holds)),
        (draft) => simulatePayment(gathered, draft, { ground: needed(gathered.ground) }),
      );
    };
    const isPriced = token !== undefined && price !== undefined;
    const asked = estimateIfAsked(estimator, gathered, isPriced ? beginWith : undefined);
    return whenBoth(asked, holds, (estimate, takeable) => {
      gathered.estimate = estimate;
      gathered.draft = draftWith(estimate, takeable);
      gathered.op = gathered.draft.op;
      return gathered.draft.verdict;
    });
  }

  function decideCharge(gathered: TokenCase): Verdict {
    const { op, terms } = needed(gathered.draft);
    gathered.charge = computeMaxCharge(gathered, op, terms);
    return decideMaxCharge(gathered, gathered.charge);
  }

  /** Would exactly this operation pay? */
  async function decidePayment(gathered: TokenCase): Promise<Verdict> {
    const draft = needed(gathered.draft);
    return (
      (await gathered.early?.verdictOn(draft)) ??
      (await simulatePayment(gathered, draft, { ground: needed(gathered.ground) }))
    );
  }

  function simulatePayment(
    gathered: TokenCase,
    { op, terms }: Pick<TokenDraft, 'op' | 'terms'>,
    ground?: Pick<TokenPaymentRequest, 'ground'>,
  ): Promise<Verdict> {
    const { paymasterId } = gathered.paymaster;
    const sign = async (item: SigningItem) =>
      requireSignature(await signing.sign(gathered.signer, item, paymasterId));
    const shape = gathered.request.phase === undefined ? {} : { inTail: true as const };
    return payments.check({
      ...toTarget(gathered),
      op,
      terms,
      sign,
      token: needed(gathered.token),
      ...shape,
      ...ground,
    });
  }

  const lacksPrice = ({ price }: TokenCase) => (price === undefined ? 'No price is charged.' : undefined);
  const lacksDraft = (gathered: TokenCase) =>
    gathered.draft === undefined ? 'The gas limits are not known.' : lacksPrice(gathered);
  return {
    gather: (paymaster, request) => gatherTokenCase(deps, paymaster, request),
    steps: [
      ...rulesOfTokens,
      step('token', decideToken),
      step('price', decidePrice, {
        lacks: ({ token }) => (token === undefined ? 'No token is priced.' : undefined),
      }),
      // A refusal costs the chain nothing: checks on known facts come before any balance is read and anything is simulated.
      step('gas', decideMinDraft, { isEarly: true, lacks: lacksPrice }),
      step('lossesAndDeposit', (gathered) => peekAt(gathered, needed(gathered.minDraft)), {
        isEarly: true,
        lacks: ({ minDraft: least }) => (least === undefined ? 'There is nothing to look up.' : undefined),
      }),
      delegateOnChain(delegates),
      step('gas', decideGas, { isCostly: true }),
      ...lateRulesOfTokens,
      step('charge', decideCharge, { lacks: lacksDraft }),
      step(
        'lossesAndDeposit',
        (gathered) =>
          peekAt(
            gathered,
            gathered.draft ?? { op: withLimits(gathered.request.op, noLimits), terms: standIn(gathered) },
          ),
        { isSettled: isCoveredByMinDraft },
      ),
      step('payment', decidePayment, {
        isCostly: true,
        lacks: (gathered) =>
          lacksDraft(gathered) ?? (gathered.charge === undefined ? 'No price is charged.' : undefined),
      }),
    ],
    stubSteps: [step('payment', (gathered) => decideHeldNow(payments, gathered, needed(gathered.minDraft)))],
    draft: (gathered, op, now) => {
      // The rate from the simulation, valid from now on.
      const terms = { ...needed(gathered.draft).terms, ...chooseValidity(gathered, toSeconds(now)) };
      return draftPayment(gathered, op, terms, now);
    },
    encode: ({ mode }, op, terms, signature) => mode.codec.encode(op, terms, signature),
    // With data that take nothing in advance: a bundler that estimates with a stub that does would refuse an account that approves in
    // the same operation. Signed data are as long in either case.
    stub: (gathered, now) =>
      tokenStubDataForLater(
        gathered,
        gathered.request.op,
        toTokenTerms(gathered, needed(gathered.token), needed(gathered.price), toSeconds(now)),
      ),
    gas: ({ mode }) => mode.gas,
    subject: (gathered) => ({
      mode: 'ERC20',
      contract: gathered.mode.contractKey,
      token: gathered.feeToken,
      // No step of this mode decodes them: the user pays, whatever is called.
      calls: decodeRequestCalls(gathered),
    }),
    finalize: {
      steps: [
        ...rulesOfTokens,
        step('token', decideToken),
        // The rate stays that of the commit. A price that no longer holds ends promises at once, these too.
        step('price', decidePrice),
        step('gas', decideMinDraft),
        ...lateRulesOfTokens,
        step('lossesAndDeposit', findPayer),
      ],
      // The caller may have edited them: no codec encodes every rate that can be read from such bytes.
      redraft: (gathered, op, committed, now) =>
        inRange(() => {
          const terms = redraftTerms(gathered, {
            token: needed(gathered.token),
            committed,
            now: toSeconds(now),
          });
          if (terms === undefined) return undefined;
          const { promised, ...draft } = draftPayment(gathered, op, terms, now);
          const promise = { ...promised.promise, validUntil: terms.validUntil as EpochSeconds };
          return { ...draft, promised: { ...promised, promise } };
        }),
      // The account may have moved its tokens, or taken back its allowance.
      simulate: (gathered, { promised: { op }, terms }) => simulatePayment(gathered, { op, terms }),
    },
  };
}

/** Where a payment is simulated, and for whom. */
function toTarget({ paymaster, profile, mode }: TokenCase) {
  const { paymasterId, chainId } = paymaster;
  const { entryPoint, entryPointVersion } = profile;
  return { paymasterId, chainId, entryPoint, entryPointVersion, codec: mode.codec };
}

/** What is signed for an operation that passes. */
export function draftPayment(
  gathered: TokenFacts & Pick<TokenCase, 'payer'>,
  op: FinalUserOperation,
  terms: TokenTerms,
  now: EpochMs,
): Draft<TokenTerms> {
  const { codec } = gathered.mode;
  const hash = codec.hash(op, terms);
  return {
    promised: toPromised(gathered, op, toStake(gathered, op, terms), now, toDigest(hash)),
    terms,
    toSign: codec.toSign(hash, op, terms),
  };
}

function toStake(
  gathered: TokenFacts & Pick<TokenCase, 'payer'>,
  op: FinalUserOperation,
  terms: TokenTerms,
): Stake {
  const { mode, payer } = gathered;
  const need = mode.codec.need(op, mode.options);
  return {
    mode: 'ERC20',
    contract: mode.contractKey,
    payer,
    token: terms.token,
    need,
    unsecured: maxLost(mode.codec, op, terms, { need, payer }),
  };
}

/** Whether the account may be charged so much. */
function decideMaxCharge({ maxTokenAmount }: TokenCase, charge: bigint): Verdict {
  if (maxTokenAmount === undefined || charge <= maxTokenAmount) return pass;
  return refuse(
    'TOKEN_AMOUNT_TOO_HIGH',
    `the payment may take ${charge} base units, the request allows ${maxTokenAmount}`,
  );
}

/** Throws FEE_TOKEN_REQUIRED, and FEE_TOKEN_UNSUPPORTED for a token that this chain does not serve. */
function decideToken(gathered: TokenCase): Verdict {
  const { feeToken, chain } = gathered;
  if (feeToken === undefined)
    throw new DomainError(
      'FEE_TOKEN_REQUIRED',
      'No tokenInfo.feeTokenAddress is given: the token to pay in.',
    );
  gathered.token = chain.feeTokens.get(feeToken);
  if (gathered.token !== undefined) return pass;
  const served = [...chain.feeTokens.values()].map(({ symbol, address }) => `${symbol} ${address}`);
  throw new DomainError(
    'FEE_TOKEN_UNSUPPORTED',
    `fee token ${feeToken} is not supported; supported: ${served.join(', ') || 'none'}`,
  );
}

/** True when the peek with the least amount already covers this one: the caller gave the limits, and the stake is the same. */
function isCoveredByMinDraft(gathered: TokenCase): boolean {
  const { estimating, minDraft: least, draft } = gathered;
  if (estimating || least === undefined || draft === undefined) return false;
  // Of the same limits and price.
  if (draft.terms.inAdvance === least.terms.inAdvance) return true;
  const unsecured = ({ op, terms }: TokenDraft) => toStake(gathered, op, terms).unsecured;
  return unsecured(draft) === unsecured(least);
}

/** A value that an earlier step has found; later steps do not run without it. */
function needed<T>(found: T | undefined): T {
  if (found === undefined) throw new Error('a step was asked before the one that it needs');
  return found;
}
