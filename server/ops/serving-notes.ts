import type { Logger } from '../../core/log.js';
import type { PolicyHosts } from '../../core/policy/policy-hosts.js';
import type { Reports } from '../../core/reports/reports.js';
import {
  chainSubject,
  maxEntries,
  priceSubject,
  type FollowingTrouble,
} from '../../core/reports/serving-reports.js';
import type { FeeTokenSpec } from '../../core/pricing/fee-token-spec.js';
import { isForAllUsers } from '../../core/usage/counter-names.js';
import type { LimitShare, ReserveRequest, ReserveResult } from '../../core/usage/reserve-request.js';
import { isFull } from '../../core/usage/units.js';
import type { DecidingUsage, UsageStore } from '../../core/usage/usage-store.js';
import type { Clock } from '../../core/units/time.js';
import { HostHealth, type HostNow } from './host-health.js';
import { ReportBoard } from './report-board.js';

/** A trouble of a chain or a price that is not seen again for this long counts as over. */
const standsMs = 300_000;
const lookEveryMs = 5_000;

export type ServingNotes = ReturnType<typeof createServingNotes>;

/** A limit as it is configured now, in its present window. */
type LimitNow = Pick<LimitShare, 'counter' | 'unit' | 'threshold' | 'window' | 'enforce'>;

type FullLimit = { readonly chainId: number; readonly paymasterId: string };

type ServingNotesDeps = {
  readonly reports: Reports;
  readonly usage: Pick<UsageStore, 'counters'>;
  /** Undefined: the paymaster or the policy is gone. */
  readonly limitNow: (paymasterId: string, policyId: string) => LimitNow | undefined;
  readonly hosts: Pick<PolicyHosts, 'call'>;
  readonly hostNow: HostNow;
  readonly clock: Clock;
  readonly log: Logger;
};

/**
 * Notes problems that keep a paymaster from sponsoring or a chain from being settled, and reports them to the operator as long as they
 * stand. It does not note refusals that depend on the request alone: a limit is full by the amount that it has counted, not because one
 * operation asked for more.
 */
export function createServingNotes(deps: ServingNotesDeps) {
  const { usage, limitNow, clock, log } = deps;
  const board = new ReportBoard(deps);
  const health = new HostHealth({ ...deps, board });
  /** Limits that have refused, by policyId. */
  const full = new Map<string, FullLimit>();
  let timer: NodeJS.Timeout | undefined;
  let looking: Promise<void> = Promise.resolve();

  function noteLimit({ limits, key }: Pick<ReserveRequest, 'limits' | 'key'>, result: ReserveResult): void {
    if (result.outcome !== 'limit' || full.size >= maxEntries) return;
    const share = limits[result.index];
    if (share === undefined || !isForAllUsers(share.counter)) return;
    if (!isFull(share.unit, result.used, share.threshold)) return;
    full.set(share.counter.slice(0, share.counter.indexOf('/')), key);
  }

  /** Judged by the counters and the present config, so a raised threshold, a new window or expired promises end the problem. */
  async function lookAtLimits(): Promise<void> {
    const byChain = Map.groupBy(full, ([, { chainId }]) => chainId);
    for (const [chainId, noted] of byChain) {
      const limits = noted.flatMap(([policyId, { paymasterId }]) => {
        const limit = limitNow(paymasterId, policyId);
        if (limit?.enforce === true) return [{ policyId, limit }];
        forget(policyId);
        return [];
      });
      const asked = limits.map(({ limit: { counter, unit } }) => ({ counter, unit }));
      const counters = await usage.counters(chainId, asked).catch(() => undefined);
      // Other checks say that the store does not answer.
      for (const [index, { used, reserved }] of (counters ?? []).entries()) {
        const { policyId, limit } = limits[index]!;
        if (isFull(limit.unit, used + reserved, limit.threshold))
          board.set(policyId, 'LimitFull', limit.window.until);
        else forget(policyId);
      }
    }
  }

  function forget(policyId: string): void {
    full.delete(policyId);
    board.clear(policyId);
  }

  async function checkAndWrite(): Promise<void> {
    // Nobody handles the rejection of a timer, and reports alone must not end a process.
    for (const part of [lookAtLimits, () => health.look()])
      await part().catch((error: unknown) => log.error('looking at limits or hosts failed', { error }));
    await board.write();
  }

  return {
    /** The same port; also notes refusals by limits that all users share. */
    ofUsage: (port: Pick<DecidingUsage, 'reserve' | 'peek'>): Pick<DecidingUsage, 'reserve' | 'peek'> => ({
      reserve: (request) =>
        port.reserve(request).then((result) => {
          noteLimit(request, result);
          return result;
        }),
      async peek(request) {
        const peeked = await port.peek(request);
        noteLimit(request, peeked.result);
        return peeked;
      },
    }),
    /** The same port; also notes what hosts answer, if the policy refuses operations when they fail. */
    ofWebhooks: (webhooks: Pick<PolicyHosts, 'call'>): Pick<PolicyHosts, 'call'> => ({
      async call(request) {
        const outcomes = await webhooks.call(request);
        // A policy in Shadow refuses nobody.
        if (request.isShadow === true) return outcomes;
        for (const [index, outcome] of outcomes.entries()) {
          const webhook = request.policies[index];
          if (webhook !== undefined && webhook.onError !== 'Allow') health.note(request, webhook, outcome);
        }
        return outcomes;
      },
    }),
    /** Whether the settled block of the chain moves; `trouble`: it does not. */
    following: (chainId: number, trouble: FollowingTrouble | undefined): void => {
      if (trouble === undefined) board.clear(chainSubject(chainId));
      else board.set(chainSubject(chainId), trouble, clock.now() + standsMs);
    },
    /** Whether the last price that was read may be used, or has fallen too far. */
    priceRead: (
      { chainId, address }: Pick<FeeTokenSpec, 'chainId' | 'address'>,
      hasJumped: boolean,
    ): void => {
      if (hasJumped) board.set(priceSubject(chainId, address), 'PriceJump', clock.now() + standsMs);
      else board.clear(priceSubject(chainId, address));
    },
    board,
    /** Looks at everything noted, and reports; never rejects. */
    look: checkAndWrite,
    start(): void {
      timer ??= setInterval(() => {
        looking = looking.then(checkAndWrite);
      }, lookEveryMs).unref();
    },
    async stop(): Promise<void> {
      clearInterval(timer);
      await looking;
    },
  };
}
