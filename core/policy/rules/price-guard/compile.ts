import type { GasCaps } from './gas-caps.js';

/**
 * A cap whose default follows the network or the operation. `platform` is the Chain's figure; undefined when the
 * default counts. `own` is the Paymaster's, which can only tighten it.
 */
type FloatingCap = { readonly platform: bigint | undefined; readonly own: bigint | undefined };

/** Caps in force for one paymaster. */
export type PriceGuard = {
  /** Wei. Default: max(3 × base fee, 50 gwei). */
  readonly maxFeePerGas: FloatingCap;
  /** Wei. Default: max(3 × the network's tip, 3 gwei, minPriorityFeePerGas). */
  readonly maxPriorityFeePerGas: FloatingCap;
  /** Wei. What the chain asks for at least; 0: nothing. */
  readonly minPriorityFeePerGas: bigint;
  readonly maxCallGasLimit: bigint;
  readonly maxVerificationGasLimit: bigint;
  /** Bounds verificationGasLimit of an operation with initCode. */
  readonly maxDeploymentGas: bigint;
  /** Default: max(200,000, 2 × our own figure). */
  readonly maxPreVerificationGas: FloatingCap;
  /** Bounds the sum of the three limits. */
  readonly maxOperationGas: bigint;
  /** Wei. Default: max(0.001 coins, 150,000 × base fee). */
  readonly maxUnusedGasFee: FloatingCap;
};

/** What the platform allows if the Chain does not say; for floating caps, the minimum. */
export const platformCaps = {
  maxFeePerGas: 50_000_000_000n,
  maxPriorityFeePerGas: 3_000_000_000n,
  maxCallGasLimit: 10_000_000n,
  maxVerificationGasLimit: 5_000_000n,
  maxDeploymentGas: 1_000_000n,
  maxPreVerificationGas: 200_000n,
  // No chain has blocks of this size: it bounds nothing.
  maxOperationGas: 3_000_000_000n,
  maxUnusedGasFee: 1_000_000_000_000_000n,
} as const satisfies Readonly<Record<keyof GasCaps, bigint>>;

/**
 * Each cap is the chain's, else the default; or the paymaster's if that is lower. Only the chain can raise a default.
 */
export function compilePriceGuard(
  paymaster: GasCaps,
  chain: GasCaps,
  minPriorityFeePerGas?: string,
): PriceGuard {
  const floating = (name: keyof GasCaps): FloatingCap => ({
    platform: integer(chain[name]),
    own: integer(paymaster[name]),
  });
  const fixed = (name: keyof GasCaps): bigint => chooseCap(floating(name), platformCaps[name]);
  return {
    maxFeePerGas: floating('maxFeePerGas'),
    maxPriorityFeePerGas: floating('maxPriorityFeePerGas'),
    minPriorityFeePerGas: integer(minPriorityFeePerGas) ?? 0n,
    maxCallGasLimit: fixed('maxCallGasLimit'),
    maxVerificationGasLimit: fixed('maxVerificationGasLimit'),
    maxDeploymentGas: fixed('maxDeploymentGas'),
    maxPreVerificationGas: floating('maxPreVerificationGas'),
    maxOperationGas: fixed('maxOperationGas'),
    maxUnusedGasFee: floating('maxUnusedGasFee'),
  };
}

/** The cap in force; `floating` is the current value of the default. */
export function chooseCap({ platform, own }: FloatingCap, floating: bigint): bigint {
  const highest = platform ?? floating;
  return own !== undefined && own < highest ? own : highest;
}

function integer(value: string | number | undefined): bigint | undefined {
  return value === undefined ? undefined : BigInt(value);
}
