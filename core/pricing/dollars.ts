/** Added to the cost, in percent: the price may move between the signature and the block. */
const marginPercent = 1n;

/**
 * Micro-dollars of an amount of the coin, with the margin, rounded up. `usdPerNative`: US dollars per 10^18 wei with 18 implied
 * decimals.
 */
export function microDollars(wei: bigint, usdPerNative: bigint): bigint {
  return divideUp(wei * usdPerNative * (100n + marginPercent), 100n * 10n ** (18n + 12n));
}

function divideUp(value: bigint, by: bigint): bigint {
  return (value + by - 1n) / by;
}
