import { join } from 'node:path';
import { afterEach, expect, test } from '@jest/globals';
import { openDatabase, type Database } from '../../../adapters/sqlite/database.js';
import { migrate } from '../../../adapters/sqlite/migrate.js';
import { LedgerOutbox, outboxSteps } from '../../../adapters/usage/embedded/ledger-outbox.js';
import { openUsageDatabase } from '../../../adapters/usage/embedded/usage.js';
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
  return { db, outbox, commit, left: () => leftIn(db) };
}
const leftIn = (db: Database) =>
  new LedgerOutbox(db)
    .read(0, 100)
    .map(({ position, chainId, text, addedAt }) => [
      position,
      chainId,
      addedAt,
      text.split('\n').map((line) => line.split('\t')),
    ]);
const texts = (...list: readonly string[]) => list.map((text) => ({ reservation: undefined, text }));

test('any rows can be removed, in any order', () => {
  const { db, outbox, commit, left } = anOutbox();
  outbox.add(1, texts('a', 'bb', 'ü€😀'), now);
  outbox.add(2, texts('f'), now);
  commit();
  outbox.add(1, texts('g', 'h'), now);
  commit();
  const remove = (...positions: readonly number[]): void => {
    outbox.remove(outbox.read(0, 100).filter(({ position }) => positions.includes(position)));
    commit();
  };
  remove(2);
  expect(left()).toEqual([
    [1, 1, now, [['0'], ['', '', 'a'], ['', '', 'bb'], ['', '', 'ü€😀']]],
    [3, 1, now, [['0'], ['', '', 'g'], ['', '', 'h']]],
  ]);
  expect(outbox.size()).toEqual(new LedgerOutbox(db).size());
  expect(outbox.size()).toEqual({ length: 2, bytes: 31 });
  remove(3, 1);
  expect(left()).toEqual([]);
  expect(outbox.size()).toEqual({ length: 0, bytes: 0 });
  db.close();
});

test('what records have in common is in a row once', () => {
  const { db, outbox, commit, left } = anOutbox();
  const records = ['x', 'y', 'x', undefined].map((context, i) => ({
    reservation: `id-${i}`,
    text: `t${i}`,
    ...(context !== undefined && { context }),
  }));
  outbox.add(1, records, now);
  commit();
  const lines = [
    ['2'],
    ['x'],
    ['y'],
    ['id-0', '0', 't0'],
    ['id-1', '1', 't1'],
    ['id-2', '0', 't2'],
    ['id-3', '', 't3'],
  ];
  expect(left()).toEqual([[1, 1, now, lines]]);
  db.close();
});

test('records of the former forms of the table are still there', () => {
  const former = openDatabase(path(), { durability: 'process' });
  migrate(former, 'ledger-outbox', outboxSteps.slice(0, 1));
  former.sql.exec(
    `INSERT INTO ledger_outbox VALUES (4, 10, 'id-1', 'the text', 7), (5, 10, NULL, 'another', 8)`,
  );
  migrate(former, 'ledger-outbox', outboxSteps.slice(0, 2));
  former.sql.exec(
    `INSERT INTO ledger_outbox VALUES (8, 6, 11, 9, 3, '[6,0,"id-6",7,3,null,8,5,"id-8"]', 'aüab€ccc')`,
  );
  former.close();
  const db = openUsageDatabase({ path: path(), durability: 'process' });
  expect(leftIn(db)).toEqual([
    [4, 10, 7, [['0'], ['id-1', '', 'the text']]],
    [5, 10, 8, [['0'], ['', '', 'another']]],
    [8, 11, 9, [['0'], ['id-6', '', 'aüa'], ['', '', 'b€'], ['id-8', '', 'ccc']]],
  ]);
  db.close();
});
