import type { Clock } from '../../core/units/time.js';
import type { RateLimiter } from './rate-limiter.js';
import type { Timers } from '../../adapters/timers.js';
import type { Metrics } from '../../core/metrics.js';

/**
 * Keys that need work; a port of client-go's work queue.
 *
 * - Fair: keys are handed out in the order in which they became ready, separately in each of two lanes.
 * - Two lanes, as in controller-runtime: keys for which a person waits go before keys that are only checked again, such
 *   as all of them when a leader begins. One in eight keys comes from the lane behind, so that it always moves. A key
 *   that is in both lanes is in the front one.
 * - Stingy: a key that is added many times before it is worked on is worked on once.
 * - Never twice at once: a key that is added while it is worked on is handed out again after `done`, not before.
 * - Delays keep the earliest time asked for a key.
 * - After `stop` no key is accepted or handed out: a level-triggered start finds them all again.
 */
export type WorkQueue = ReturnType<typeof createWorkQueue>;

type Lane = 'front' | 'behind';
const behindEvery = 8;

type WorkQueueDeps = {
  readonly clock: Clock;
  readonly timers: Timers;
  readonly limiter: RateLimiter;
  readonly metrics: QueueMetrics;
};

export function createWorkQueue({ clock, timers, limiter, metrics }: WorkQueueDeps) {
  // `dirty` holds keys that need work, with their lane; `active` holds keys being worked on. A key may be in both: it
  // changed meanwhile, and done() makes it ready again. A key is in its lane of `ready` exactly when it is dirty and
  // not active.
  const dirty = new Map<string, Lane>();
  const active = new Map<string, number>();
  const ready = { front: new Set<string>(), behind: new Set<string>() };
  const waiting = new Map<string, { readonly at: number; readonly cancel: () => void }>();
  const takers: ((key: string | undefined) => void)[] = [];
  let isStopped = false;
  let handedOut = 0;
  const drained = Promise.withResolvers<void>();

  function add(key: string): void {
    if (dirty.get(key) === 'behind') promote(key);
    else addTo('front', key);
  }

  function promote(key: string): void {
    dirty.set(key, 'front');
    if (ready.behind.delete(key)) ready.front.add(key);
  }

  function addTo(lane: Lane, key: string): void {
    if (isStopped || dirty.has(key)) return;
    dirty.set(key, lane);
    metrics.added(key);
    if (active.has(key)) return;
    ready[lane].add(key);
    handOut();
  }

  function size(): number {
    return ready.front.size + ready.behind.size;
  }

  function addAfter(key: string, ms: number): void {
    if (isStopped) return;
    if (ms <= 0) return add(key);
    const at = clock.now() + ms;
    const pending = waiting.get(key);
    if (pending !== undefined && pending.at <= at) return;
    pending?.cancel();
    const cancel = timers.after(ms, () => {
      waiting.delete(key);
      add(key);
    });
    waiting.set(key, { at, cancel });
  }

  /** Gives ready keys to waiting workers. */
  function handOut(): void {
    while (takers.length > 0 && size() > 0) takers.shift()?.(takeKey());
  }

  function endWhenDrained(): void {
    if (isStopped && active.size === 0) drained.resolve();
  }

  function takeKey(): string | undefined {
    const isTurnOfBehind = handedOut % behindEvery === behindEvery - 1;
    const [first, second] = isTurnOfBehind ? [ready.behind, ready.front] : [ready.front, ready.behind];
    const [key] = first.size > 0 ? first : second;
    if (key === undefined) return undefined;
    handedOut += 1;
    first.delete(key);
    second.delete(key);
    dirty.delete(key);
    active.set(key, clock.now());
    metrics.taken(key);
    return key;
  }

  return {
    add,
    /** Adds the key to the lane behind. */
    addBehind: (key: string): void => addTo('behind', key),
    /** Adds the key in `ms` milliseconds. */
    addAfter,
    /** Adds the key after a wait that grows with its failures. */
    addRateLimited(key: string): void {
      metrics.retried();
      addAfter(key, limiter.when(key));
    },
    forget: (key: string): void => limiter.forget(key),
    retries: (key: string): number => limiter.retries(key),
    /** The next key; waits for one; undefined when the queue has been stopped. */
    next(): Promise<string | undefined> {
      if (size() > 0 && takers.length === 0) return Promise.resolve(takeKey());
      if (isStopped) return Promise.resolve(undefined);
      return new Promise((resolve) => takers.push(resolve));
    },
    /** Must be called once for each key that `next` returned. */
    done(key: string): void {
      const startedAt = active.get(key);
      if (startedAt === undefined) return;
      active.delete(key);
      metrics.finished((clock.now() - startedAt) / 1000);
      const lane = dirty.get(key);
      if (lane !== undefined) ready[lane].add(key);
      handOut();
      endWhenDrained();
    },
    /** Keys that are ready and not worked on. */
    size,
    /** True when no key is ready or worked on; delayed keys do not count. */
    isIdle: (): boolean => dirty.size === 0 && active.size === 0,
    /** Drops all keys except those being worked on, and resolves when these are done. May be called twice. */
    stop(): Promise<void> {
      if (!isStopped) {
        isStopped = true;
        for (const { cancel } of waiting.values()) cancel();
        waiting.clear();
        dirty.clear();
        ready.front.clear();
        ready.behind.clear();
        for (const taker of takers.splice(0)) taker(undefined);
        endWhenDrained();
      }
      return drained.promise;
    },
  };
}

/** Metrics of a work queue; names and labels are client-go's, so that existing dashboards read them. */
export type QueueMetrics = ReturnType<ReturnType<typeof createQueueInstruments>['forQueue']>;

const buckets = [0.001, 0.005, 0.025, 0.1, 0.5, 1, 5, 10, 60];

export function createQueueInstruments(metrics: Metrics, clock: Clock) {
  const labels = ['name'] as const;
  const histogram = (name: string, help: string) => metrics.histogram({ name, help, labels, buckets });
  const depth = metrics.gauge({ name: 'workqueue_depth', help: 'Keys that wait for work', labels });
  const adds = metrics.counter({ name: 'workqueue_adds_total', help: 'Keys added', labels });
  const retried = { name: 'workqueue_retries_total', help: 'Keys added after a failure', labels };
  const retries = metrics.counter(retried);
  const queued = histogram('workqueue_queue_duration_seconds', 'Time from being added to being worked on');
  const worked = histogram('workqueue_work_duration_seconds', 'Time of work on a key');

  return {
    forQueue(name: string) {
      const addedAt = new Map<string, number>();
      const of = { depth: depth.with({ name }), adds: adds.with({ name }), retries: retries.with({ name }) };
      const seconds = { queued: queued.with({ name }), worked: worked.with({ name }) };
      of.depth.set(0);
      return {
        added(key: string): void {
          addedAt.set(key, clock.now());
          of.adds.inc();
          of.depth.set(addedAt.size);
        },
        taken(key: string): void {
          seconds.queued.observe((clock.now() - (addedAt.get(key) ?? clock.now())) / 1000);
          addedAt.delete(key);
          of.depth.set(addedAt.size);
        },
        finished: (duration: number): void => seconds.worked.observe(duration),
        retried: (): void => of.retries.inc(),
      };
    },
  };
}
