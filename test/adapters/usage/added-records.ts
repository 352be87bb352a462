import type { LedgerFeed } from '../../../core/ledger/feed.js';
import type { AddedRecord } from '../../../core/usage/usage-store.js';
import { recordsIn } from '../../conformance/feed-records.js';

/** Reads and acknowledges everything that a feed holds. */
export async function recordsOf(feed: LedgerFeed): Promise<readonly AddedRecord[]> {
  const found: AddedRecord[] = [];
  for (;;) {
    const entries = await feed.read(100, 0);
    if (entries.length === 0) return found;
    found.push(...entries.flatMap(recordsIn));
    await feed.acknowledge(entries);
  }
}
