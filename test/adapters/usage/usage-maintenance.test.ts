import { join } from 'node:path';
import { mock } from 'node:test';
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { openReader } from '../../../adapters/sqlite/database.js';
import { openSqliteTables, type SqliteTables } from '../../../adapters/store/ledger/sqlite-tables.js';
import { createSqliteLedgerWriter } from '../../../adapters/store/ledger/write.js';
import { openUsageDatabase } from '../../../adapters/store/sqlite/usage.js';
import { UsageMaintenance } from '../../../adapters/store/sqlite/usage-maintenance.js';
import { createUsageTables, type UsageTables } from '../../../adapters/store/sqlite/usage-tables.js';
import { silentLogger } from '../../../core/log.js';
import type { EpochMs } from '../../../core/units/time.js';
import { aDirectory } from './sqlite-usage.js';

const now = 1_700_000_000_000 as EpochMs;
/** The message of a write alone fills so many pages of the log. */
const pagesOfWrite = 25;
const message = 'x'.repeat(pagesOfWrite * 4_096);
/** After so many rows the log is looked at. */
const rowsOfWrite = 250;

let directory: ReturnType<typeof aDirectory>;
let tables: UsageTables;
let ofLedger: SqliteTables;
let maintenance: UsageMaintenance;
const path = () => join(directory.path, 'usage.db');
beforeEach(() => {
  mock.timers.enable({ apis: ['setTimeout', 'setImmediate'] });
  directory = aDirectory();
  const db = openUsageDatabase({ path: path(), durability: 'process' });
  tables = createUsageTables(db, createSqliteLedgerWriter(db));
  ofLedger = openSqliteTables(db.path);
  maintenance = new UsageMaintenance({ tables, log: silentLogger, forget: () => {} });
});
afterEach(() => {
  maintenance.stop();
  ofLedger.close();
  tables.close();
  mock.timers.reset();
  directory.remove();
});

/** A commit, and one turn of the event loop. */
function write(id = 'paymaster'): void {
  tables.write([], new Map([[id, { message, expiresAt: now }]]), []);
  maintenance.afterCommit(rowsOfWrite, now);
  mock.timers.tick(0);
}

function writeUntil(isDone: (log: ReturnType<UsageTables['logOfCommits']>) => boolean): void {
  for (let n = 0; n < 1_000; n++) {
    if (isDone(tables.logOfCommits())) return;
    write();
  }
  throw new Error(`the log stays at ${JSON.stringify(tables.logOfCommits())}`);
}

describe('the log of commits', () => {
  test('is moved a second after the last commit, and not a second after the first', () => {
    for (let step = 0; step < 30; step++) {
      write();
      mock.timers.tick(100);
    }
    expect(tables.logOfCommits().left).toBeGreaterThan(29 * pagesOfWrite);
    mock.timers.tick(2_000);
    expect(tables.logOfCommits().left).toBe(0);
  });

  test('starts again when the thread of the ledger has moved most of a long one', () => {
    writeUntil(({ pages }) => pages > 3_000);
    expect(tables.logOfCommits().left).toBeGreaterThan(3_000);
    // As while turns write: what comes after a reader's snapshot is not moved.
    const reader = openReader(path());
    reader.sql.exec('BEGIN; SELECT 1 FROM usage_messages');
    write();
    ofLedger.checkpoint();
    reader.close();
    expect(tables.logOfCommits().left).toBeGreaterThanOrEqual(pagesOfWrite);
    write();
    expect(tables.logOfCommits().left).toBe(0);
    write();
    expect(tables.logOfCommits().pages).toBeLessThan(100);
  });

  test('is left alone while it is short', () => {
    writeUntil(({ pages }) => pages > 1_000);
    ofLedger.checkpoint();
    write();
    expect(tables.logOfCommits().left).toBeGreaterThanOrEqual(pagesOfWrite);
  });

  test('is moved here when nobody else does, before it has grown by more than 25 MB', () => {
    let longest = 0;
    writeUntil(({ pages, left }) => {
      longest = Math.max(longest, pages);
      return left === 0 && pages > 1;
    });
    expect(longest).toBeGreaterThan(4_500);
    expect(longest * 4_096).toBeLessThan(25e6);
    write();
    expect(tables.logOfCommits().pages).toBeLessThan(100);
  });
});
