import type { Reports } from '../../core/reports/reports.js';
import type { HostOutcome, HostPolicy, HostRequest, PolicyHosts } from '../../core/policy/policy-hosts.js';
import { maxEntries } from '../../core/reports/serving-reports.js';
import type { Clock, EpochMs } from '../../core/units/time.js';
import { sampleOperation } from '../http/test-delivery.js';
import type { ReportBoard } from './report-board.js';

/** A host that gave no answer for so long while it was asked is failing; from then on it is asked by us, once in this time. */
const patienceMs = 60_000;
/** What other replicas say is read so often while hosts answer here. */
const compareMs = 15_000;
const probesAtOnce = 8;

/** Who uses a host, and how it is asked now; undefined: no such policy asks any longer. */
export type HostNow = (
  paymasterId: string,
  policyId: string,
) => { readonly organisation: string; readonly policy: HostPolicy } | undefined;

type HostHealthDeps = {
  readonly hosts: Pick<PolicyHosts, 'call'>;
  readonly hostNow: HostNow;
  readonly reports: Pick<Reports, 'all'>;
  readonly board: ReportBoard;
  readonly clock: Clock;
};

type Silent = {
  readonly paymasterId: string;
  readonly url: string;
  /** Of the first failure since its last answer. */
  readonly since: EpochMs;
  askedAt: EpochMs;
};

/**
 * Which hosts of policies fail, of those that refuse then. One failure says nothing, and anybody could cause it: a host fails when it
 * was asked for a minute and gave no answer to any replica. A host that answers again shows when it is asked again, by a request or by us.
 */
export class HostHealth {
  readonly #deps: HostHealthDeps;
  readonly #silent = new Map<string, Silent>();
  readonly #answered = new Map<string, EpochMs>();
  #comparedAt = Number.NEGATIVE_INFINITY;

  constructor(deps: HostHealthDeps) {
    this.#deps = deps;
  }

  note(
    { paymasterId }: Pick<HostRequest, 'paymasterId'>,
    { policyId, url }: HostPolicy,
    outcome: HostOutcome,
  ): void {
    const now = this.#deps.clock.now();
    if (isAnswer(outcome)) {
      if (this.#silent.delete(policyId)) this.#deps.board.clear(policyId);
      if (this.#answered.has(policyId) || this.#answered.size < maxEntries) this.#answered.set(policyId, now);
    } else if (outcome.verdict === 'failed') {
      const known = this.#silent.get(policyId);
      if (known?.url === url) known.askedAt = now;
      else if (known !== undefined || this.#silent.size < maxEntries)
        this.#silent.set(policyId, { paymasterId, url, since: now, askedAt: now });
    }
  }

  /** Asks hosts that have been silent for too long. */
  async look(): Promise<void> {
    const now = this.#deps.clock.now();
    const late = [...this.#silent].filter(([, { since }]) => now - since >= patienceMs);
    const queue = late.values();
    await Promise.all(
      Array.from({ length: Math.min(probesAtOnce, late.length) }, async () => {
        for (const [policyId, silent] of queue) await this.#judge(policyId, silent, now);
      }),
    );
    await this.#compare(now);
  }

  async #judge(policyId: string, silent: Silent, now: EpochMs): Promise<void> {
    const { board, hostNow } = this.#deps;
    const host = hostNow(silent.paymasterId, policyId);
    if (host === undefined || host.policy.url !== silent.url) {
      this.#silent.delete(policyId);
      return board.clear(policyId);
    }
    if (now - silent.askedAt >= patienceMs) {
      silent.askedAt = now;
      const outcome = await this.#probe(silent.paymasterId, host);
      if (outcome !== undefined) this.note(silent, host.policy, outcome);
    }
    if (this.#silent.has(policyId)) board.set(policyId, 'WebhookFailing', Infinity);
  }

  async #probe(
    paymasterId: string,
    { organisation, policy }: NonNullable<ReturnType<HostNow>>,
  ): Promise<HostOutcome | undefined> {
    const request = { paymasterId, organisation, policies: [policy], data: {}, userOp: sampleOperation };
    try {
      return (await this.#deps.hosts.call({ ...request, requestId: 'probe', isTest: true }))[0];
    } catch {
      // We are too busy, or stop: that says nothing of the host.
      return undefined;
    }
  }

  /** Hosts that answer here, and not to another replica. */
  async #compare(now: EpochMs): Promise<void> {
    for (const [policyId, at] of this.#answered) if (now - at >= patienceMs) this.#answered.delete(policyId);
    if (this.#answered.size === 0 || now - this.#comparedAt < compareMs) return;
    this.#comparedAt = now;
    try {
      for (const [policyId, { trouble }] of await this.#deps.reports.all('serving')) {
        const at = this.#answered.get(policyId);
        if (at !== undefined && (trouble === 'WebhookFailing' || trouble === 'WebhookAnswers'))
          this.#deps.board.set(policyId, 'WebhookAnswers', at + patienceMs);
      }
    } catch {
      // Shown by other checks; the next look asks again.
    }
  }
}

/** Not one where the data of the caller could not be sent: the host was not asked. */
function isAnswer(outcome: HostOutcome): boolean {
  return outcome.verdict === 'verified' || (outcome.verdict === 'refused' && outcome.detail === undefined);
}
