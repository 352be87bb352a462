import type { Logger } from '../../core/log.js';
import type { Fence, UsageStore } from '../../core/usage/usage-store.js';

/** A config that this replica was told of: a paymaster's or a chain's own; deleted ones with the next generation. */
export type SeenGeneration = Fence & { readonly chainId: number };

/**
 * Tells the usage store which generations of configs there are, so that a replica that is cut off from the configs is refused
 * there: a paymaster that was suspended or deleted reserves nothing, and would raise no fence by itself.
 *
 * - Written in the background, all that were seen meanwhile at once; kept and tried again while the store does not answer.
 * - The newest of an id counts.
 */
export type SeenGenerations = {
  note(seen: SeenGeneration): void;
  /** Resolves when all that were noted are written, or a try has failed. For tests and for stopping. */
  flush(): Promise<void>;
  stop(): void;
};

/** Fences of one call: a call takes milliseconds. */
const perCall = 1_000;
const retryMs = 1_000;

export type SeenGenerationsDeps = {
  readonly usage: Pick<UsageStore, 'noteGenerations'>;
  readonly log: Logger;
};

export function createSeenGenerations({ usage, log }: SeenGenerationsDeps): SeenGenerations {
  const waiting = new Map<number, Map<string, number>>();
  let timer: NodeJS.Timeout | undefined;
  let flight: Promise<void> | undefined;
  let isStopped = false;

  function schedule(ms: number): void {
    if (isStopped || timer !== undefined || flight !== undefined) return;
    timer = setTimeout(() => {
      timer = undefined;
      void flush();
    }, ms);
    timer.unref();
  }

  function flush(): Promise<void> {
    flight ??= write().finally(() => {
      flight = undefined;
      if (waiting.size > 0) schedule(retryMs);
    });
    return flight;
  }

  async function write(): Promise<void> {
    for (const [chainId, generations] of waiting) {
      while (generations.size > 0) {
        const fences = Array.from(generations, ([id, generation]) => ({ id, generation })).slice(0, perCall);
        try {
          await usage.noteGenerations(chainId, fences);
        } catch (error) {
          // Requests carry their own generations meanwhile; only what is suspended or deleted waits.
          log.debug('generations were not noted', { chainId, error });
          return;
        }
        for (const { id, generation } of fences)
          if (generations.get(id) === generation) generations.delete(id);
      }
      waiting.delete(chainId);
    }
  }

  return {
    note({ chainId, id, generation }) {
      const generations = waiting.get(chainId) ?? new Map<string, number>();
      waiting.set(chainId, generations);
      if ((generations.get(id) ?? -1) >= generation) return;
      generations.set(id, generation);
      schedule(0);
    },
    flush,
    stop() {
      isStopped = true;
      clearTimeout(timer);
      timer = undefined;
    },
  };
}
