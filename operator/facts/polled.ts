import { isDeepStrictEqual } from 'node:util';
import type { Logger } from '../../core/log.js';
import { createRepetition } from '../runtime/repeat.js';
import type { Timers } from '../../adapters/timers.js';

/** Reports of the servers, by what they are about, read again and again. */
export type Polled<K, V> = {
  /** Begins to read; a second call does nothing. */
  start(): void;
  /** Undefined before the first report about it. */
  of(key: K): V | undefined;
  values(): Iterable<V>;
  /** False until reports have been read for the first time. */
  isKnown(): boolean;
  /** Reads again at once. */
  soon(): void;
  /** Resolves when no read is running; may be called twice. */
  stop(): Promise<void>;
};

export type PolledDeps<K> = {
  readonly timers: Timers;
  readonly log: Logger;
  /** What is known about these has changed. */
  readonly onChange: (keys: readonly K[]) => void;
  /** They have been read for the first time: what was kept until then can be looked at. */
  readonly onKnown?: () => void;
};

const pollMs = 15_000;

/** Reads at `soon`, and often enough where nobody calls it. While `read` fails, the known state stays. `what` names it in the log. */
export function createPolled<K, V>(
  { timers, log, onChange, onKnown }: PolledDeps<K>,
  what: string,
  read: () => Promise<ReadonlyMap<K, V>>,
): Polled<K, V> {
  let known: ReadonlyMap<K, V> = new Map();
  let isKnown = false;
  let hasFailed = false;
  const repetition = createRepetition(timers, async () => {
    await look();
    return pollMs;
  });

  async function look(): Promise<void> {
    const before = known;
    const isFirst = !isKnown;
    try {
      known = await read();
      hasFailed = false;
      isKnown = true;
    } catch (error) {
      if (!hasFailed) log.warn('polling failed', { what, error });
      hasFailed = true;
      return;
    }
    const keys = [...new Set([...before.keys(), ...known.keys()])];
    const changed = keys.filter((key) => !isDeepStrictEqual(before.get(key), known.get(key)));
    if (repetition.isStopped()) return;
    if (changed.length > 0) onChange(changed);
    if (isFirst) onKnown?.();
  }

  return {
    start: () => repetition.start(0),
    of: (key) => known.get(key),
    values: () => known.values(),
    isKnown: () => isKnown,
    soon: () => repetition.soon(0),
    stop: () => repetition.stop(),
  };
}
