import type { Ambient } from '../core/ambient.js';
import type { Chains } from '../core/chain/chain.js';
import type { FollowerLease } from '../core/policy/follower-lease.js';
import { given } from '../core/units/given.js';
import type { UsageRecovery } from '../core/usage/epoch.js';
import type { UsageStore } from '../core/usage/usage-store.js';
import type { TokenAccounts } from './decision/token/token-accounts.js';
import { createFollower, type Follower } from './follower/follower.js';
import { createFundsWatch } from './follower/funds-watch.js';
import type { LossReporter } from './follower/loss-reporter.js';
import type { Recording } from './ledger/recording.js';
import type { Instruments } from './ops/instruments.js';
import type { ServingNotes } from './ops/serving-notes.js';
import type { ConfigView } from './view/config-view.js';

type FollowDeps = Pick<Ambient, 'clock' | 'log'> & {
  readonly usage: UsageStore;
  readonly chains: Chains;
  readonly lease?: FollowerLease;
  readonly recovery?: UsageRecovery;
  readonly pollMs?: number;
  readonly instruments: Instruments;
};

/** The follower of every served chain, with what it reports and records. */
export function followChains(
  deps: FollowDeps,
  view: ConfigView,
  parts: {
    readonly tokenAccounts: TokenAccounts;
    readonly losses: LossReporter | undefined;
    readonly recording: Recording | undefined;
    readonly notes: ServingNotes | undefined;
  },
): Follower {
  const { usage, lease, recovery, pollMs, chains, clock, log, instruments } = deps;
  const { tokenAccounts, losses, recording, notes } = parts;
  return createFollower({
    usage,
    ...given({
      pollMs,
      lease,
      recovery,
      losses,
      onFollowing: notes?.following,
      fundsWatch: notes && createFundsWatch({ usage, board: notes.board, view, clock }),
    }),
    ...(recording === undefined
      ? {}
      : {
          ledger: {
            ...recording,
            organisationOf: (id: string) => view.tenantOf(id) ?? '',
            wallets: (chainId: number) => view.fundingAccounts(chainId),
          },
        }),
    chains,
    chainConfigs: () => Array.from(view.chains(), ({ config }) => config),
    platformAccounts: (chainId) => {
      const chain = view.chain(chainId);
      if (chain === undefined) return [];
      return [...view.defaultFundingAccounts(chainId), ...tokenAccounts.known(chain)];
    },
    clock,
    log,
    instruments,
  });
}
