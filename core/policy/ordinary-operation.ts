/** Gas of an ordinary operation of an account, including its validation. */
export const ordinaryGas = 300_000n;

/**
 * Whether an amount (wei) pays for an ordinary operation at this fee (wei per gas). `wasShort`: it did not before, and then it must pay
 * for two, so that the answer does not follow a swinging fee.
 */
export function coversOrdinary(amount: bigint, fee: bigint, wasShort: boolean): boolean {
  return amount >= (wasShort ? 2n : 1n) * ordinaryGas * fee;
}
