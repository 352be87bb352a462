import type { Logger } from '../../core/log.js';
import type { ServingEntries, ServingReport, ServingReports } from '../../core/policy/serving-reports.js';
import type { Timers } from '../runtime/timers.js';

/** Reports of the servers: policies that keep their paymaster from sponsoring at the moment. */
export type ServingFacts = {
  start(): void;
  of(policyId: string): ServingReport | undefined;
  /** False until reports have been read for the first time. */
  isKnown(): boolean;
  stop(): Promise<void>;
};

const pollMs = 15_000;

/** While reports cannot be read, the known state stays. */
export function createServingFacts(deps: {
  readonly reports: Pick<ServingReports, 'all'>;
  readonly timers: Timers;
  readonly log: Logger;
  /** These policies got a trouble, got another one, or lost it. */
  readonly onChange: (policyIds: ReadonlySet<string>) => void;
}): ServingFacts {
  const { reports, timers, log } = deps;
  let known: ServingEntries = new Map();
  let hasFailed = false;
  let isKnown = false;
  let isStopped = false;
  let isStarted = false;
  let cancel: (() => void) | undefined;
  let running: Promise<void> = Promise.resolve();

  async function look(): Promise<void> {
    const before = known;
    try {
      known = await reports.all();
      hasFailed = false;
      isKnown = true;
    } catch (error) {
      if (!hasFailed) log.warn('polling full limits and failing webhooks failed', { error });
      hasFailed = true;
      return;
    }
    const all = [...before.keys(), ...known.keys()];
    const changed = all.filter((id) => before.get(id)?.trouble !== known.get(id)?.trouble);
    if (!isStopped && changed.length > 0) deps.onChange(new Set(changed));
  }

  function schedule(ms: number): void {
    if (isStopped) return;
    cancel = timers.after(ms, () => {
      running = look().finally(() => schedule(pollMs));
    });
  }

  return {
    start() {
      if (isStarted) return;
      isStarted = true;
      schedule(0);
    },
    of: (policyId) => known.get(policyId),
    isKnown: () => isKnown,
    async stop() {
      isStopped = true;
      cancel?.();
      await running;
    },
  };
}
