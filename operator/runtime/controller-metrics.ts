import type { Metrics } from '../../core/metrics.js';

export type Outcome = 'success' | 'requeue_after' | 'requeue' | 'error';

export type ControllerMetrics = {
  started(): void;
  finished(outcome: Outcome, seconds: number): void;
};

export type ControllerInstruments = { forController(name: string, workers: number): ControllerMetrics };

const results = ['success', 'requeue_after', 'requeue', 'error'] as const;

/** Names and labels are controller-runtime's, so that existing dashboards and alerts read them. */
export function createControllerInstruments(metrics: Metrics): ControllerInstruments {
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
    forController(controller, workers) {
      let working = 0;
      most.with({ controller }).set(workers);
      active.with({ controller }).set(0);
      for (const result of results) total.with({ controller, result }).inc(0);
      errors.with({ controller }).inc(0);
      // Stays at zero: here a condition reports what cannot succeed. Dashboards that add it up still find it.
      terminal.with({ controller }).inc(0);
      return {
        started: () => active.with({ controller }).set(++working),
        finished(outcome, seconds) {
          active.with({ controller }).set(--working);
          time.with({ controller }).observe(seconds);
          total.with({ controller, result: outcome }).inc();
          if (outcome === 'error') errors.with({ controller }).inc();
        },
      };
    },
  };
}
