import type { Retention } from '../../../core/ledger/ledger.js';
import { accountValue } from '../../../core/ledger/shares.js';
import type { AccountName, FundsHistory } from '../../../core/ledger/query.js';
import type { FundsSample } from '../../../core/ledger/record.js';
import { startOf, type Range } from '../../../core/ledger/steps.js';
import type { EpochMs } from '../../../core/units/time.js';
import { openDatabase, usedBytes, type Database, type DatabaseOptions } from '../../sqlite/database.js';
import { migrate } from '../../sqlite/migrate.js';
import { integerOf, textOf } from '../../sqlite/row.js';
import { toMinutes } from './rollup-rows.js';

const dayMinutes = 1440;

const tables = [
  `CREATE TABLE accounts (id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE) STRICT;
   -- minute: since 1970. at: in ms.
   CREATE TABLE samples (
     account INTEGER NOT NULL,
     minute INTEGER NOT NULL,
     at INTEGER NOT NULL,
     balance_wei TEXT NOT NULL,
     promised_wei TEXT NOT NULL,
     PRIMARY KEY (account, minute)
   ) STRICT, WITHOUT ROWID;
   -- Before this minute one sample of each hour is left.
   CREATE TABLE thinned (one INTEGER PRIMARY KEY CHECK (one = 1), minute INTEGER NOT NULL) STRICT;`,
];

export type FundsFile = {
  append(samples: readonly FundsSample[]): void;
  samples(account: AccountName, range: Range): FundsHistory['samples'];
  /** Thins out at most one day; true while there is more to do. */
  prune(now: EpochMs, retention: Retention): boolean;
  ping(): void;
  bytes(): number;
  close(): void;
};

export function openFundsFile(path: string, options: DatabaseOptions): FundsFile {
  const database = openDatabase(path, options);
  try {
    migrate(database, 'ledger-funds', tables);
    return fundsFileOf(database);
  } catch (error) {
    database.close();
    throw error;
  }
}

function fundsFileOf(database: Database): FundsFile {
  const { sql } = database;
  const addAccount = sql.prepare('INSERT INTO accounts (name) VALUES (?) ON CONFLICT DO NOTHING');
  const accountId = sql.prepare('SELECT id FROM accounts WHERE name = ?');
  const add = sql.prepare('INSERT INTO samples VALUES (?, ?, ?, ?, ?) ON CONFLICT DO NOTHING');
  const read = sql.prepare(
    'SELECT at, balance_wei, promised_wei FROM samples WHERE account = ? AND minute BETWEEN ? AND ? AND at >= ? AND at < ?',
  );
  const accounts = sql.prepare('SELECT id FROM accounts');
  const drop = sql.prepare('DELETE FROM samples WHERE account = ? AND minute < ?');
  // The first of an hour has none before it, so that it stays whatever the order of deletion.
  const thin = sql.prepare(
    `DELETE FROM samples WHERE account = ?1 AND minute >= ?2 AND minute < ?3 AND EXISTS (
       SELECT 1 FROM samples earlier WHERE earlier.account = ?1
         AND earlier.minute >= samples.minute - samples.minute % 60 AND earlier.minute < samples.minute)`,
  );
  const oldestSample = sql.prepare('SELECT MIN(minute) AS minute FROM samples');
  const thinnedUntil = sql.prepare('SELECT minute FROM thinned');
  const noteThinned = sql.prepare('INSERT OR REPLACE INTO thinned VALUES (1, ?)');

  return {
    append: (samples) =>
      database.transaction(() => {
        for (const sample of samples) {
          const name = nameOf(sample);
          addAccount.run(name);
          const account = integerOf(accountId.get(name) ?? {}, 'id');
          const minute = toMinutes(startOf(sample.at, 'minute'));
          add.run(account, minute, sample.at, String(sample.balanceWei), String(sample.promisedWei));
        }
      }),

    samples: (account, { from, to }) =>
      database.run(() => {
        const row = accountId.get(nameOf(account));
        if (row === undefined) return [];
        const [first, last] = [toMinutes(startOf(from, 'minute')), toMinutes(startOf(to, 'minute'))];
        return read.all(integerOf(row, 'id'), first, last, from, to).map((sample) => ({
          at: integerOf(sample, 'at') as EpochMs,
          balanceWei: BigInt(textOf(sample, 'balance_wei')),
          promisedWei: BigInt(textOf(sample, 'promised_wei')),
        }));
      }),

    prune: (now, retention) =>
      database.transaction(() => {
        const today = toMinutes(startOf(now, 'day'));
        const dropBefore = today - retention.decisions * dayMinutes;
        const thinBefore = today - retention.funds * dayMinutes;
        const ids = accounts.all().map((row) => integerOf(row, 'id'));
        for (const id of ids) drop.run(id, dropBefore);
        const oldest = oldestSample.get()?.['minute'];
        if (typeof oldest !== 'number') return false;
        const noted = Number(thinnedUntil.get()?.['minute'] ?? 0);
        const from = Math.max(noted, oldest - (oldest % dayMinutes));
        const to = Math.min(from + dayMinutes, thinBefore);
        if (from >= to) return false;
        for (const id of ids) thin.run(id, from, to);
        noteThinned.run(to);
        return to < thinBefore;
      }),

    ping: () => database.run(() => void thinnedUntil.get()),
    bytes: () => usedBytes(database),
    close: () => database.close(),
  };
}

function nameOf(account: AccountName): string {
  return accountValue(account) ?? '';
}
