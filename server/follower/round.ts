import type { Ambient } from '../../core/ambient.js';
import type { Chain } from '../../core/chain/chain.js';
import type { ChainConfig } from '../../core/config/chain-config.js';
import type { AddressKey } from '../../core/units/address.js';
import type { Cursor } from '../../core/usage/follower-step.js';
import type { AccountId } from '../../core/usage/reservation.js';
import type { UsageStore } from '../../core/usage/usage-store.js';
import type { RecordIds } from '../ledger/record-ids.js';

/** What one round has done. Undefined cursor: nothing was due, or another follower was faster. */
export type Round = {
  readonly cursor: Cursor | undefined;
  readonly settled: number;
  readonly released: number;
  /** Reservations whose nonce is used and whose event was not found: limits keep the maximum. */
  readonly forfeited: number;
  /** Operations in mode ERC20 that paid no token. */
  readonly unpaid: number;
  /** Gwei that they cost, by contract; 0 for contracts that take tokens and lost nothing. */
  readonly lost: ReadonlyMap<AddressKey, number>;
  /** Operations that our contracts paid for and nobody here has promised. */
  readonly unattributed: number;
  /** Operations that it settled without what no node has shown about them. */
  readonly passedOver: number;
  /** Operations that wait because no node shows what is needed to settle them. Undefined: as after the round before. */
  readonly unread?: number;
  /** Reservations of removed blocks that are live again. */
  readonly restored: number;
  /** Actual gas cost of the operations that it settled, in gwei by paymasterId; each operation once. */
  readonly spent: ReadonlyMap<string, number>;
  /** The settled block, while the node does not show whether it is still in the chain: the follower waits until it does. */
  readonly waitsAt?: Cursor | undefined;
  /** False when one step was not enough: the next round is due at once. */
  readonly isComplete: boolean;
};

export const idle: Round = {
  cursor: undefined,
  settled: 0,
  released: 0,
  forfeited: 0,
  unpaid: 0,
  unattributed: 0,
  passedOver: 0,
  restored: 0,
  lost: new Map(),
  spent: new Map(),
  isComplete: true,
};

/** Where a follower gets what it cannot read from the chain. */
export type FollowerLedger = {
  readonly ids: RecordIds;
  /** The tenant of a paymaster; '' when its config is gone. */
  readonly organisationOf: (paymasterId: string) => string;
  /** Balances inside the contracts of a chain that may pay for its paymasters: their movements are recorded. Default: none. */
  readonly wallets?: (chainId: number) => readonly AccountId[];
};

export type ChainFollowerDeps = Pick<Ambient, 'clock' | 'log'> & {
  readonly usage: Pick<
    UsageStore,
    | 'now'
    | 'reservations'
    | 'cursor'
    | 'advance'
    | 'takenSteps'
    | 'addBalance'
    | 'accounts'
    | 'forgetAccounts'
    | 'setSuspended'
  >;
  readonly chainId: number;
  /** The config that is served now, its connection, and other connections to the same chain if there are any. */
  readonly current: () => {
    readonly config: ChainConfig;
    readonly chain: Chain;
    readonly elsewhere?: (attempt: number) => Chain;
  };
  /** The platform's wallets, which are followed even without live promises. */
  readonly platformAccounts: () => readonly AccountId[];
  /** What records for the ledger need. Absent: nothing is recorded. */
  readonly ledger?: FollowerLedger;
  /** How long a step waits for events of balances without an answer, in ms. Default 15,000. */
  readonly patienceMs?: number;
};
