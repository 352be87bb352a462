import type { Logger } from '../../core/log.js';
import type { Fence } from '../../core/usage/reserve-request.js';
import type { UsageStore } from '../../core/usage/usage-store.js';

/** The generation of a paymaster's or a chain's config that this replica has seen; a deleted config has the next generation. */
type SeenGeneration = Fence & { readonly chainId: number };

/** Most fences in one call, so that a call takes only milliseconds. */
const perCall = 1_000;
const retryMs = 1_000;

type SeenGenerationsDeps = {
  readonly usage: Pick<UsageStore, 'noteGenerations'>;
  readonly log: Logger;
};

/**
 * Reports to the usage store which generations of configs exist, so that the store refuses a replica that is cut off from the
 * configs. A suspended or deleted paymaster reserves nothing, so its requests would not raise the fence.
 *
 * - Written in the background, together with all that were seen in the meantime; kept and retried while the store does not answer.
 * - The newest generation of an id counts.
 */
export function createSeenGenerations({ usage, log }: SeenGenerationsDeps) {
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
          // Requests carry their own generations meanwhile; only suspended or deleted configs have to wait.
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
    note({ chainId, id, generation }: SeenGeneration): void {
      const generations = waiting.get(chainId) ?? new Map<string, number>();
      waiting.set(chainId, generations);
      if ((generations.get(id) ?? -1) >= generation) return;
      generations.set(id, generation);
      schedule(0);
    },
    /** Resolves when all noted generations are written, or an attempt has failed. For tests and for stopping. */
    flush,
    stop(): void {
      isStopped = true;
      clearTimeout(timer);
      timer = undefined;
    },
  };
}
