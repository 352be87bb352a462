import { inTime } from '../../adapters/within-deadline.js';
import { unlessUnavailable } from '../../core/errors.js';
import type { Logger } from '../../core/log.js';
import { confirmEveryMs, missedAfterMs, type ReleaseFacts } from '../../core/release-facts.js';
import type { Clock } from '../../core/units/time.js';

/**
 * One check before and while a replica takes traffic, with what an operator should do while it fails. Readiness is about
 * the process. A dependency that all replicas share (usage store, chains, API server) must not take all of them out of a
 * Service at once: clients would then get no answer at all, instead of one that says what is wrong.
 */
export type ReadinessCheck = {
  /** Short and fixed, e.g. `configs-synced`: it is a metric label. */
  readonly name: string;
  /** What the operator should look at or change; shown only while the check fails. */
  readonly action: string;
  /** Why the check fails, for anybody who can reach the port. Default: that it fails, without a reason. */
  readonly reason?: () => string;
  /** A throw, or taking longer than {@link checkTimeoutMs}, counts as a failure. */
  readonly isReady: () => boolean | Promise<boolean>;
  /** True: a failure is reported, but the replica still takes traffic. Default: it takes none. */
  readonly isAdvice?: () => boolean;
};

export type CheckReport = { readonly name: string; readonly ready: true } | FailedCheck;

export type FailedCheck = {
  readonly name: string;
  readonly ready: false;
  readonly reason: string;
  readonly action: string;
  readonly isAdvice?: true;
};

/** True when every failing check is advice only. */
export function isReadyFor(reports: readonly CheckReport[]): boolean {
  return reports.every((report) => report.ready || report.isAdvice === true);
}

/** For `isAdvice`: a failure never keeps traffic away. */
export const always = (): true => true;

/** How long a new process waits for a shared dependency before it takes traffic without it. */
const firstContactMs = 15_000;

type SharedDependencyOptions = {
  /** Where the others have the dependency, the fault is here. Default: a replica never stops taking traffic. */
  readonly unreadyAfterMs?: number;
  /** The dependency as this process addresses it. Default: every process of the installation uses the same. */
  readonly known?: { readonly facts: ReleaseFacts; readonly name: string };
};

/**
 * A check of a dependency that all replicas share. A process waits for it once, for at most 15 seconds: a rollout then sends no traffic
 * to replicas that are still connecting, and a process that was restarted while the dependency is away still answers what is wrong. A
 * process whose dependency nobody of the release has ever reached, such as one with a misspelt name, waits until it has reached it: it
 * must not replace one that works.
 */
export function sharedDependency(
  check: Omit<ReadinessCheck, 'isAdvice'>,
  clock: Clock,
  { unreadyAfterMs = Number.POSITIVE_INFINITY, known }: SharedDependencyOptions = {},
): ReadinessCheck {
  let answeredAt = clock.now();
  let hasAnswered = false;
  let wasReached = known === undefined;
  return {
    ...check,
    isReady: async () => {
      let isReady = false;
      try {
        isReady = await check.isReady();
      } finally {
        if (!isReady && !hasAnswered && !wasReached && known !== undefined)
          wasReached = (await unlessUnavailable(known.facts.lastHad([known.name]))) !== undefined;
      }
      if (!isReady) return false;
      answeredAt = clock.now();
      hasAnswered = true;
      known?.facts.confirm([known.name]);
      return true;
    },
    isAdvice: () => {
      const silentMs = clock.now() - answeredAt;
      return (hasAnswered || (wasReached && silentMs >= firstContactMs)) && silentMs < unreadyAfterMs;
    },
  };
}

/**
 * Whether this process has mounted what other pods of the release have: false while it lacks something that one of them had within the
 * last quarter of an hour. Once it was true it stays true, because a file that is removed later is removed from all pods.
 */
export function createMountCheck(
  mounted: () => Promise<{ readonly here: readonly string[]; readonly missing: readonly string[] }>,
  { facts, clock }: { readonly facts: ReleaseFacts; readonly clock: Clock },
): () => Promise<boolean> {
  let isComplete = false;
  let confirmedAt = Number.NEGATIVE_INFINITY;
  return async () => {
    const now = clock.now();
    if (isComplete && now - confirmedAt < confirmEveryMs) return true;
    const { here, missing } = await mounted();
    const hadAt = isComplete || missing.length === 0 ? undefined : await facts.lastHad(missing);
    if (hadAt !== undefined && now - hadAt < missedAfterMs) return false;
    isComplete = true;
    confirmedAt = now;
    facts.confirm(here);
    return true;
  };
}

const checkTimeoutMs = 2000;

/** Logs the result of a check only when it changes, since probes and scrapes run the checks every few seconds. */
export function createReadiness(checks: readonly ReadinessCheck[], log: Logger) {
  const failing = new Set<string>();

  function note({ name, ready }: CheckReport, error?: unknown): void {
    if (ready === !failing.has(name)) return;
    if (ready) {
      failing.delete(name);
      log.info('check passes again', { check: name });
      return;
    }
    failing.add(name);
    log.warn('check fails', { check: name, ...(error === undefined ? {} : { error }) });
  }

  async function runCheck(check: ReadinessCheck): Promise<CheckReport> {
    const { name } = check;
    const late = new Error(`did not answer within ${checkTimeoutMs} ms`);
    try {
      const isReady = await inTime(checkTimeoutMs, Promise.resolve(check.isReady()), () => late);
      const report: CheckReport = isReady
        ? { name, ready: true }
        : failed(check, check.reason?.() ?? 'not yet');
      note(report);
      return report;
    } catch (error) {
      // The cause goes to the log: this route is open to anyone who can reach the port.
      const report = failed(check, error === late ? late.message : 'failed, see the log');
      note(report, error === late ? undefined : error);
      return report;
    }
  }

  /** Runs all checks concurrently. Never throws; the reports have the order of the checks. */
  return (): Promise<readonly CheckReport[]> => Promise.all(checks.map(runCheck));
}

function failed({ name, action, isAdvice }: ReadinessCheck, reason: string): FailedCheck {
  return { name, ready: false, reason, action, ...(isAdvice?.() === true && { isAdvice: true }) };
}
