import type { Logger } from '../../core/log.js';
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

/**
 * A check of a dependency that all replicas share. A process waits for it once, for at most 15 seconds, so that a rollout
 * does not send traffic to replicas that are still connecting. With `unreadyAfterMs` a replica that has been without it for so
 * long takes no traffic: where the others have it, the fault is here.
 */
export function sharedDependency(
  check: Omit<ReadinessCheck, 'isAdvice'>,
  clock: Clock,
  { unreadyAfterMs = Number.POSITIVE_INFINITY }: { readonly unreadyAfterMs?: number } = {},
): ReadinessCheck {
  let answeredAt = clock.now();
  let hasAnswered = false;
  return {
    ...check,
    isReady: async () => {
      const isReady = await check.isReady();
      if (isReady) answeredAt = clock.now();
      hasAnswered ||= isReady;
      return isReady;
    },
    isAdvice: () => {
      const silentMs = clock.now() - answeredAt;
      return (hasAnswered || silentMs >= firstContactMs) && silentMs < unreadyAfterMs;
    },
  };
}

const checkTimeoutMs = 2000;

type Readiness = {
  /** Runs all checks concurrently. Never throws; the reports have the order of the checks. */
  run(): Promise<readonly CheckReport[]>;
};

/** Logs the result of a check only when it changes, since probes and scrapes run the checks every few seconds. */
export function createReadiness(checks: readonly ReadinessCheck[], log: Logger): Readiness {
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
    let timer: NodeJS.Timeout | undefined;
    const timeout = new Promise<'timeout'>((resolve) => {
      timer = setTimeout(resolve, checkTimeoutMs, 'timeout');
    });
    try {
      const result = await Promise.race([Promise.resolve(check.isReady()), timeout]);
      const report =
        result === true
          ? ({ name, ready: true } as const)
          : failed(
              check,
              result === 'timeout'
                ? `did not answer within ${checkTimeoutMs} ms`
                : (check.reason?.() ?? 'not yet'),
            );
      note(report);
      return report;
    } catch (error) {
      // The cause goes to the log: this route is open to anyone who can reach the port.
      const report = failed(check, 'failed, see the log');
      note(report, error);
      return report;
    } finally {
      clearTimeout(timer);
    }
  }

  return { run: () => Promise.all(checks.map(runCheck)) };
}

function failed({ name, action, isAdvice }: ReadinessCheck, reason: string): FailedCheck {
  return { name, ready: false, reason, action, ...(isAdvice?.() === true && { isAdvice: true }) };
}
