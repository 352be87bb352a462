import type { Logger } from '../../core/log.js';
import type { Reports } from '../../core/policy/reports.js';
import type { FeeTokenSpec } from '../../core/pricing/fee-token-spec.js';
import {
  chainSubject,
  mostEntries,
  priceSubject,
  type FollowingTrouble,
  type ServingReport,
} from '../../core/policy/serving-reports.js';
import type { PolicyHosts } from '../../core/policy/policy-hosts.js';
import { isForAllUsers } from '../../core/usage/counter-names.js';
import { isFull } from '../../core/usage/units.js';
import type { ReserveRequest, ReserveResult } from '../../core/usage/reserve-request.js';
import type { UsageStore } from '../../core/usage/usage-store.js';
import type { Clock, EpochMs } from '../../core/units/time.js';

/** A problem that does not occur again for this long counts as over, so a status is written at most twice in this time. */
export const standsMs = 300_000;
const reportEveryMs = 15_000;

export type ServingNotes = ReturnType<typeof createServingNotes>;

/**
 * Notes problems that keep a paymaster from sponsoring or a chain from being settled, and reports them to the operator from time to time. It does not note refusals
 * that depend on the request alone: a limit is full by the amount that it has counted, not because one operation asked for more.
 */
export function createServingNotes(deps: {
  readonly reports: Pick<Reports, 'merge'>;
  readonly clock: Clock;
  readonly log: Logger;
}) {
  const { reports, clock, log } = deps;
  let fresh = new Map<string, ServingReport>();
  const told = new Map<string, ServingReport>();
  let timer: NodeJS.Timeout | undefined;
  let hasFailed = false;
  let reporting: Promise<void> = Promise.resolve();

  function note(policyId: string, trouble: ServingReport['trouble'], end: number): void {
    const now = clock.now();
    const known = told.get(policyId);
    // Reported again when half of its time is over.
    if (known?.trouble === trouble && known.until - now > Math.min(standsMs, end - now) / 2) return;
    fresh.set(policyId, { trouble, until: Math.min(now + standsMs, end) as EpochMs });
  }

  function noteLimit({ limits }: Pick<ReserveRequest, 'limits'>, result: ReserveResult): void {
    if (result.outcome !== 'limit') return;
    const share = limits[result.index];
    if (fresh.size >= mostEntries) return;
    if (share === undefined || !isForAllUsers(share.counter)) return;
    if (!isFull(share.unit, result.used, share.threshold)) return;
    note(share.counter.slice(0, share.counter.indexOf('/')), 'LimitFull', share.window.until);
  }

  async function report(): Promise<void> {
    if (fresh.size === 0) return;
    const entries = fresh;
    fresh = new Map();
    const now = clock.now();
    for (const [policyId, { until }] of told) if (until <= now) told.delete(policyId);
    try {
      await reports.merge('serving', entries);
      for (const [policyId, entry] of entries) told.set(policyId, entry);
      hasFailed = false;
    } catch (error) {
      // Logged once; a problem that occurs again is noted again.
      if (!hasFailed) log.warn('reporting full limits and failing webhooks failed', { error });
      hasFailed = true;
    }
  }

  return {
    /** The same port; also notes refusals by limits that all users share. */
    ofUsage: (usage: Pick<UsageStore, 'reserve' | 'peek'>): Pick<UsageStore, 'reserve' | 'peek'> => ({
      async reserve(request) {
        const result = await usage.reserve(request);
        noteLimit(request, result);
        return result;
      },
      async peek(request) {
        const peeked = await usage.peek(request);
        noteLimit(request, peeked.result);
        return peeked;
      },
    }),
    /** The same port; also notes a failing host if the policy refuses operations because of it. */
    ofWebhooks: (webhooks: Pick<PolicyHosts, 'call'>): Pick<PolicyHosts, 'call'> => ({
      async call(request) {
        const outcomes = await webhooks.call(request);
        // It keeps nobody from being served.
        if (request.isShadow === true) return outcomes;
        for (const [index, { verdict }] of outcomes.entries()) {
          const webhook = request.policies[index];
          const isFailing = verdict === 'failed' && webhook?.onError !== 'Allow' && fresh.size < mostEntries;
          if (isFailing && webhook !== undefined) note(webhook.policyId, 'WebhookFailing', Infinity);
        }
        return outcomes;
      },
    }),
    /** The settled block of the chain does not move. */
    notFollowed: (chainId: number, trouble: FollowingTrouble): void =>
      note(chainSubject(chainId), trouble, Infinity),
    /** The price has fallen too far to be accepted. */
    priceJumped: ({ chainId, address }: Pick<FeeTokenSpec, 'chainId' | 'address'>): void =>
      note(priceSubject(chainId, address), 'PriceJump', Infinity),
    /** Reports new notes; never rejects. */
    report,
    start(): void {
      timer ??= setInterval(() => {
        reporting = reporting.then(report);
      }, reportEveryMs).unref();
    },
    async stop(): Promise<void> {
      clearInterval(timer);
      await reporting;
    },
  };
}
