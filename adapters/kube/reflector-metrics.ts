import type { Metrics } from '../../core/metrics.js';

/** Metrics of a reflector, by kind. */
export function createInstruments(metrics: Metrics, kind: string) {
  const gauge = (name: string, help: string) =>
    metrics.gauge({ name, help, labels: ['kind'] }).with({ kind });
  const counter = (name: string, help: string) =>
    metrics.counter({ name, help, labels: ['kind'] }).with({ kind });
  const byReason = (name: string, help: string) => {
    const reasons = metrics.counter({ name, help, labels: ['kind', 'reason'] });
    return (reason: string) => reasons.with({ kind, reason });
  };
  return {
    relists: byReason('informer_relists_total', 'Full lists by reason'),
    watchErrors: byReason('informer_watch_errors_total', 'Broken watches by reason'),
    synced: gauge('informer_synced', '1 once the first list is in'),
    objects: gauge('informer_objects', 'Objects in the local copy'),
    version: gauge('informer_resource_version', 'Last resourceVersion seen'),
    lastEvent: gauge('informer_last_event_timestamp_seconds', 'When the server was last heard of'),
    bookmarks: counter('informer_bookmarks_total', 'Bookmarks'),
    misses: counter('informer_cache_miss_total', 'Differences found by the audit: 0 for ever'),
    handlerErrors: counter('informer_handler_errors_total', 'Event handlers that threw'),
  };
}
