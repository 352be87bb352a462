import type { Metrics } from '../../core/metrics.js';

export type LinkMeter = ReturnType<typeof createLinkMeter>;

/** The metrics of a connection to Redis. */
export function createLinkMeter(metrics: Metrics) {
  const failures = metrics.counter<'kind'>({
    name: 'paymaster_usage_redis_failures_total',
    help: 'Calls of Redis that were not answered as they must be: down, refused by the server, refused because it is full, or unconfirmed by replicas.',
    labels: ['kind'],
  });
  const used = metrics.gauge({
    name: 'paymaster_usage_redis_memory_used_bytes',
    help: 'Memory that the fullest Redis of the usage store uses.',
  });
  const maxmemory = metrics.gauge({
    name: 'paymaster_usage_redis_memory_max_bytes',
    help: 'Its maxmemory, above which nothing is signed; 0: not bounded.',
  });
  return {
    connected: metrics
      .gauge({
        name: 'paymaster_usage_redis_connected',
        help: '1 while a Redis that may be relied on answers',
      })
      .with({}),
    failures: {
      down: failures.with({ kind: 'down' }),
      refused: failures.with({ kind: 'refused' }),
      full: failures.with({ kind: 'full' }),
      unconfirmed: failures.with({ kind: 'unconfirmed' }),
    },
    memory: { used: used.with({}), maxmemory: maxmemory.with({}) },
  };
}
