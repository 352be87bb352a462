import type { DecidingUsage, UsageStore } from '../../core/usage/usage-store.js';

/** The store as decisions ask it: they go on within its turn. */
export function decidingUsage(
  usage: Pick<UsageStore, 'now' | 'capacity' | 'push' | 'peek' | 'counters'>,
): DecidingUsage {
  return {
    now: () => usage.now(),
    capacity: () => usage.capacity(),
    reserve: (request) => usage.push(request),
    peek: (request) => usage.peek(request),
    counters: (chainId, counters) => usage.counters(chainId, counters),
  };
}
