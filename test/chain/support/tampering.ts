import type { Hex } from '../../../core/units/hex.js';
import type { FinalUserOperation } from '../../../core/entry-point/user-operation.js';

/** One change of something that the paymaster's signature covers. */
export type Tampering<Terms> = {
  readonly name: string;
  /** Changed after the paymaster signed; the account signs again, so that only the paymaster's signature can notice. */
  readonly op?: (op: FinalUserOperation) => Partial<FinalUserOperation>;
  /** Changed bytes of the data, with the paymaster's signature of the original. */
  readonly terms?: (terms: Terms) => Partial<Terms>;
  readonly data?: (data: Hex) => Hex;
  readonly layouts?: RegExp;
};

/** Changes that the signature of either mode notices. */
export const changedOperations = [
  { name: 'callGasLimit', op: (op) => ({ callGasLimit: op.callGasLimit + 1n }) },
  { name: 'verificationGasLimit', op: (op) => ({ verificationGasLimit: op.verificationGasLimit + 1n }) },
  { name: 'preVerificationGas', op: (op) => ({ preVerificationGas: op.preVerificationGas + 1n }) },
  { name: 'maxFeePerGas', op: (op) => ({ maxFeePerGas: op.maxFeePerGas + 1n }) },
  { name: 'maxPriorityFeePerGas', op: (op) => ({ maxPriorityFeePerGas: op.maxPriorityFeePerGas + 1n }) },
  { name: 'the key of the nonce', op: () => ({ nonce: 1n << 64n }) },
  { name: 'paymasterVerificationGasLimit', data: (data) => raised(data, 20, 16), layouts: /2\.x|0\.[789]/ },
  { name: 'paymasterPostOpGasLimit', data: (data) => raised(data, 36, 16), layouts: /2\.x|0\.[789]/ },
] as const satisfies readonly Tampering<never>[];

/** The data with one added to the number of `width` bytes at `offset`. */
export function raised(data: Hex, offset: number, width: number): Hex {
  const start = 2 + offset * 2;
  const value = BigInt(`0x${data.slice(start, start + width * 2)}`) + 1n;
  return `0x${data.slice(2, start)}${value.toString(16).padStart(width * 2, '0')}${data.slice(start + width * 2)}`;
}
