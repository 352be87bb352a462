import type { Logger } from '../../core/log.js';
import type { Clock } from '../../core/units/time.js';

/**
 * One thing that is looked at before and while a replica takes traffic, with what an operator should do while it fails.
 * Readiness is about the process: what all replicas share (usage store, chains, API server) must not take all of them out of
 * a Service at once, because clients then get no answer at all instead of one that says what is wrong.
 */
export type ReadinessCheck = {
  /** Short and fixed, e.g. `configs-synced`: it is a metric label. */
  readonly name: string;
  /** What to look at or to change; shown only while the check fails. */
  readonly action: string;
  /** Throwing, or taking longer than {@link checkTimeoutMs}, is a failure. */
  readonly isReady: () => boolean | Promise<boolean>;
  /** True: a failure is told, and the replica takes traffic all the same. Default: it takes none. */
  readonly isAdvice?: () => boolean;
};

export type CheckReport = { readonly name: string; readonly ready: true } | FailedCheck;

type FailedCheck = {
  readonly name: string;
  readonly ready: false;
  readonly reason: string;
  readonly action: string;
  readonly isAdvice?: true;
};

/** True when nothing fails but what is advice only. */
export function isReadyFor(reports: readonly CheckReport[]): boolean {
  return reports.every((report) => report.ready || report.isAdvice === true);
}

/** A failure never keeps traffic away. */
export const always = (): true => true;

/** How long a process that has just started waits for what it shares with others before it takes traffic without. */
const firstContactMs = 15_000;

/**
 * A dependency that all replicas share. It is waited for once, for 15 seconds at most, so that a rollout does not send
 * traffic to replicas that are still connecting.
 */
export function sharedDependency(check: Omit<ReadinessCheck, 'isAdvice'>, clock: Clock): ReadinessCheck {
  const since = clock.now();
  let hasAnswered = false;
  return {
    ...check,
    isReady: async () => {
      const isReady = await check.isReady();
      hasAnswered ||= isReady;
      return isReady;
    },
    isAdvice: () => hasAnswered || clock.now() - since >= firstContactMs,
  };
}

const checkTimeoutMs = 2000;

export type Readiness = {
  /** Runs all checks at once. Never throws; the order of the reports is the order of the checks. */
  run(): Promise<readonly CheckReport[]>;
};

/** Logs what a check found when that changes, not at every look: probes and scrapes ask every few seconds. */
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
          : failed(check, result === 'timeout' ? `did not answer within ${checkTimeoutMs} ms` : 'not yet');
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
