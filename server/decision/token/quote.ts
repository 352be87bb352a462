import { refusedError } from '../../../core/refused-error.js';
import { isDomainError } from '../../../core/errors.js';
import { withApproval } from '../../../core/paymaster/token-payment.js';
import { quoteLifeSeconds, renderFeeQuote, type FeeQuote } from '../../../core/pricing/fee-quote.js';
import { requirePrice, type PriceAnswer, type Prices } from '../../../core/pricing/price-source.js';
import { chooseTokens, type TokenChoice } from '../../../core/pricing/token-list.js';
import type { FeeTokenSpec } from '../../../core/pricing/fee-token-spec.js';
import { plusSeconds, toSeconds, type EpochSeconds } from '../../../core/units/time.js';
import type { Estimate, GasEstimator } from '../../../core/userop/estimator.js';
import type { ServedPaymaster } from '../../view/served-paymaster.js';
import {
  decideTokenLimits,
  estimateIfAsked,
  gatherTokenFacts,
  computeMaxCharge,
  toTokenTerms,
  type TokenFacts,
} from './token-terms.js';
import { dataGasOfApproval } from '../steps/data-fee.js';
import type { FactDeps } from '../facts.js';
import type { SponsorRequest } from '../request.js';
import { rulesOfTokens } from '../steps/rules.js';
import { runToRefusal, stepsOfStub } from '../run.js';
import { whenBoth } from '../steps/when-both.js';

type QuoteDeps = FactDeps & { readonly prices: Prices; readonly estimator: GasEstimator };

/** Answer to a request for quotes. */
export type FeeQuotes = {
  /** Contract that the account has to allow to take its tokens. */
  readonly paymasterAddress: string;
  readonly feeQuotes: readonly FeeQuote[];
  /** Requested tokens without a quote, spelled as they were requested. */
  readonly unsupported: readonly { readonly address: string; readonly why: string }[];
};

export type QuoteFees = (
  paymaster: ServedPaymaster,
  request: SponsorRequest,
  choice: TokenChoice,
) => Promise<FeeQuotes>;

/**
 * Quotes the most that an operation, including an `approve` in front of it, may cost in each token. With limits given
 * and prices cached, the quote does not wait for anything. A token without a usable price is listed as unsupported with
 * the reason, never quoted at a doubtful rate. Reserves nothing, signs nothing.
 */
export function createQuote(deps: QuoteDeps): QuoteFees {
  const { prices, estimator, clock } = deps;
  return async (paymaster, request, choice) => {
    const facts = gatherTokenFacts(deps, paymaster, request);
    const running = runToRefusal(rules, facts);
    const outcome = running instanceof Promise ? await running : running;
    if (outcome !== 'stale' && !outcome.pass) throw refusedError(outcome, { isPayer: true });
    const { tokens, unsupported } = chooseTokens(choice, facts.chain.feeTokens);
    const found = whenBoth(
      tokens.length === 0 ? undefined : estimateIfAsked(estimator, facts),
      readPrices(prices, tokens),
      (estimate, answers) => ({ estimate, answers }),
    );
    const { estimate, answers } = found instanceof Promise ? await found : found;
    const now = toSeconds(clock.now());
    const feeQuotes: FeeQuote[] = [];
    const without = unsupported.map((address) => ({ address, why: 'not served on this chain' }));
    tokens.forEach((token, index) => {
      try {
        feeQuotes.push(quoteOne(prices, facts, { token, answer: answers[index], estimate, now }));
      } catch (error) {
        if (!isDomainError(error, 'FEE_TOKEN_UNSUPPORTED')) throw error;
        without.push({ address: findSpelling(choice, token), why: error.message });
      }
    });
    return { paymasterAddress: facts.mode.contract, feeQuotes, unsupported: without };
  };
}

/** The rules of the stub stage: the wallet's user signs only after the quote. */
const rules = stepsOfStub(rulesOfTokens);

/** Synchronous when every price is cached. */
function readPrices(
  prices: Prices,
  tokens: readonly FeeTokenSpec[],
): readonly PriceAnswer[] | Promise<readonly PriceAnswer[]> {
  const warm: PriceAnswer[] = [];
  for (const token of tokens) {
    const answer = prices.peek(token);
    if (answer === undefined) return Promise.all(tokens.map((each) => prices.get(each)));
    warm.push(answer);
  }
  return warm;
}

type Quoted = {
  readonly token: FeeTokenSpec;
  readonly answer: PriceAnswer | undefined;
  readonly estimate: Estimate | undefined;
  readonly now: EpochSeconds;
};

/** Throws FEE_TOKEN_UNSUPPORTED when this token cannot be quoted, SPONSORSHIP_REFUSED when the operation is refused in any token. */
function quoteOne(prices: Prices, facts: TokenFacts, { token, answer, estimate, now }: Quoted): FeeQuote {
  if (answer === undefined) throw new Error(`no answer about the price of ${token.symbol}`);
  const price = requirePrice(token, answer);
  const terms = toTokenTerms(facts, token, price, now);
  const { op, verdict } = decideTokenLimits(facts, terms, estimate);
  if (!verdict.pass) throw refusedError(verdict, { isPayer: true });
  return renderFeeQuote({
    token,
    price,
    maxCharge: computeMaxCharge(facts, withApproval(op, dataGasOfApproval(facts, op)), terms),
    usdPerNative: price.usdPerNative ?? prices.usdPerNative(facts.chain.chainId),
    validUntil: plusSeconds(now, quoteLifeSeconds),
  });
}

/** The address in the caller's spelling, so that a client finds the token that it asked for. */
function findSpelling(
  { preferredToken = '', tokenList = [] }: TokenChoice,
  { address }: FeeTokenSpec,
): string {
  const key = address.toLowerCase();
  return [preferredToken, ...tokenList].find((text) => text.toLowerCase() === key) ?? address;
}
