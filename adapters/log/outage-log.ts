import type { Ambient } from '../../core/ambient.js';
import type { LogFields } from '../../core/log.js';

/**
 * Logs an outage as one full line when it begins, a count every minute while it lasts, and one line when nothing has
 * failed for half a minute. An outage fails thousands of calls a second, and each line with its stack is 2 kB.
 */
export type OutageLog = {
  /** Reports one failure. `cause` distinguishes outages: a fixed text, never one that callers choose. */
  failed(cause: string, fields: LogFields): void;
};

type OutageLogDeps = Pick<Ambient, 'clock' | 'log'> & {
  readonly messages: { readonly begins: string; readonly goesOn: string; readonly ends: string };
  /** Runs an action after so many milliseconds. Default: a timer that keeps no process alive. */
  readonly after?: (ms: number, action: () => void) => void;
};

const quietMs = 30_000;
const summaryMs = 60_000;
/** When there are more causes than this at once, the others share one. */
const maxCauses = 50;

type Outage = {
  readonly began: number;
  last: number;
  summarised: number;
  /** Failures since the last line, and in all. */
  count: number;
  total: number;
};

export function createOutageLog({ log, clock, messages, after = unreferenced }: OutageLogDeps): OutageLog {
  const outages = new Map<string, Outage>();

  function checkOutage(cause: string, outage: Outage): void {
    const now = clock.now();
    const seconds = Math.round((now - outage.began) / 1000);
    if (now - outage.last >= quietMs) {
      outages.delete(cause);
      log.info(messages.ends, { cause, failures: outage.total, seconds });
      return;
    }
    if (now - outage.summarised >= summaryMs && outage.count > 0) {
      log.warn(messages.goesOn, { cause, failures: outage.count, seconds });
      outage.summarised = now;
      outage.count = 0;
    }
    after(quietMs, () => checkOutage(cause, outage));
  }

  return {
    failed(given, fields) {
      const cause = outages.has(given) || outages.size < maxCauses ? given : 'other';
      const now = clock.now();
      const known = outages.get(cause);
      if (known !== undefined) {
        known.last = now;
        known.count += 1;
        known.total += 1;
        return;
      }
      const outage = { began: now, last: now, summarised: now, count: 0, total: 1 };
      outages.set(cause, outage);
      log.warn(messages.begins, { cause, ...fields });
      after(quietMs, () => checkOutage(cause, outage));
    },
  };
}

function unreferenced(ms: number, action: () => void): void {
  setTimeout(action, ms).unref();
}
