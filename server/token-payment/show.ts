import { approvalAllowance } from '../../core/paymaster/token-payment.js';
import type { CounterState, ReserveRequest } from '../../core/usage/usage-store.js';
import { quoteLifeSeconds, renderFeeQuote } from '../../core/pricing/fee-quote.js';
import { formatRefusal, type Price, type PriceAnswer } from '../../core/pricing/price-source.js';
import type { FeeTokenSpec } from '../../core/pricing/fee-token-spec.js';
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
export function showLosses(
  { bars, key }: Pick<ReserveRequest, 'bars' | 'key'>,
  counters: readonly CounterState[],
): readonly object[] {
  return bars.map(({ most, window }, index) => ({
    // The last bar is the contract's.
    ...(index === bars.length - 1 ? { of: 'contract' } : { of: 'account', account: key.sender }),
    unit: 'ether',
    lost: coins(counters[index]?.used ?? 0),
    budget: coins(most),
    resetsAt: new Date(window.until).toISOString(),
  }));
}

function coins(gwei: number): string {
  return formatDecimal(BigInt(gwei), 9);
}
