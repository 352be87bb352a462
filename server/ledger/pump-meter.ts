import type { FeedState } from '../../core/ledger/feed.js';
import type { LedgerSize, StoredRecord } from '../../core/ledger/ledger.js';
import type { LedgerRecord } from '../../core/ledger/record.js';
import type { Metrics } from '../../core/metrics.js';

/** Metrics of a process that moves records to the ledger. */
export type PumpMeter = ReturnType<typeof createPumpMeter>;

const kinds = [
  'decision',
  'settlement',
  'reversal',
  'funds',
  'inputs',
  'gap',
] as const satisfies readonly LedgerRecord['kind'][];
const causes = ['rate', 'space', 'signed'] as const;

export function createPumpMeter(metrics: Metrics) {
  const stored = metrics.counter<'kind'>({
    name: 'paymaster_ledger_stored_total',
    help: 'Records that were moved to the ledger, by kind. A record that is moved twice counts twice and is stored once.',
    labels: ['kind'],
  });
  const missing = metrics.counter<'cause'>({
    name: 'paymaster_ledger_missing_total',
    help: 'Records that are missing in the ledger, as its gaps say: rate and space (refusals), signed (signed without a record).',
    labels: ['cause'],
  });
  const counter = (name: string, help: string) => metrics.counter({ name, help }).with({});
  const gauge = (name: string, help: string) => metrics.gauge({ name, help }).with({});
  const left = counter(
    'paymaster_ledger_left_total',
    'Times that a record was left in the feed: it is of a newer release, or the ledger refuses it.',
  );
  const failures = counter(
    'paymaster_ledger_failures_total',
    'Times that records could not be read, stored or acknowledged; it is tried again.',
  );
  const length = gauge(
    'paymaster_ledger_feed_length',
    'Entries that wait to be stored; an entry holds the records of a moment.',
  );
  const bytes = gauge('paymaster_ledger_feed_bytes', 'Bytes of records that wait to be stored.');
  const lag = gauge('paymaster_ledger_feed_lag_seconds', 'Age of the oldest record that waits to be stored.');
  const fullness = gauge(
    'paymaster_ledger_feed_fullness_ratio',
    'Share of the room for waiting records that is taken: above 0.5 refusals are not recorded, at 1 signing stops.',
  );
  const capacity = gauge(
    'paymaster_ledger_capacity_bytes',
    'Bytes that the ledger may take; 0: it is not bounded by bytes. Beyond, the oldest inputs of decisions are removed first.',
  );
  const used = gauge('paymaster_ledger_used_bytes', 'Bytes that the records of the ledger take.');
  const ofKind = new Map(kinds.map((kind) => [kind, stored.with({ kind })]));
  const ofCause = new Map(causes.map((cause) => [cause, missing.with({ cause })]));
  return {
    stored(records: readonly StoredRecord[]): void {
      const counts = new Map<LedgerRecord['kind'], number>();
      for (const record of records) {
        const kind = typeof record === 'string' ? record : record.kind;
        counts.set(kind, (counts.get(kind) ?? 0) + 1);
        if (typeof record !== 'string') ofCause.get(record.cause)?.inc(record.count);
      }
      for (const [kind, count] of counts) ofKind.get(kind)?.inc(count);
    },
    /** A record stays in the feed. */
    left: (): void => left.inc(),
    failed: (): void => failures.inc(),
    size(size: LedgerSize): void {
      capacity.set(size.capacity);
      used.set(size.used);
    },
    state(state: FeedState): void {
      length.set(state.length);
      bytes.set(state.bytes);
      lag.set(state.lagMs / 1000);
      fullness.set(state.fullness);
    },
  };
}
