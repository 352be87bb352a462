import type { Timers } from '../adapters/timers.js';

const atOnce = 50;
const everyMs = 1_000;

/** Works off thousands of keys, a few at a time: the object on which they all depend shows the change already. */
export function createKeyBatches(deps: {
  readonly timers: Timers;
  readonly handle: (keys: readonly string[]) => void;
}) {
  const waiting = new Set<string>();
  let cancel: (() => void) | undefined;

  function handleBatch(): void {
    const keys = [...waiting].slice(0, atOnce);
    for (const key of keys) waiting.delete(key);
    cancel = waiting.size === 0 && keys.length === 0 ? undefined : deps.timers.after(everyMs, handleBatch);
    if (keys.length > 0) deps.handle(keys);
  }

  return {
    add(keys: readonly string[]): void {
      for (const key of keys) waiting.add(key);
      if (cancel === undefined) handleBatch();
    },
    stop(): void {
      waiting.clear();
      cancel?.();
    },
  };
}
