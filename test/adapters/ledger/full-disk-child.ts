import { createSqliteLedger } from '../../../adapters/ledger/sqlite/ledger.js';
import { isDomainError } from '../../../core/errors.js';
import type { RecordId } from '../../../core/ledger/record.js';
import type { EpochMs } from '../../../core/units/time.js';
import { aDecision, aSettlement, at, reservationOf } from '../../conformance/ledger-records.js';

/** Appends a batch on command. Its parent bounds the size of its files: SQLite sees the refused write as a full disk. */
export type Told = { readonly again: boolean };
/** `error`: code of the failure; undefined: stored. `ids` of the batch. */
export type Said = { readonly error: string | undefined; readonly ids: readonly RecordId[] };

const [directory = ''] = process.argv.slice(2);
const noon = at('2026-01-31T12:00:00Z');
const ledger = await createSqliteLedger({ directory, durability: 'process' });
let made = 0;
let batch: ReturnType<typeof nextBatch> = [];

function nextBatch() {
  return Array.from({ length: 100 }, () => {
    made += 1;
    const decision = aDecision('acme', (noon + made) as EpochMs);
    return reservationOf(decision, aSettlement(decision, noon));
  }).flat();
}

process.on('message', ({ again }: Told) => {
  if (!again) batch = nextBatch();
  const ids = batch
    .map(({ record }) => record)
    .filter(({ kind }) => kind === 'decision')
    .map(({ id }) => id);
  const answer = (error?: string): void => void process.send?.({ error, ids } satisfies Said);
  ledger.append(batch).then(
    () => answer(),
    (error: unknown) => answer(isDomainError(error) ? error.code : String(error)),
  );
});
process.on('disconnect', () => void ledger.stop().finally(() => process.exit(0)));
process.send?.({ error: undefined, ids: [] } satisfies Said);
