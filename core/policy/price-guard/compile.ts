import type { GasCaps } from '../../resources/paymaster.js';

/** Caps in force for one paymaster; undefined fees follow the network. */
export type PriceGuard = {
  /** Wei; undefined: max(3 × base fee, 50 gwei). */
  readonly maxFeePerGas: bigint | undefined;
  /** Wei; undefined: max(3 × the network's tip, 3 gwei). */
  readonly maxPriorityFeePerGas: bigint | undefined;
  readonly maxCallGasLimit: bigint;
  readonly maxVerificationGasLimit: bigint;
  /** Undefined: max(200,000, 2 × our own figure). */
  readonly maxPreVerificationGas: bigint | undefined;
};

const defaultGasLimitCaps = { callGasLimit: 10_000_000n, verificationGasLimit: 5_000_000n } as const;

/** Each cap is the paymaster's, else the chain's, else the default. */
export function compilePriceGuard(paymaster: GasCaps, chain: GasCaps): PriceGuard {
  return {
    maxFeePerGas: integer(paymaster.maxFeePerGas ?? chain.maxFeePerGas),
    maxPriorityFeePerGas: integer(paymaster.maxPriorityFeePerGas ?? chain.maxPriorityFeePerGas),
    maxCallGasLimit:
      integer(paymaster.maxCallGasLimit ?? chain.maxCallGasLimit) ?? defaultGasLimitCaps.callGasLimit,
    maxVerificationGasLimit:
      integer(paymaster.maxVerificationGasLimit ?? chain.maxVerificationGasLimit) ??
      defaultGasLimitCaps.verificationGasLimit,
    maxPreVerificationGas: integer(paymaster.maxPreVerificationGas ?? chain.maxPreVerificationGas),
  };
}

function integer(value: string | number | undefined): bigint | undefined {
  return value === undefined ? undefined : BigInt(value);
}
