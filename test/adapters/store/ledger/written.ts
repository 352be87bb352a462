import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createPostgres, type Postgres } from '../../../../adapters/postgres/transactions.js';
import { parsePostgresUrl } from '../../../../adapters/postgres/address.js';
import { makeParts } from '../../../../adapters/store/ledger/partitions.js';
import {
  createPostgresLedger,
  type StoredLedger,
} from '../../../../adapters/store/ledger/postgres-ledger.js';
import { createSqliteLedger } from '../../../../adapters/store/ledger/sqlite-ledger.js';
import { migrateSqliteLedger } from '../../../../adapters/store/ledger/sqlite-tables.js';
import { createSqliteLedgerWriter, ledgerStatements } from '../../../../adapters/store/ledger/write.js';
import { openDatabase, type Database } from '../../../../adapters/sqlite/database.js';
import type { LedgerEntry } from '../../../../core/ledger/ledger.js';
import type { TestedLedger } from '../../../fakes/memory-ledger.js';
import { recordTime } from '../../../../core/ledger/record-id.js';
import type { EpochMs } from '../../../../core/units/time.js';

/** A stored ledger whose `append` writes entries as turns do, and then adds them to the sums. */
export type WrittenLedger<L extends StoredLedger = StoredLedger> = TestedLedger & L;

const perTurn = 2_000;

export function writtenLedger<L extends StoredLedger>(
  ledger: L,
  write: (entries: readonly LedgerEntry[]) => Promise<void>,
): WrittenLedger<L> {
  return {
    ...ledger,
    append: async (entries) => {
      await ledger.ping();
      for (let from = 0; from < entries.length; from += perTurn)
        await write(entries.slice(from, from + perTurn));
      while (await ledger.rollUp());
    },
  };
}

/** In a separate database. The days of entries get their parts before they are written. */
export function openPostgresLedger(
  url: string,
  options: Partial<Parameters<typeof createPostgresLedger>[0]> = {},
): WrittenLedger<ReturnType<typeof createPostgresLedger>> & { readonly postgres: Postgres } {
  const address = parsePostgresUrl('url', url);
  const postgres = createPostgres({ address });
  const ledger = createPostgresLedger({ address, clock: { now: () => Date.now() as EpochMs }, ...options });
  const stopping = {
    ...ledger,
    stop: async () => void (await Promise.all([ledger.stop(), postgres.stop()])),
  };
  return { ...writtenLedger(stopping, (entries) => writePostgres(postgres, entries)), postgres };
}

export async function writePostgres(postgres: Postgres, entries: readonly LedgerEntry[]): Promise<void> {
  await makeParts(
    postgres,
    ['decision', 'settlement', 'gap', 'funds', 'movement'],
    new Set(entries.map(({ record }) => recordTime(record.id))),
  );
  await postgres.transaction({ mode: 'write', timeoutMs: 30_000 }, async (session) => {
    for (const { text, values } of ledgerStatements(entries)) await session.query(text, values);
  });
}

/** In a separate file, in a directory that goes with it. */
export async function openSqliteLedger(
  options: Partial<Parameters<typeof createSqliteLedger>[0]> = {},
): Promise<WrittenLedger & { readonly db: Database; write(entries: readonly LedgerEntry[]): Promise<void> }> {
  const directory = mkdtempSync(join(tmpdir(), 'ledger-'));
  const path = join(directory, 'usage.sqlite');
  const db = openDatabase(path, { durability: 'process', exclusive: true });
  migrateSqliteLedger(db);
  const writer = createSqliteLedgerWriter(db);
  const ledger = await createSqliteLedger({ path, ...options });
  const stopping = {
    ...ledger,
    stop: async () => {
      await ledger.stop();
      db.close();
      rmSync(directory, { recursive: true, force: true });
    },
  };
  const write = async (entries: readonly LedgerEntry[]): Promise<void> =>
    db.transaction(() => writer.write(entries));
  return { ...writtenLedger(stopping, write), db, write };
}
