import type { AddressKey } from '../units/address.js';
import type { DecodedHex, Hex } from '../units/hex.js';

/**
 * A parsed user operation, in one shape for all EntryPoints. Hex is lowercase. `initCode` is `factory ++ factoryData`
 * on 0.7+, `0x` when absent. A limit is undefined when the client left it out.
 */
export type UserOperation = {
  readonly sender: AddressKey;
  /** 192-bit key, 64-bit sequence. */
  readonly nonce: bigint;
  readonly initCode: Hex;
  readonly callData: Hex;
  /** The bytes of `callData`, if the caller has decoded them. They count only while `hex` equals `callData`. */
  readonly callDataBytes?: DecodedHex | undefined;
  readonly callGasLimit: bigint | undefined;
  readonly verificationGasLimit: bigint | undefined;
  readonly preVerificationGas: bigint | undefined;
  readonly maxFeePerGas: bigint;
  readonly maxPriorityFeePerGas: bigint;
  readonly signature: Hex;
  /** Limits of the paymaster that the client gave; 0 counts as left out. */
  readonly paymasterGas?: Partial<PaymasterGas>;
  readonly eip7702Auth?: Eip7702Auth;
};

export type Eip7702Auth = {
  readonly address: AddressKey;
  readonly chainId: bigint;
  readonly nonce: bigint;
  readonly r: Hex;
  readonly s: Hex;
  readonly yParity: 0 | 1;
};

export type GasLimits = {
  readonly callGasLimit: bigint;
  readonly verificationGasLimit: bigint;
  readonly preVerificationGas: bigint;
};

/** An operation whose limits are all final: exactly what will be signed. */
export type FinalUserOperation = Omit<UserOperation, keyof GasLimits> & GasLimits;

/** Gas limits of the paymaster; 0 if the EntryPoint has no such limits. */
export type PaymasterGas = {
  readonly paymasterVerificationGasLimit: bigint;
  readonly paymasterPostOpGasLimit: bigint;
};
