import type { UsageStore } from '../../core/usage/usage-store.js';

/** The same store; its answers name their place among all decisions, which the records of inputs keep. */
export function withOrder<U extends Pick<UsageStore, 'reserve' | 'peek'>>(usage: U): U {
  return {
    ...usage,
    reserve: (request) => usage.reserve({ ...request, ordered: true }),
    peek: (request) => usage.peek({ ...request, ordered: true }),
  };
}
