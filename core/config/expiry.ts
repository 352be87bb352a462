/** How long signed data may be valid, in seconds, when the Chain does not say. */
export const defaultMaxExpirySeconds = 600;

/** The shorter of the Paymaster's and the Chain's `maxExpirySeconds`. */
export function shorterExpiry(
  paymaster: number | undefined,
  chain: number = defaultMaxExpirySeconds,
): number {
  return paymaster === undefined ? chain : Math.min(paymaster, chain);
}
