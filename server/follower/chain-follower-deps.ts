import type { Ambient } from '../../core/ambient.js';
import type { Chain } from '../../core/chain/chain.js';
import type { ChainConfig } from '../../core/config/chain-config.js';
import type { AccountId } from '../../core/usage/reservation.js';
import type { UsageStore } from '../../core/usage/usage-store.js';
import type { FollowerLedger } from './records.js';

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
