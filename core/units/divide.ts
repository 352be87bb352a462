/** Quotient of non-negative integers, rounded up, because costs round against the payer. */
export function divideUp(dividend: bigint, divisor: bigint): bigint {
  return (dividend + divisor - 1n) / divisor;
}
