import { mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { openDatabase, type Database } from '../../../adapters/sqlite/database.js';
import { migrate } from '../../../adapters/sqlite/migrate.js';
import { isDomainError } from '../../../core/errors.js';

describe('the embedded database', () => {
  let directory: string;
  let path: string;

  beforeEach(() => {
    directory = mkdtempSync(join(tmpdir(), 'paymaster-db-'));
    path = join(directory, 'data', 'state.db');
  });
  afterEach(() => rmSync(directory, { recursive: true, force: true }));

  const open = (options: { exclusive?: boolean; durability?: 'process' | 'power' } = {}) =>
    openDatabase(path, { durability: 'process', ...options });
  const mode = (file: string) => (statSync(file).mode & 0o777).toString(8);

  test('is readable by its owner only, with all its files', () => {
    const db = open();
    db.sql.exec('CREATE TABLE t (x INTEGER) STRICT');
    expect([mode(dirname(path)), mode(path), mode(`${path}-wal`), mode(`${path}-shm`)]).toEqual([
      '700',
      '600',
      '600',
      '600',
    ]);
    db.close();
  });

  test.each([
    { durability: 'process', synchronous: 1 },
    { durability: 'power', synchronous: 2 },
  ] as const)('runs in WAL mode with the flushing that $durability needs', ({ durability, synchronous }) => {
    const db = open({ durability });
    expect(db.sql.prepare('PRAGMA journal_mode').get()).toEqual({ journal_mode: 'wal' });
    expect(db.sql.prepare('PRAGMA synchronous').get()).toEqual({ synchronous });
    db.close();
  });

  test('reports a file that is not a database, and leaves it alone', () => {
    const file = join(directory, 'notes.db');
    const text = 'These are notes of a person, not a database. '.repeat(20);
    writeFileSync(file, text);
    expect(messageOf(() => openDatabase(file, { durability: 'process' }))).toBe(
      `${file} is not a SQLite database: move it away, or choose another data directory`,
    );
  });

  test('says so when the file cannot be created', () => {
    writeFileSync(join(directory, 'data'), 'a file where a directory should be');
    expect(messageOf(open)).toContain(`${path} cannot be created or written`);
  });

  test('refuses a second claim until the first is closed', () => {
    const first = open({ exclusive: true });
    expect(messageOf(() => open({ exclusive: true }))).toContain(
      `in use by another process (${process.pid})`,
    );
    first.close();
    open({ exclusive: true }).close();
  });

  describe('while another connection writes', () => {
    let db: Database;
    let other: DatabaseSync;
    beforeEach(() => {
      db = open();
      db.sql.exec('CREATE TABLE t (x INTEGER) STRICT');
      other = new DatabaseSync(path);
      other.exec('BEGIN IMMEDIATE');
    });
    afterEach(() => {
      other.close();
      db.close();
    });
    const insert = () => db.transaction(() => db.sql.exec('INSERT INTO t VALUES (1)'));
    const count = () => db.sql.prepare('SELECT count(*) AS n FROM t').get()?.['n'];

    test('a transaction is refused after a while, and works once the other is gone', () => {
      expect(messageOf(insert)).toContain('locked by another process');
      other.exec('ROLLBACK');
      insert();
      expect(count()).toBe(1);
    });

    test('a transaction goes on waiting when signals have ended its naps early', () => {
      // SQLite counts naps, and not the time: without naps it gives up at once, as it does when a profiler ends them all.
      db.sql.exec('PRAGMA busy_timeout = 0');
      const exec = db.sql.exec.bind(db.sql);
      db.sql.exec = (text) => {
        try {
          exec(text);
        } catch (error) {
          if (other.isTransaction) other.exec('ROLLBACK');
          throw error;
        }
      };
      insert();
      expect(count()).toBe(1);
    });
  });

  test('rolls a transaction back when its work throws, and passes the error on', () => {
    const db = open();
    db.sql.exec('CREATE TABLE t (x INTEGER) STRICT');
    const failing = () =>
      db.transaction(() => {
        db.sql.exec('INSERT INTO t VALUES (1)');
        throw new RangeError('no');
      });
    expect(failing).toThrow(RangeError);
    expect(db.sql.prepare('SELECT count(*) AS n FROM t').get()).toEqual({ n: 0 });
    db.close();
  });

  test('can be closed twice, and is unavailable from then on', () => {
    const db = open();
    db.close();
    db.close();
    expect(messageOf(() => db.run(() => 1))).toContain('closed');
  });

  test('refuses a file of a newer release', () => {
    const db = open();
    db.sql.exec('PRAGMA user_version = 99');
    db.close();
    expect(messageOf(open)).toContain('newer release');
  });

  describe('migrations', () => {
    test('run each step once, per component', () => {
      const db = open();
      migrate(db, 'a', ['CREATE TABLE a (x INTEGER) STRICT']);
      migrate(db, 'b', ['CREATE TABLE b (x INTEGER) STRICT']);
      migrate(db, 'a', ['CREATE TABLE a (x INTEGER) STRICT', 'INSERT INTO a VALUES (7)']);
      migrate(db, 'a', ['CREATE TABLE a (x INTEGER) STRICT', 'INSERT INTO a VALUES (7)']);
      expect(db.sql.prepare('SELECT x FROM a').all()).toEqual([{ x: 7 }]);
      db.close();
    });

    test('leave nothing behind when a step fails', () => {
      const db = open();
      expect(() => migrate(db, 'a', ['CREATE TABLE a (x INTEGER) STRICT', 'NONSENSE'])).toThrow();
      migrate(db, 'a', ['CREATE TABLE a (y INTEGER) STRICT']);
      db.close();
    });

    test('refuse tables of a newer release', () => {
      const db = open();
      migrate(db, 'a', ['CREATE TABLE a (x INTEGER) STRICT', 'INSERT INTO a VALUES (7)']);
      expect(messageOf(() => migrate(db, 'a', ['CREATE TABLE a (x INTEGER) STRICT']))).toContain(
        'newer release',
      );
      db.close();
    });
  });
});

/** The message of the UNAVAILABLE error that a call throws; any other outcome fails the test. */
function messageOf(call: () => unknown): string {
  try {
    call();
  } catch (error) {
    if (isDomainError(error, 'UNAVAILABLE')) return error.message;
    throw error;
  }
  throw new Error('the call succeeded');
}
