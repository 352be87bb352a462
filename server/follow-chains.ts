import type { Ambient } from '../core/ambient.js';
import type { Chains } from '../core/chain/chain.js';
import type { FollowerLease } from '../core/usage/follower-lease.js';
import type { PolicyHosts } from '../core/policy/policy-hosts.js';
import type { Reports } from '../core/reports/reports.js';
import { given } from '../core/units/given.js';
import type { UsageRecovery } from '../core/usage/epoch.js';
import type { UsageStore } from '../core/usage/usage-store.js';
import type { TokenAccounts } from './decision/token/token-accounts.js';
import { createFollower, type Follower } from './follower/follower.js';
import { createFundsWatch } from './follower/funds-watch.js';
import { createLossReporter, type LossReporter } from './follower/loss-reporter.js';
import type { Recording } from './ledger/recording.js';
import type { Instruments } from './ops/instruments.js';
import { createServingNotes, type ServingNotes } from './ops/serving-notes.js';
import type { ConfigView } from './view/config-view.js';
import { hostNow, limitNow } from './view/served-paymaster.js';

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

/** Collects why paymasters do not sponsor: full limits and failing hosts, of the served config. */
export function noteServing(
  {
    usage,
    webhooks: hosts,
    clock,
    log,
  }: Pick<Ambient, 'clock' | 'log'> & {
    readonly usage: Pick<UsageStore, 'now' | 'counters'>;
    readonly webhooks: Pick<PolicyHosts, 'call'>;
  },
  view: Pick<ConfigView, 'served'>,
  reports: Reports,
): ServingNotes {
  return createServingNotes({
    reports,
    usage,
    hosts,
    limitNow: (paymasterId, policyId) => limitNow(view.served(paymasterId), policyId, usage.now()),
    hostNow: (paymasterId, policyId) => hostNow(view.served(paymasterId), policyId),
    clock,
    log,
  });
}

/** Tells the operator of losses of token modes; undefined where nobody takes reports. */
export function reportLosses(
  {
    usage,
    reports,
    clock,
    log,
  }: Pick<Ambient, 'clock' | 'log'> & {
    readonly usage: Parameters<typeof createLossReporter>[0]['usage'];
    readonly reports?: Reports;
  },
  view: Pick<ConfigView, 'chain'>,
): LossReporter | undefined {
  if (reports === undefined) return undefined;
  return createLossReporter({ usage, reports, chain: (chainId) => view.chain(chainId), clock, log });
}
