/** Seconds for which signed data may be valid where the Chain says nothing. */
export const defaultMaxExpirySeconds = 600;

/** The longest window that a Paymaster's and its Chain's `maxExpirySeconds` leave. */
export function shorterExpiry(
  paymaster: number | undefined,
  chain: number = defaultMaxExpirySeconds,
): number {
  return paymaster === undefined ? chain : Math.min(paymaster, chain);
}
