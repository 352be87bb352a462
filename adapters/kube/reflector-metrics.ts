import type { Metrics } from '../../core/metrics.js';

/** Metrics of a reflector, by kind. */
export function createInstruments(metrics: Metrics, kind: string) {
  const labels = { kind };
  const relists = metrics.counter({
    name: 'informer_relists_total',
    help: 'Full lists by reason',
    labels: ['kind', 'reason'],
  });
  const errors = metrics.counter({
    name: 'informer_watch_errors_total',
    help: 'Broken watches by reason',
    labels: ['kind', 'reason'],
  });
  return {
    relists: (reason: string) => relists.with({ kind, reason }),
    watchErrors: (reason: string) => errors.with({ kind, reason }),
    synced: metrics
      .gauge({ name: 'informer_synced', help: '1 once the first list is in', labels: ['kind'] })
      .with(labels),
    objects: metrics
      .gauge({ name: 'informer_objects', help: 'Objects in the local copy', labels: ['kind'] })
      .with(labels),
    version: metrics
      .gauge({ name: 'informer_resource_version', help: 'Last resourceVersion seen', labels: ['kind'] })
      .with(labels),
    lastEvent: metrics
      .gauge({
        name: 'informer_last_event_timestamp_seconds',
        help: 'When the server was last heard of',
        labels: ['kind'],
      })
      .with(labels),
    bookmarks: metrics
      .counter({ name: 'informer_bookmarks_total', help: 'Bookmarks', labels: ['kind'] })
      .with(labels),
    misses: metrics
      .counter({
        name: 'informer_cache_miss_total',
        help: 'Differences found by the audit: 0 for ever',
        labels: ['kind'],
      })
      .with(labels),
    handlerErrors: metrics
      .counter({ name: 'informer_handler_errors_total', help: 'Event handlers that threw', labels: ['kind'] })
      .with(labels),
  };
}
