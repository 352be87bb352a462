/** Quotient of non-negative integers, rounded up: costs round against the payer. */
export function divideUp(dividend: bigint, divisor: bigint): bigint {
  return (dividend + divisor - 1n) / divisor;
}
