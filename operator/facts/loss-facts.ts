import { isDeepStrictEqual } from 'node:util';
import type { Logger } from '../../core/log.js';
import type { TokenLossReports } from '../../core/policy/token-loss-reports.js';
import type { Clock } from '../../core/units/time.js';
import type { Timers } from '../runtime/timers.js';

/** Which token modes have stopped, by what the followers report. */
export type LossFacts = {
  /** Begins to look; called again it does nothing. */
  start(): void;
  /** Versions of a chain whose token mode has stopped; undefined while nobody has reported about the chain. */
  stopped(chainId: number): ReadonlySet<string> | undefined;
  /** Resolves when no read is under way; may be called twice. */
  stop(): Promise<void>;
};

export type LossFactsDeps = {
  readonly reports: Pick<TokenLossReports, 'all'>;
  readonly clock: Clock;
  readonly timers: Timers;
  readonly log: Logger;
  /** Told when token modes of a chain have stopped or go on. */
  readonly onChange: (chainId: number) => void;
};

const pollMs = 15_000;

/**
 * Reports are read again and again rather than watched: a watch of one object needs more rights than to read it. A day that
 * has ended counts as ended also when nobody reports so. While the reports cannot be read, what is known stands.
 */
export function createLossFacts({ reports, clock, timers, log, onChange }: LossFactsDeps): LossFacts {
  let known: ReadonlyMap<number, ReadonlySet<string>> = new Map();
  let isStarted = false;
  let isStopped = false;
  let hasFailed = false;
  let cancel: (() => void) | undefined;
  let running: Promise<void> = Promise.resolve();

  function schedule(ms: number): void {
    if (isStopped) return;
    cancel = timers.after(ms, () => {
      running = look().finally(() => schedule(pollMs));
    });
  }

  async function look(): Promise<void> {
    const before = known;
    try {
      known = await read();
      hasFailed = false;
    } catch (error) {
      if (!hasFailed) log.warn('losses of token payments could not be read', { error });
      hasFailed = true;
      return;
    }
    if (isStopped) return;
    for (const chainId of new Set([...before.keys(), ...known.keys()]))
      if (!isDeepStrictEqual(before.get(chainId), known.get(chainId))) onChange(chainId);
  }

  async function read(): Promise<ReadonlyMap<number, ReadonlySet<string>>> {
    const all = await reports.all();
    const now = clock.now();
    return new Map(
      [...all].map(([chainId, { stopped }]) => [
        chainId,
        new Set(stopped.filter(({ until }) => until > now).map(({ version }) => version)),
      ]),
    );
  }

  return {
    start() {
      if (isStarted) return;
      isStarted = true;
      schedule(0);
    },
    stopped: (chainId) => known.get(chainId),
    async stop() {
      isStopped = true;
      cancel?.();
      await running;
    },
  };
}
