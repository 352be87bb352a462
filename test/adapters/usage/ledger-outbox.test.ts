import { join } from 'node:path';
import { afterEach, expect, test } from '@jest/globals';
import { openDatabase } from '../../../adapters/sqlite/database.js';
import { migrate } from '../../../adapters/sqlite/migrate.js';
import { LedgerOutbox, outboxSteps } from '../../../adapters/usage/embedded/ledger-outbox.js';
import { openUsageDatabase } from '../../../adapters/usage/embedded/usage.js';
import { usageSchema } from '../../../adapters/usage/embedded/usage-tables.js';
import type { EpochMs } from '../../../core/units/time.js';
import { aDirectory } from './sqlite-usage.js';

let directory = aDirectory();
afterEach(() => {
  directory.remove();
  directory = aDirectory();
});
const path = () => join(directory.path, 'usage.db');
const now = 7 as EpochMs;

/** An outbox over a new file, and what is left in its table. */
function anOutbox() {
  const db = openUsageDatabase({ path: path(), durability: 'process' });
  const outbox = new LedgerOutbox(db);
  const commit = (): void => {
    db.transaction(() => outbox.put());
    outbox.committed();
  };
  const left = () => new LedgerOutbox(db).read(0, 100).map(({ position, text }) => [position, text]);
  return { db, outbox, commit, left };
}
const texts = (...list: readonly string[]) => list.map((text) => ({ reservation: undefined, text }));

test('of the records of a turn any part can be removed, in any order', () => {
  const { db, outbox, commit, left } = anOutbox();
  outbox.add(1, texts('a', 'bb', 'ü€😀', 'd', 'e'), now);
  outbox.add(2, texts('f'), now);
  commit();
  outbox.add(1, texts('g', 'h'), now);
  commit();
  const remove = (from: number, to: number): void => {
    outbox.remove({ from, to, bytes: 0 });
    commit();
  };
  remove(2, 2);
  expect(left()).toEqual([
    [1, 'a'],
    [3, 'ü€😀'],
    [4, 'd'],
    [5, 'e'],
    [6, 'f'],
    [7, 'g'],
    [8, 'h'],
  ]);
  remove(5, 7);
  expect(left()).toEqual([
    [1, 'a'],
    [3, 'ü€😀'],
    [4, 'd'],
    [8, 'h'],
  ]);
  remove(4, 4);
  remove(1, 1);
  expect(left()).toEqual([
    [3, 'ü€😀'],
    [8, 'h'],
  ]);
  expect(new LedgerOutbox(db).size()).toEqual({ length: 2, bytes: 10 });
  remove(1, 8);
  expect(left()).toEqual([]);
  db.close();
});

test('two ranges of one row are removed in one transaction', () => {
  const { db, outbox, commit, left } = anOutbox();
  outbox.add(1, texts('a', 'b', 'c', 'd', 'e'), now);
  commit();
  outbox.remove({ from: 1, to: 2, bytes: 2 });
  outbox.remove({ from: 4, to: 4, bytes: 1 });
  commit();
  expect(left()).toEqual([
    [3, 'c'],
    [5, 'e'],
  ]);
  db.close();
});

test('records of the first form of the table are still there', () => {
  const former = openDatabase(path(), { durability: 'process' });
  migrate(former, 'ledger-outbox', outboxSteps.slice(0, 1));
  former.sql.exec(
    `INSERT INTO ledger_outbox VALUES (4, 10, 'id-1', 'the text', 7), (5, 10, NULL, 'another', 8)`,
  );
  former.close();
  const db = openUsageDatabase({ path: path(), durability: 'process' });
  expect(new LedgerOutbox(db).read(0, 10)).toEqual([
    { position: 4, chainId: 10, reservation: 'id-1', text: 'the text', bytes: 8, addedAt: 7 },
    { position: 5, chainId: 10, reservation: undefined, text: 'another', bytes: 7, addedAt: 8 },
  ]);
  db.close();
});

test('a build that does not know the outbox opens the file', () => {
  const { db, outbox, commit } = anOutbox();
  outbox.add(1, texts('a'), now);
  commit();
  db.close();
  const former = openDatabase(path(), { durability: 'process' });
  expect(() => migrate(former, 'usage', [usageSchema])).not.toThrow();
  former.close();
});

test('a reservation is read back whatever characters it has', () => {
  const { db, outbox, commit } = anOutbox();
  const records = ['id-1', 'a "quoted", \\ id', 'ü'].map((reservation) => ({
    reservation,
    text: reservation,
  }));
  outbox.add(1, records, now);
  commit();
  expect(new LedgerOutbox(db).read(0, 10)).toMatchObject(records);
  db.close();
});
