import type { ReleaseFacts } from '../../core/release-facts.js';
import type { Clock, EpochMs } from '../../core/units/time.js';

/** For replicas of one process. */
export function createMemoryReleaseFacts(clock: Clock): ReleaseFacts {
  const times = new Map<string, EpochMs>();
  return {
    async lastHad(names) {
      const found = names.flatMap((name) => times.get(name) ?? []);
      return found.length === 0 ? undefined : (Math.max(...found) as EpochMs);
    },
    confirm(names) {
      for (const name of names) times.set(name, clock.now());
    },
  };
}
