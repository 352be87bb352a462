import { randomUUID } from 'node:crypto';
import type { Logger } from '../../core/log.js';
import type { Reports } from '../../core/reports/reports.js';
import { servedLeaseMs, type ConfigRevisions } from '../../core/reports/config-revisions.js';
import { plusMs, type Clock } from '../../core/units/time.js';

/** Thousands of changes come at once, and are reported together. */
const everyMs = 500;

/**
 * Tells the operator how far this replica has followed the compiled objects, so that a Paymaster turns Ready once it is served. Written
 * after changes, and again before it ends. Nothing that is signed depends on it.
 */
export function createServedReport(deps: {
  readonly reports: Pick<Reports, 'merge'>;
  /** Undefined while this replica does not know everything, and where no report is needed. */
  readonly reached: () => ConfigRevisions | undefined;
  readonly clock: Clock;
  readonly log: Logger;
}) {
  const { reports, reached, clock, log } = deps;
  const replica = randomUUID();
  let isDue = true;
  let renewAt = 0;
  let hasFailed = false;
  let timer: NodeJS.Timeout | undefined;
  let telling: Promise<void> | undefined;

  async function writeReport(): Promise<void> {
    const revisions = reached();
    const now = clock.now();
    if (revisions === undefined || !(isDue || now >= renewAt)) return;
    isDue = false;
    try {
      await reports.merge(
        'served',
        new Map([[replica, { ...revisions, until: plusMs(now, servedLeaseMs) }]]),
      );
      renewAt = now + servedLeaseMs / 2;
      hasFailed = false;
    } catch (error) {
      isDue = true;
      // Logged once; the next round tries again.
      if (!hasFailed) log.warn('reporting what is served failed', { error });
      hasFailed = true;
    }
  }

  return {
    /** Something has changed. */
    note(): void {
      isDue = true;
    },
    start(): void {
      timer ??= setInterval(() => {
        telling ??= writeReport().finally(() => (telling = undefined));
      }, everyMs).unref();
    },
    async stop(): Promise<void> {
      clearInterval(timer);
      await telling;
    },
  };
}
