import { approvalAllowance } from '../../core/paymaster/token-payment.js';
import { countsPromises } from '../../core/policy/token-loss.js';
import type { LimitShare, PeekResult } from '../../core/policy/usage-store.js';
import { quoteLifeSeconds, renderFeeQuote } from '../../core/pricing/fee-quote.js';
import { formatRefusal, type Price, type PriceAnswer } from '../../core/pricing/price-source.js';
import type { FeeTokenSpec } from '../../core/resources/fee-token.js';
import type { EpochMs, EpochSeconds } from '../../core/units/time.js';
import { formatDecimal } from '../../core/units/wei.js';

// The parts of an explanation of mode ERC20, for people. Nothing here decides.

export function showToken({ symbol, address, decimals, premiumPercentage = '0' }: FeeTokenSpec): object {
  return { symbol, address, decimals, premiumPercentage };
}

/** The price with its source and age, or why there is none that may be used. */
export function showPrice(token: FeeTokenSpec, answer: PriceAnswer | undefined, now: EpochMs): object {
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

export type Fee = {
  readonly token: FeeTokenSpec;
  readonly price: Price;
  /** Token base units: of the operation as it stands, and with an `approve` in front. */
  readonly charge: { readonly most: bigint; readonly withApproval: bigint };
  readonly usdPerNative: bigint | undefined;
};

/** How `maxGasFee` comes about. */
export function showFee({ token, price, charge, usdPerNative }: Fee): object {
  const { maxGasFee, maxGasFeeUSD } = renderFeeQuote({
    token,
    price,
    maxCharge: charge.withApproval,
    usdPerNative,
    validUntil: quoteLifeSeconds as EpochSeconds,
  });
  return {
    symbol: token.symbol,
    exchangeRate: price.rate.toString(),
    premiumPercentage: token.premiumPercentage ?? '0',
    maxCharge: formatDecimal(charge.most, token.decimals),
    maxChargeBaseUnits: charge.most.toString(),
    gasForApproval: {
      callGasLimit: approvalAllowance.callGasLimit.toString(),
      verificationGasLimit: approvalAllowance.verificationGasLimit.toString(),
      preVerificationGas: approvalAllowance.preVerificationGas.toString(),
    },
    maxGasFee,
    ...(maxGasFeeUSD === undefined ? {} : { maxGasFeeUSD }),
  };
}

/** Counters of losses, in coins; those of one account in two windows, of which each bars it. */
export function showLosses(shares: readonly LimitShare[], counters: PeekResult['limits']): readonly object[] {
  return shares.flatMap((share, index) => {
    const counter = counters[index];
    if (counter === undefined || countsPromises(share)) return [];
    const { subject, threshold } = share;
    return {
      of: subject === '' ? 'contract' : 'account',
      ...(subject === '' ? {} : { account: subject }),
      lost: coins(counter.used),
      budget: coins(threshold),
      resetsAt: new Date(counter.resetsAt).toISOString(),
    };
  });
}

/** What operations of the account that are not mined yet may cost, in coins; none of them is this one. */
export function showUnderWay(shares: readonly LimitShare[], counters: PeekResult['limits']): object {
  const index = shares.findIndex(countsPromises);
  const [share, counter] = [shares[index], counters[index]];
  if (share === undefined || counter === undefined) return {};
  return {
    underWay: { account: share.subject, promised: coins(counter.used), budget: coins(share.threshold) },
  };
}

function coins(gwei: number): string {
  return formatDecimal(BigInt(gwei), 9);
}
