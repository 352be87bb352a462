import type { Ambient } from '../core/ambient.js';
import type { Keys } from './reconcilers/mapping.js';
import { createController, createControllerInstruments, type Reconcile } from './runtime/controller.js';
import { createRateLimiter } from './runtime/rate-limiter.js';
import type { Timers } from '../adapters/timers.js';
import { createQueueInstruments, createWorkQueue } from './runtime/work-queue.js';

/** The controllers of the operator, one per root kind, each with a separate queue. */
export type Roots = ReturnType<typeof createRoots>;

type Pass = { readonly left: Set<string>; readonly done: () => void };

const names = ['paymasters', 'chains', 'organisations'] as const;
type Name = (typeof names)[number];

/** As labels of metrics: the kind that is reconciled, as with controller-runtime. */
const controllerNames = { paymasters: 'paymaster', chains: 'chain', organisations: 'organisation' } as const;
const workers = { paymasters: 8, chains: 2, organisations: 1 } as const;
/** A change of one object concerns this many roots at most, unless many depend on the object, as on a chain. */
const few = 16;

export function createRoots(
  deps: Ambient & {
    readonly reconcilers: Readonly<Record<Name, Reconcile>>;
    readonly timers: Timers;
  },
) {
  const queueInstruments = createQueueInstruments(deps.metrics, deps.clock);
  const controllerInstruments = createControllerInstruments(deps.metrics);
  const pending = new Set<string>();
  const passes = new Set<Pass>();
  let isStarted = false;

  const roots = names.map((name) => {
    const controllerName = controllerNames[name];
    const queue = createWorkQueue({
      clock: deps.clock,
      timers: deps.timers,
      limiter: createRateLimiter(deps.clock),
      metrics: queueInstruments.forQueue(controllerName),
    });
    const reconcile: Reconcile = async (key) => {
      // Work that began before a pass may have read older state.
      const open = name === 'paymasters' ? [...passes] : [];
      try {
        const result = await deps.reconcilers[name](key);
        for (const pass of open) advance(pass, key);
        return result;
      } finally {
        pending.delete(`${name} ${key}`);
      }
    };
    const controller = createController({
      queue,
      reconcile,
      workers: workers[name],
      clock: deps.clock,
      log: deps.log.child({ controller: controllerName }),
      metrics: controllerInstruments.forController(controllerName, workers[name]),
    });
    return { name, queue, controller };
  });

  function advance(pass: Pass, key: string): void {
    pass.left.delete(key);
    if (pass.left.size > 0) return;
    passes.delete(pass);
    pass.done();
  }

  function add(keys: Partial<Keys>): void {
    for (const { name, queue } of roots) {
      const added = keys[name] ?? [];
      for (const key of added)
        if (added.length > few) queue.addBehind(key);
        else queue.add(key);
    }
  }

  return {
    /** Keys that come in large numbers wait behind keys that come in small numbers: a person waits for the latter. */
    add,
    /** Begins with the keys of all present objects. */
    start(keys: Keys): void {
      for (const name of names) for (const key of keys[name]) pending.add(`${name} ${key}`);
      isStarted = true;
      add(keys);
      for (const { controller } of roots) controller.start();
    },
    /** Reconciles these paymasters; resolves when each has been reconciled without an error since the call. */
    async pass(paymasters: readonly string[]): Promise<void> {
      if (paymasters.length === 0) return;
      const { promise, resolve } = Promise.withResolvers<void>();
      passes.add({ left: new Set(paymasters), done: resolve });
      add({ paymasters });
      await promise;
    },
    /**
     * True when each key of the start was reconciled once, with or without success: a key that always fails must not hold
     * readiness.
     */
    isFirstPassDone: (): boolean => isStarted && pending.size === 0,
    async stop(): Promise<void> {
      await Promise.all(roots.map(({ controller }) => controller.stop()));
    },
  };
}
