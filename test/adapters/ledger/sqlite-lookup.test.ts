import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, expect, test } from '@jest/globals';
import type { SearchTerms } from '../../../adapters/ledger/sqlite/lookup.js';
import { openMonthFile, type MonthFile } from '../../../adapters/ledger/sqlite/month-file.js';
import { monthTables } from '../../../adapters/ledger/sqlite/month-tables.js';
import { openDatabase } from '../../../adapters/sqlite/database.js';
import { migrate } from '../../../adapters/sqlite/migrate.js';
import { lowestRecordId } from '../../../core/ledger/record-id.js';
import type { RecordId } from '../../../core/ledger/record.js';
import type { EpochMs } from '../../../core/units/time.js';

const january = Date.parse('2026-01-05T00:00:00Z') as EpochMs;
const february = lowestRecordId(Date.parse('2026-02-01T00:00:00Z') as EpochMs);
const options = { durability: 'process' } as const;
const opened: MonthFile[] = [];
const directories: string[] = [];
afterEach(() => {
  for (const month of opened.splice(0)) month.close();
  for (const directory of directories.splice(0)) rmSync(directory, { recursive: true, force: true });
});

function aPath(): string {
  const directory = mkdtempSync(join(tmpdir(), 'ledger-lookup-'));
  directories.push(directory);
  return join(directory, 'month.sqlite');
}

function open(path: string): MonthFile {
  const month = openMonthFile(path, options);
  opened.push(month);
  return month;
}

/** The n-th id of the month. */
function idOf(index: number): RecordId {
  return lowestRecordId((january + index) as EpochMs);
}

/** All ids that the lookup answers, the highest first; each source must be in this order by itself. */
function search(month: MonthFile, terms: SearchTerms, before = february, organisation = 1): RecordId[] {
  const sources = month.lookup.search(organisation, terms, before) ?? [];
  return sources
    .flatMap((source) => {
      const ids = [...{ [Symbol.iterator]: () => source }];
      expect(ids).toEqual(ids.toSorted().toReversed());
      return ids;
    })
    .toSorted()
    .toReversed();
}

test('finds every decision by each of its texts, in full segments and among the newest, also after a restart', () => {
  const path = aPath();
  const first = open(path);
  const count = 40_000;
  const senders = 1_000;
  const senderOf = (index: number): string => `0x${index % senders}`;
  // In no order, and in batches of many sizes.
  for (let from = 0, size = 1; from < count; from += size, size = (size * 7) % 4_001) {
    const until = Math.min(count, from + size);
    first.transaction(() => {
      for (let index = until - 1; index >= from; index -= 1)
        first.lookup.add(1, idOf(index), { sender: senderOf(index), requestId: `request ${index}` });
    });
  }
  const month = open(path);
  for (const index of [0, 1, 9_999, 20_000, 32_767, count - 1])
    expect(search(month, { requestId: `request ${index}`, sender: 'not looked at' })).toEqual([idOf(index)]);
  const ofSender = Array.from({ length: count / senders }, (_, round) => idOf(round * senders + 7)).reverse();
  expect(search(month, { sender: senderOf(7) })).toEqual(ofSender);
  expect(search(month, { sender: senderOf(7) }, ofSender[4])).toEqual(ofSender.slice(5));
  expect(search(month, { sender: senderOf(7) }, february, 2)).toEqual([]);
  expect(search(month, { sender: 'nobody' })).toEqual([]);
  expect(month.lookup.search(1, {}, february)).toBeUndefined();
  // Most are in segments, and some are not.
  const rows = (table: string) => Number(month.statement(`SELECT count(*) AS n FROM ${table}`).get()?.['n']);
  expect(rows('lookup_segments')).toBe(2 * 256);
  expect(rows('lookup_new')).toBeGreaterThan(1);
});

test('what a failed transaction has added is not found, and not stored by the next one', () => {
  const month = open(aPath());
  expect(() =>
    month.transaction(() => {
      month.lookup.add(1, idOf(1), { sender: '0x1' });
      throw new Error('the disk is full');
    }),
  ).toThrow('the disk is full');
  month.transaction(() => month.lookup.add(1, idOf(2), { sender: '0x1' }));
  expect(search(month, { sender: '0x1' })).toEqual([idOf(2)]);
});

test('the entries of the first form of the table are still found', () => {
  const path = aPath();
  const former = openDatabase(path, options);
  migrate(former, 'ledger', monthTables.slice(0, 1));
  // Of "1 sender 0x1".
  const formerHash = 1_447_082_303_586_418;
  const insert = former.sql.prepare('INSERT INTO lookup VALUES (?, ?, ?)');
  for (const [segment, index] of [
    [0, 5],
    [0, 3],
    [1, 9],
  ] as const)
    insert.run(segment, formerHash, idOf(index));
  insert.run(0, formerHash + 1, idOf(4));
  former.close();
  const month = open(path);
  month.transaction(() => month.lookup.add(1, idOf(11), { sender: '0x1' }));
  expect(search(month, { sender: '0x1' })).toEqual([11, 9, 5, 3].map(idOf));
});
