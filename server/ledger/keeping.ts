import type { Ambient } from '../../core/ambient.js';
import type { LedgerFeed } from '../../core/ledger/feed.js';
import type { Ledger } from '../../core/ledger/ledger.js';
import { createPump } from './pump.js';
import { createPumpMeter } from './pump-meter.js';

const pruneEveryMs = 3_600_000;
const firstPruneMs = 60_000;
const stateEveryMs = 5_000;

/** Keeps a ledger: moves records to it, and removes those whose time is over. */
export function createLedgerKeeping(
  deps: Ambient & {
    readonly feed: Pick<LedgerFeed, 'read' | 'acknowledge' | 'state'>;
    readonly ledger: Pick<Ledger, 'append' | 'prune' | 'size'>;
  },
) {
  const { feed, ledger, clock, log, metrics } = deps;
  const meter = createPumpMeter(metrics);
  const pump = createPump({ feed, ledger, log, meter, random: Math.random });
  const timers: NodeJS.Timeout[] = [];
  let isStopped = false;
  let pruning: Promise<void> | undefined;
  let showing: Promise<void> | undefined;

  async function prune(): Promise<void> {
    try {
      while (!isStopped && (await ledger.prune(clock.now())));
    } catch (error) {
      log.warn('old records were not removed from the ledger', { error });
    }
  }

  async function show(): Promise<void> {
    try {
      meter.state(await feed.state());
      const size = await ledger.size?.();
      if (size !== undefined) meter.size(size);
    } catch {
      // The pump fails in the same way, and says so.
    }
  }

  const pruneNow = (): void => {
    pruning ??= prune().finally(() => (pruning = undefined));
  };
  const showNow = (): void => {
    showing ??= show().finally(() => (showing = undefined));
  };

  return {
    start(): void {
      pump.start();
      showNow();
      timers.push(
        setInterval(showNow, stateEveryMs).unref(),
        setTimeout(pruneNow, firstPruneMs).unref(),
        setInterval(pruneNow, pruneEveryMs).unref(),
      );
    },
    /** Moves what waits already. The feed and the ledger belong to the caller. May be called twice. */
    async stop(): Promise<void> {
      isStopped = true;
      for (const timer of timers.splice(0)) clearTimeout(timer);
      await pump.stop();
      await Promise.all([pruning, showing]);
    },
  };
}
