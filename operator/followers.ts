import type { Timers } from '../adapters/timers.js';

/** Works off thousands of keys, a few at a time: the object that they all follow shows the change already. */
type Followers = { add(keys: readonly string[]): void; stop(): void };

const atOnce = 50;
const everyMs = 1_000;

export function createFollowers(deps: {
  readonly timers: Timers;
  readonly handle: (keys: readonly string[]) => void;
}): Followers {
  const waiting = new Set<string>();
  let cancel: (() => void) | undefined;

  function take(): void {
    const keys = [...waiting].slice(0, atOnce);
    for (const key of keys) waiting.delete(key);
    cancel = waiting.size === 0 && keys.length === 0 ? undefined : deps.timers.after(everyMs, take);
    if (keys.length > 0) deps.handle(keys);
  }

  return {
    add(keys) {
      for (const key of keys) waiting.add(key);
      if (cancel === undefined) take();
    },
    stop() {
      waiting.clear();
      cancel?.();
    },
  };
}
