import { join } from 'node:path';
import { createSqliteLedger } from '../../../adapters/store/ledger/sqlite-ledger.js';
import type { DecisionView } from '../../../core/ledger/query.js';
import type { EpochMs } from '../../../core/units/time.js';

/** Tenant of the paymasters that the quickstart's token makes. */
const organisation = 'quickstart';

/** Every decision in the ledger of a data directory, the newest first. */
export async function readLedger(dataDirectory: string): Promise<readonly DecisionView[]> {
  const ledger = await createSqliteLedger({ path: join(dataDirectory, 'usage.sqlite') });
  try {
    const all: DecisionView[] = [];
    const range = { organisation, from: 0 as EpochMs, to: Number.MAX_SAFE_INTEGER as EpochMs, limit: 500 };
    for (let before: string | undefined; ;) {
      const page = await ledger.decisions({ ...range, ...(before === undefined ? {} : { before }) });
      all.push(...page.decisions);
      if (page.next === undefined) return all;
      before = page.next;
    }
  } finally {
    await ledger.stop();
  }
}
