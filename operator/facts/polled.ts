import { isDeepStrictEqual } from 'node:util';
import type { Logger } from '../../core/log.js';
import type { Timers } from '../runtime/timers.js';

/** Reports of the servers about each chain, read again and again. */
export type Polled<V> = {
  /** Begins to read; a second call does nothing. */
  start(): void;
  /** Undefined while there is no report about the chain. */
  of(chainId: number): V | undefined;
  /** Resolves when no read is running; may be called twice. */
  stop(): Promise<void>;
};

export type PolledDeps = {
  readonly timers: Timers;
  readonly log: Logger;
  /** Called when the known state of a chain has changed. */
  readonly onChange: (chainId: number) => void;
};

const pollMs = 15_000;

/**
 * Polls instead of watching: a watch of one object needs more rights than a read. While `read` fails, the known state
 * stays. `what` names it in the log.
 */
export function createPolled<V>(
  { timers, log, onChange }: PolledDeps,
  what: string,
  read: () => Promise<ReadonlyMap<number, V>>,
): Polled<V> {
  let known: ReadonlyMap<number, V> = new Map();
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
      if (!hasFailed) log.warn('polling failed', { what, error });
      hasFailed = true;
      return;
    }
    if (isStopped) return;
    for (const chainId of new Set([...before.keys(), ...known.keys()]))
      if (!isDeepStrictEqual(before.get(chainId), known.get(chainId))) onChange(chainId);
  }

  return {
    start() {
      if (isStarted) return;
      isStarted = true;
      schedule(0);
    },
    of: (chainId) => known.get(chainId),
    async stop() {
      isStopped = true;
      cancel?.();
      await running;
    },
  };
}
