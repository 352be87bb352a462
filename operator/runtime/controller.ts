import type { Ambient } from '../../core/ambient.js';
import { createOutageLog } from '../../adapters/log/outage-log.js';
import { isDomainError } from '../../core/errors.js';
import type { WorkQueue } from './work-queue.js';
import type { Metrics } from '../../core/metrics.js';

/** The result of a reconcile: done, or a planned visit. A failure is thrown. */
type Result = { readonly requeueAfterMs?: number };
export const done: Result = {};

/**
 * Makes the actual state right for one key. It gets a key and never an event, so it may run twice, late or after a
 * missed event.
 */
export type Reconcile = (key: string) => Promise<Result>;

export type Controller = ReturnType<typeof createController>;

type ControllerDeps = Pick<Ambient, 'clock' | 'log'> & {
  readonly queue: WorkQueue;
  readonly reconcile: Reconcile;
  /** Keys worked on at once; never one key twice. */
  readonly workers: number;
  readonly metrics: ControllerMetrics;
};

/**
 * Works off a queue. There are three outcomes: done, also when only another input would help, which a condition then
 * reports; a planned visit; a thrown error, retried with growing waits. An error fails one key and never the process.
 */
export function createController(deps: ControllerDeps) {
  const { queue, metrics, clock } = deps;
  let running: Promise<unknown> | undefined;
  const outages = createOutageLog({
    log: deps.log,
    clock,
    messages: {
      begins: 'reconciles fail and are tried again',
      goesOn: 'reconciles still fail',
      ends: 'reconciles no longer fail',
    },
  });
  return {
    start(): void {
      running ??= Promise.all(Array.from({ length: deps.workers }, work));
    },
    /** Stops taking keys and resolves when the present work is done; may be called twice. */
    async stop(): Promise<void> {
      const drained = queue.stop();
      // Not started: nobody will work off the keys in the queue.
      if (running !== undefined) await Promise.all([drained, running]);
    },
  };

  async function work(): Promise<void> {
    for (let key = await queue.next(); key !== undefined; key = await queue.next()) {
      const startedAt = clock.now();
      metrics.started();
      metrics.finished(await workOn(key), (clock.now() - startedAt) / 1000);
      queue.done(key);
    }
  }

  async function workOn(key: string): Promise<Outcome> {
    try {
      const { requeueAfterMs } = await deps.reconcile(key);
      queue.forget(key);
      if (requeueAfterMs === undefined) return 'success';
      queue.addAfter(key, requeueAfterMs);
      return 'requeue_after';
    } catch (error) {
      return fail(key, error);
    }
  }

  function fail(key: string, error: unknown): Outcome {
    // Somebody else wrote first: it is enough to read the new state.
    if (isDomainError(error, 'WRITE_CONFLICT')) {
      queue.addRateLimited(key);
      return 'requeue';
    }
    // While the API server is away every key fails, and each of them again and again.
    if (isDomainError(error, 'UNAVAILABLE'))
      outages.failed(error.details.reason ?? error.code, { key, error });
    else deps.log.warn('reconcile failed, trying again', { key, retries: queue.retries(key), error });
    queue.addRateLimited(key);
    return 'error';
  }
}

const results = ['success', 'requeue_after', 'requeue', 'error'] as const;

export type Outcome = (typeof results)[number];
type ControllerMetrics = ReturnType<ReturnType<typeof createControllerInstruments>['forController']>;

/** Names and labels are controller-runtime's, so that existing dashboards and alerts read them. */
export function createControllerInstruments(metrics: Metrics) {
  const labels = ['controller'] as const;
  const counter = (name: string, help: string) => metrics.counter({ name, help, labels });
  const gauge = (name: string, help: string) => metrics.gauge({ name, help, labels });
  const total = metrics.counter<'controller' | 'result'>({
    name: 'controller_runtime_reconcile_total',
    help: 'Reconciles by result',
    labels: ['controller', 'result'],
  });
  const errors = counter('controller_runtime_reconcile_errors_total', 'Reconciles that failed');
  const terminal = counter(
    'controller_runtime_terminal_reconcile_errors_total',
    'Reconciles that failed and are not tried again',
  );
  const time = metrics.histogram({
    name: 'controller_runtime_reconcile_time_seconds',
    help: 'Time of a reconcile',
    labels,
    buckets: [0.001, 0.005, 0.025, 0.1, 0.5, 1, 5, 10, 60],
  });
  const most = gauge('controller_runtime_max_concurrent_reconciles', 'Workers of a controller');
  const active = gauge('controller_runtime_active_workers', 'Workers that work on a key');
  return {
    forController(controller: string, workers: number) {
      let working = 0;
      most.with({ controller }).set(workers);
      active.with({ controller }).set(0);
      for (const result of results) total.with({ controller, result }).inc(0);
      errors.with({ controller }).inc(0);
      // Stays at zero: here a condition reports what cannot succeed. Dashboards that add it up still find it.
      terminal.with({ controller }).inc(0);
      return {
        started: (): void => active.with({ controller }).set(++working),
        finished(outcome: Outcome, seconds: number): void {
          active.with({ controller }).set(--working);
          time.with({ controller }).observe(seconds);
          total.with({ controller, result: outcome }).inc();
          if (outcome === 'error') errors.with({ controller }).inc();
        },
      };
    },
  };
}
