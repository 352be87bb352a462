import type { AddressKey } from '../units/address.js';
import type { Hex } from '../units/hex.js';
import type { EpochMs } from '../units/time.js';

/**
 * What changed the balance of an account in a settled block: the sum of everything of one kind, and of one paymaster. Balances themselves
 * are recorded too, so that the sums can be compared with the chain.
 *
 * - `mined`: cost of operations that kept a promise, by paymaster. `loss`: the part of it that an account should have paid in tokens and
 *   did not; it is not in `mined`.
 * - `burnt`: what else operations took: those that nobody promised, and what a contract with balances takes above their cost. Negative
 *   where it takes less.
 * - `edge`: the balance after the last block before a month (UTC). `seen`: the balance when a follower began to watch the account.
 */
export type Movement = {
  readonly contract: AddressKey;
  readonly fundingAddress: AddressKey | undefined;
  readonly kind: MovementKind;
  readonly blockNumber: number;
  /** Of a correction: of the operation that was recorded otherwise before; -1: this is about the whole block. */
  readonly logIndex: number;
  /** Time of the block; of an `edge` the begin of the month. */
  readonly at: EpochMs;
  /** Whose paymaster; empty: of nobody, or of one whose config is gone. */
  readonly organisation: string;
  readonly paymasterId: string;
  /** Undefined: no node could show it. */
  readonly amountWei: bigint | undefined;
  /** Number of events or operations; 0 for balances. */
  readonly count: number;
  /** The first one's. */
  readonly transactionHash: Hex | undefined;
};

const movementKinds = ['deposit', 'withdrawal', 'mined', 'burnt', 'loss', 'edge', 'seen'] as const;
export type MovementKind = (typeof movementKinds)[number];

/** Blocks whose movements of a contract and its wallets are recorded, both ends included. */
export type CoveredBlocks = {
  readonly contract: AddressKey;
  readonly fromBlock: number;
  readonly toBlock: number;
};
