import type { Ambient } from '../core/ambient.js';
import type { PolicyHosts } from '../core/policy/policy-hosts.js';
import type { Reports } from '../core/policy/reports.js';
import type { UsageStore } from '../core/usage/usage-store.js';
import { createLossReporter, type LossReporter } from './follower/loss-reporter.js';
import { createServingNotes, type ServingNotes } from './ops/serving-notes.js';
import type { ConfigView } from './view/config-view.js';
import { hostNow, limitNow } from './view/served-policies.js';

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
