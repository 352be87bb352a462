import type { Hex } from '../../core/units/hex.js';
import type { BundledOperation } from './chain/operations.js';
import type { Bound } from './limit-kinds.js';
import { specs } from './world.js';

/** A signature that the service gave out, and everything that the rules need to know about it. */
export type Grant = BundledOperation & {
  readonly paymaster: number;
  /** Gwei, rounded up: what it may cost its deposit. */
  readonly cost: number;
  /** Wei that each account may lose to it. */
  readonly needs: readonly { readonly account: string; readonly amount: bigint }[];
  readonly limits: readonly Bound[];
  /** Gwei that are lost if it is mined and pays no token. */
  readonly unsecured: number;
  /** Moment of the grant, Unix seconds. */
  readonly at: number;
};

/** What was reserved for an operation that the signer then failed to sign. `paymasterAndData`: as committed, in two phases. */
export type NeverSigned = Pick<Grant, 'paymaster' | 'op' | 'contract' | 'limits'> & {
  readonly paymasterAndData: Hex | undefined;
};

/** By EntryPoint, account and nonce. */
export function operationOf({ op, contract }: Pick<BundledOperation, 'op' | 'contract'>): string {
  const { entryPoint } = specs.find(({ address }) => address === contract)!;
  return `${entryPoint}/${op.sender}/${op.nonce}`;
}

export function ceilGwei(wei: bigint): number {
  return Number((wei + gweiInWei - 1n) / gweiInWei);
}

const gweiInWei = 1_000_000_000n;
