import { createMetrics } from '../../../adapters/metrics/prometheus.js';
import { parsePostgresUrl } from '../../../adapters/postgres/address.js';
import { createPostgresLedger } from '../../../adapters/store/ledger/postgres-ledger.js';
import { createSqliteLedger } from '../../../adapters/store/ledger/sqlite-ledger.js';
import type { Ledger, LedgerMaintenance } from '../../../core/ledger/ledger.js';
import { silentLogger } from '../../../core/log.js';
import { systemClock } from '../../../core/units/time.js';
import { createLedgerKeeping } from '../../../server/ledger/keeping.js';
import { usageFile } from './usage.js';

/** `place`: an address of PostgreSQL, or the directory of an embedded store. */
export async function openLedger(place: string): Promise<Ledger & LedgerMaintenance> {
  return place.startsWith('postgres')
    ? createPostgresLedger({ address: parsePostgresUrl('--postgres', place), clock: systemClock })
    : createSqliteLedger({ path: usageFile(place) });
}

/** Keeps the ledger's sums, as a server does. */
export async function keepLedger(place: string): Promise<{ stop(): Promise<void> }> {
  const ambient = { clock: systemClock, log: silentLogger, metrics: createMetrics() };
  const ledger = await openLedger(place);
  const keeping = createLedgerKeeping({ ledger, processes: 1, ...ambient });
  keeping.start();
  return {
    stop: async () => {
      await keeping.stop();
      await ledger.stop();
    },
  };
}
