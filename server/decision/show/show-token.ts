import { isDomainError } from '../../../core/errors.js';
import { approvalAllowance, withApproval } from '../../../core/paymaster/token-payment.js';
import { quoteLifeSeconds, renderFeeQuote, type FeeQuote } from '../../../core/pricing/fee-quote.js';
import { formatRefusal, type PriceAnswer } from '../../../core/pricing/price-source.js';
import { chooseTokens, type TokenChoice } from '../../../core/pricing/token-list.js';
import type { FeeTokenSpec } from '../../../core/pricing/fee-token-spec.js';
import type { EpochMs, EpochSeconds } from '../../../core/units/time.js';
import { formatDecimal, formatCoins } from '../../../core/units/wei.js';
import { accountBars } from '../../../core/usage/token-losses.js';
import type { UsageStore } from '../../../core/usage/usage-store.js';
import { dataGasOfApproval } from '../steps/data-fee.js';
import type { TokenModeDeps } from '../token/in-tokens.js';
import type { TokenCase } from '../token/token-case.js';
import { factsInTokens } from '../steps/rules.js';
import type { Trace } from '../run.js';
import {
  showCampaigns,
  showGas,
  showOutcome,
  showPaymaster,
  showRules,
  showShadow,
  showUsage,
} from './show.js';
import { computeMaxCharge } from '../token/token-terms.js';

type ShowTokenDeps = Pick<TokenModeDeps, 'prices' | 'clock'> & {
  readonly usage: Pick<UsageStore, 'counters'>;
};

/** Everything that decides about a payment in tokens. Amounts of coins are decimal text; the name of an amount of tokens says its unit. */
export async function showInTokens(
  deps: ShowTokenDeps,
  gathered: TokenCase,
  trace: Trace,
  choice: TokenChoice,
): Promise<object> {
  const { mode, draft } = gathered;
  return {
    mode: 'ERC20',
    ...showOutcome(trace),
    paymaster: showPaymaster(gathered, mode.contract),
    ...showRules(gathered, factsInTokens(gathered)),
    ...showCampaigns(gathered),
    ...showShadow(gathered),
    tokens: await showTokens(deps, gathered, choice),
    ...showGas(gathered, { gas: mode.gas, maxCost: (op) => mode.codec.need(op, mode.options).entryPoint }),
    ...showFee(deps, gathered),
    secured: draft?.terms.inAdvance === true,
    losses: await showLosses(deps, gathered),
    ...showUsage(gathered),
  };
}

function showToken({ symbol, address, decimals, premiumPercentage = '0' }: FeeTokenSpec): object {
  return { symbol, address, decimals, premiumPercentage };
}

/** The price with its source and age, or the reason why no price may be used. */
function showPrice(token: FeeTokenSpec, answer: PriceAnswer | undefined, now: EpochMs): object {
  if (answer === undefined) return {};
  if (!answer.ok)
    return { refusal: { reason: answer.refusal.reason, detail: formatRefusal(answer.refusal) } };
  const { rate, usdPerNative, observedAt, staleAt, source } = answer.price;
  return {
    price: {
      source,
      tokensPerCoin: formatDecimal(rate, token.decimals),
      exchangeRate: rate.toString(),
      ...(usdPerNative === undefined ? {} : { usdPerCoin: formatDecimal(usdPerNative, 18) }),
      observedAt: new Date(observedAt).toISOString(),
      ageSeconds: Math.max(0, Math.floor((now - observedAt) / 1000)),
      ...(staleAt === undefined ? {} : { staleAt: new Date(staleAt).toISOString() }),
    },
  };
}

/** How `maxGasFee` is computed. Empty without a price to charge, or without one for an operation with an `approve`. */
function showFee({ prices }: Pick<TokenModeDeps, 'prices'>, gathered: TokenCase): object {
  const { token, price, draft, charge, chain } = gathered;
  if (token === undefined || price === undefined || draft === undefined || charge === undefined) return {};
  const dataGas = dataGasOfApproval(gathered, draft.op);
  let quoted: FeeQuote;
  try {
    quoted = renderFeeQuote({
      token,
      price,
      maxCharge: computeMaxCharge(gathered, withApproval(draft.op, dataGas), draft.terms),
      usdPerNative: price.usdPerNative ?? prices.usdPerNative(chain.chainId),
      validUntil: quoteLifeSeconds as EpochSeconds,
    });
  } catch (error) {
    if (isDomainError(error, 'FEE_TOKEN_UNSUPPORTED')) return {};
    throw error;
  }
  const { maxGasFee, maxGasFeeUSD } = quoted;
  return {
    fee: {
      symbol: token.symbol,
      exchangeRate: price.rate.toString(),
      premiumPercentage: token.premiumPercentage ?? '0',
      maxCharge: formatDecimal(charge, token.decimals),
      maxChargeBaseUnits: charge.toString(),
      gasForApproval: {
        callGasLimit: approvalAllowance.callGasLimit.toString(),
        verificationGasLimit: approvalAllowance.verificationGasLimit.toString(),
        preVerificationGas: (approvalAllowance.preVerificationGas + dataGas).toString(),
      },
      maxGasFee,
      ...(maxGasFeeUSD === undefined ? {} : { maxGasFeeUSD }),
    },
  };
}

/** Counters of losses. An account has one counter in each of two windows, and either of them can bar the account. */
async function showLosses({ usage }: ShowTokenDeps, { usage: asked }: TokenCase): Promise<readonly object[]> {
  if (asked === undefined) return [];
  const { bars, key } = asked.request;
  const counters = await usage.counters(key.chainId, bars);
  return bars.map(({ most, window }, index) => ({
    ...(index >= accountBars ? { of: 'contract' } : { of: 'account', account: key.sender }),
    unit: 'ether',
    lost: formatCoins(counters[index]?.used ?? 0),
    budget: formatCoins(most),
    resetsAt: new Date(window.until).toISOString(),
  }));
}

/** The tokens that a quote request would name, in the quote's order, with their prices. */
async function showTokens(
  { prices, clock }: ShowTokenDeps,
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
