import type { Metrics } from '../../core/metrics.js';
import type { Clock } from '../../core/units/time.js';

/** Metrics of a work queue; names and labels are client-go's, so that existing dashboards read them. */
export type QueueMetrics = {
  added(key: string): void;
  taken(key: string): void;
  finished(seconds: number): void;
  retried(): void;
};

export type QueueInstruments = { forQueue(name: string): QueueMetrics };

const buckets = [0.001, 0.005, 0.025, 0.1, 0.5, 1, 5, 10, 60];

export function createQueueInstruments(metrics: Metrics, clock: Clock): QueueInstruments {
  const labels = ['name'] as const;
  const histogram = (name: string, help: string) => metrics.histogram({ name, help, labels, buckets });
  const depth = metrics.gauge({ name: 'workqueue_depth', help: 'Keys that wait for work', labels });
  const adds = metrics.counter({ name: 'workqueue_adds_total', help: 'Keys added', labels });
  const retried = { name: 'workqueue_retries_total', help: 'Keys added after a failure', labels };
  const retries = metrics.counter(retried);
  const queued = histogram('workqueue_queue_duration_seconds', 'Time from being added to being worked on');
  const worked = histogram('workqueue_work_duration_seconds', 'Time of work on a key');

  return {
    forQueue(name) {
      const addedAt = new Map<string, number>();
      const of = { depth: depth.with({ name }), adds: adds.with({ name }), retries: retries.with({ name }) };
      const seconds = { queued: queued.with({ name }), worked: worked.with({ name }) };
      of.depth.set(0);
      return {
        added(key) {
          addedAt.set(key, clock.now());
          of.adds.inc();
          of.depth.set(addedAt.size);
        },
        taken(key) {
          seconds.queued.observe((clock.now() - (addedAt.get(key) ?? clock.now())) / 1000);
          addedAt.delete(key);
          of.depth.set(addedAt.size);
        },
        finished: (duration) => seconds.worked.observe(duration),
        retried: () => of.retries.inc(),
      };
    },
  };
}
