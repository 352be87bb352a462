import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, expect, test } from '@jest/globals';
import { createFileEpochMirror } from '../../../adapters/store/file-epoch-mirror.js';
import { openDatabase } from '../../../adapters/sqlite/database.js';
import { formatEpoch, parseEpoch } from '../../../adapters/store/epoch-text.js';
import { createSqliteEpochMirror } from '../../../adapters/store/sqlite/epoch-mirror.js';
import { createMemoryEpochMirror } from '../../../core/usage/epoch.js';
import { epochMirrorConformance } from '../../conformance/epoch-mirror.js';
import { startMs } from '../../conformance/usage-requests.js';
import { aDirectory } from './sqlite-usage.js';

const cleanUps: (() => void)[] = [];
afterEach(() => {
  for (const cleanUp of cleanUps.splice(0)) cleanUp();
});

function aPath(): string {
  const directory = aDirectory();
  cleanUps.push(() => directory.remove());
  return join(directory.path, 'epochs');
}

epochMirrorConformance('in memory', async () => {
  const mirror = createMemoryEpochMirror();
  return { mirror, reopen: async () => mirror };
});

epochMirrorConformance('in files', async () => {
  const path = aPath();
  return { mirror: createFileEpochMirror(path), reopen: async () => createFileEpochMirror(path) };
});

epochMirrorConformance('in SQLite', async () => {
  const path = aPath();
  const open = () => {
    const db = openDatabase(path, { durability: 'process' });
    cleanUps.unshift(() => db.close());
    return createSqliteEpochMirror({ db });
  };
  return { mirror: open(), reopen: async () => open() };
});

test('a chain that began anew is forgotten, and no other', async () => {
  const db = openDatabase(':memory:', { durability: 'process' });
  const mirror = createSqliteEpochMirror({ db });
  const epoch = { id: 'first', since: startMs, sequence: 0, longestExpiryMs: 1 };
  await mirror.put(1, epoch, undefined);
  await mirror.put(2, epoch, undefined);
  mirror.forget(1);
  expect(await mirror.get(1)).toBeUndefined();
  expect(await mirror.get(2)).toEqual(epoch);
  db.close();
});

test('an operator in the same process hears of a copy when it is written, and of no other', async () => {
  const db = openDatabase(':memory:', { durability: 'process' });
  const mirror = createSqliteEpochMirror({ db });
  const epoch = { id: 'first', since: startMs, sequence: 0, longestExpiryMs: 1 };
  const heard: unknown[] = [];
  mirror.onChange(() => void mirror.all().then((all) => heard.push(all.get(1))));
  await mirror.put(1, epoch, undefined);
  await mirror.put(1, { ...epoch, id: 'second' }, undefined);
  expect(heard).toEqual([epoch]);
  db.close();
});

test('a file that holds no epoch is an outage, not an absence', async () => {
  const path = aPath();
  const mirror = createFileEpochMirror(path);
  await mirror.put(1, { id: 'first', since: startMs, sequence: 0, longestExpiryMs: 1 }, undefined);
  writeFileSync(join(path, '1.1.json'), '{}');
  await expect(mirror.get(1)).rejects.toMatchObject({ code: 'UNAVAILABLE' });
});

test('a copy that names no place, or another one than where it is read, was restored', () => {
  const epoch = { id: 'first', since: startMs, sequence: 7, longestExpiryMs: 1 };
  expect(parseEpoch(formatEpoch(epoch, 'here'), 'here')).toEqual(epoch);
  expect(parseEpoch(formatEpoch(epoch, 'there'), 'here')).toEqual({ ...epoch, isMoved: true });
  expect(parseEpoch(formatEpoch(epoch), 'here')).toEqual({ ...epoch, isMoved: true });
});

test('a copy without a sequence holds no epoch', () => {
  const text = JSON.stringify({ id: 'first', since: startMs, longestExpiryMs: 1 });
  expect(() => parseEpoch(text)).toThrow(RangeError);
});
