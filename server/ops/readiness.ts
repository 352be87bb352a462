import type { Logger } from '../../core/log.js';

/** One condition for taking traffic, with what an operator should do while it does not hold. */
export type ReadinessCheck = {
  /** Short and fixed, e.g. `configs-synced`: it is a metric label. */
  readonly name: string;
  /** What to look at or to change; shown only while the check fails. */
  readonly action: string;
  /** Throwing, or taking longer than {@link checkTimeoutMs}, is a failure. */
  readonly isReady: () => boolean | Promise<boolean>;
  /** It is told, but the replica takes traffic all the same: another one would answer no better. */
  readonly isAdvice?: true;
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

const checkTimeoutMs = 2000;

/** Runs all checks at once. Never throws; the order of the reports is the order of the checks. */
export function runChecks(checks: readonly ReadinessCheck[], log: Logger): Promise<readonly CheckReport[]> {
  return Promise.all(checks.map((check) => runCheck(check, log)));
}

async function runCheck(check: ReadinessCheck, log: Logger): Promise<CheckReport> {
  const { name, action } = check;
  const failure: Omit<FailedCheck, 'reason'> = {
    name,
    ready: false,
    action,
    ...(check.isAdvice && { isAdvice: true }),
  };
  let timer: NodeJS.Timeout | undefined;
  const timeout = new Promise<'timeout'>((resolve) => {
    timer = setTimeout(resolve, checkTimeoutMs, 'timeout');
  });
  try {
    const result = await Promise.race([Promise.resolve(check.isReady()), timeout]);
    if (result === true) return { name, ready: true };
    const reason = result === 'timeout' ? `did not answer within ${checkTimeoutMs} ms` : 'not yet';
    return { ...failure, reason };
  } catch (error) {
    // The cause goes to the log: this route is open to anyone who can reach the port.
    log.warn('readiness check failed', { check: name, error });
    return { ...failure, reason: 'failed, see the log' };
  } finally {
    clearTimeout(timer);
  }
}
