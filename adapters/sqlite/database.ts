import { chmodSync, closeSync, mkdirSync, openSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { DomainError, isDomainError, errorMessage } from '../../core/errors.js';

/**
 * The embedded database: one SQLite file in WAL mode, used by one process. It is read and written synchronously, so a
 * transaction never spans a turn of the event loop, and connections of one thread cannot block one another.
 */
export type Database = {
  readonly path: string;
  readonly sql: DatabaseSync;
  /** All or nothing: rolled back when `work` throws. Failures of SQLite are DomainError UNAVAILABLE. */
  transaction<T>(work: () => T): T;
  /** A read, or a single statement; failures of SQLite are DomainError UNAVAILABLE. */
  run<T>(work: () => T): T;
  /** Safe to call twice. */
  close(): void;
};

type DatabaseOptions = {
  /** `process`: a commit survives kill -9 of the process. `power`: also a loss of power, at one fsync per commit. */
  readonly durability: 'process' | 'power';
  /**
   * Claims the file until `close` or the end of the process, so that a second process that claims it is refused: stores
   * report only their own writes to their watchers. Default false.
   */
  readonly exclusive?: boolean;
};

/** Version of the file as a whole, in `user_version`; tables have versions of their own, see {@link migrate}. */
const fileVersion = 1;
const busyTimeoutMs = 2000;

/**
 * Opens or creates the database (file mode 0600, new directories 0700). A file that is not a database, that another
 * process uses, or that a newer release has written is DomainError UNAVAILABLE with a message that says what to do.
 * `:memory:` is a database that ends with the process.
 */
export function openDatabase(path: string, options: DatabaseOptions): Database {
  if (path !== ':memory:') createPrivately(path);
  const claim = options.exclusive && path !== ':memory:' ? claimFile(path) : undefined;
  try {
    const sql = connect(path, options);
    return createDatabase(path, sql, claim);
  } catch (error) {
    claim?.close();
    throw explained(path, error);
  }
}

/** Another connection to a database that is open elsewhere in the process. It cannot write. Throws UNAVAILABLE. */
export function openReader(path: string): Database {
  try {
    return createDatabase(
      path,
      new DatabaseSync(path, { readOnly: true, timeout: busyTimeoutMs }),
      undefined,
    );
  } catch (error) {
    throw explained(path, error);
  }
}

/**
 * Creates a file that only its owner may read, and its directory, if they do not exist; corrects the mode of an
 * existing file.
 */
function createPrivately(path: string): void {
  try {
    mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
    closeSync(openSync(path, 'a', 0o600));
    // SQLite gives its -wal and -shm files the mode of the main file.
    chmodSync(path, 0o600);
  } catch (error) {
    throw new DomainError('UNAVAILABLE', `${path} cannot be created or written: ${errorMessage(error)}`, {
      cause: error,
    });
  }
}

/**
 * An exclusive lock on a file beside the database: the kernel releases it when the process ends, however it ends. Another file says
 * which process it is.
 */
function claimFile(path: string): DatabaseSync {
  const lock = `${path}.lock`;
  const owner = `${lock}.pid`;
  createPrivately(lock);
  const sql = new DatabaseSync(lock, { timeout: 0 });
  try {
    sql.exec('BEGIN EXCLUSIVE');
    writeFileSync(owner, String(process.pid), { mode: 0o600 });
    return sql;
  } catch (error) {
    sql.close();
    if (!isBusy(error)) throw explained(path, error);
    throw new DomainError(
      'UNAVAILABLE',
      `${path} is in use by another process${ownerIn(owner)}: stop that one first, or choose another data directory`,
      { reason: 'DATABASE_LOCKED', cause: error },
    );
  }
}

function ownerIn(path: string): string {
  try {
    const pid = readFileSync(path, 'utf8');
    return /^\d+$/.test(pid) ? ` (${pid})` : '';
  } catch {
    return '';
  }
}

function connect(path: string, { durability }: DatabaseOptions): DatabaseSync {
  const sql = new DatabaseSync(path, { timeout: busyTimeoutMs, enableForeignKeyConstraints: true });
  try {
    const version = Number(sql.prepare('PRAGMA user_version').get()?.['user_version']);
    if (version > fileVersion)
      throw new DomainError(
        'UNAVAILABLE',
        `${path} was written by a newer release (file version ${version}, known is ${fileVersion}): use that release`,
        { reason: 'NEWER_VERSION' },
      );
    sql.exec(
      `PRAGMA journal_mode = WAL; PRAGMA synchronous = ${durability === 'power' ? 'FULL' : 'NORMAL'}; PRAGMA user_version = ${fileVersion}`,
    );
    return sql;
  } catch (error) {
    sql.close();
    throw error;
  }
}

function createDatabase(path: string, sql: DatabaseSync, claim: DatabaseSync | undefined): Database {
  let isOpen = true;

  function run<T>(work: () => T): T {
    if (!isOpen) throw new DomainError('UNAVAILABLE', 'The embedded store is closed.');
    try {
      return work();
    } catch (error) {
      throw explained(path, error);
    }
  }

  return {
    path,
    sql,
    run,
    transaction: (work) =>
      run(() => {
        begin(sql);
        try {
          const result = work();
          sql.exec('COMMIT');
          return result;
        } catch (error) {
          if (sql.isTransaction) sql.exec('ROLLBACK');
          throw error;
        }
      }),
    close: () => {
      if (!isOpen) return;
      isOpen = false;
      sql.close();
      claim?.close();
    },
  };
}

/** SQLite adds up how long it meant to sleep, but a signal (a profiler sends many) ends a sleep early. So the clock decides. */
function begin(sql: DatabaseSync): void {
  const giveUpAt = performance.now() + busyTimeoutMs;
  for (;;)
    try {
      return sql.exec('BEGIN IMMEDIATE');
    } catch (error) {
      if (!isBusy(error) || performance.now() >= giveUpAt) throw error;
    }
}

/** Bytes of the pages that hold something: a file keeps the room of deleted rows, and uses it again. */
export function usedBytes({ sql }: Pick<Database, 'sql'>): number {
  const value = (name: string): number => Number(sql.prepare(`PRAGMA ${name}`).get()?.[name]);
  return (value('page_count') - value('freelist_count')) * value('page_size');
}

/** Result codes of SQLite that get a specific explanation. */
const sqliteBusy = 5;
const sqliteCorrupt = 11;
const sqliteFull = 13;
const sqliteNotADatabase = 26;

/** Errors of SQLite become UNAVAILABLE; all others pass unchanged. */
function explained(path: string, error: unknown): unknown {
  if (isDomainError(error) || !isSqliteError(error)) return error;
  const details = { retryAfterSeconds: 1, cause: error };
  // The low byte is the primary code; extended codes add detail above it.
  switch (error.errcode & 0xff) {
    case sqliteNotADatabase:
      return new DomainError(
        'UNAVAILABLE',
        `${path} is not a SQLite database: move it away, or choose another data directory`,
        { reason: 'NOT_A_DATABASE', cause: error },
      );
    case sqliteBusy:
      return new DomainError('UNAVAILABLE', `${path} is locked by another process`, {
        ...details,
        reason: 'DATABASE_LOCKED',
      });
    case sqliteFull:
      return new DomainError('UNAVAILABLE', `${path} cannot grow: the disk is full`, details);
    default:
      return new DomainError('UNAVAILABLE', `The embedded store ${path} failed: ${error.message}`, details);
  }
}

function isBusy(error: unknown): boolean {
  return isSqliteError(error) && (error.errcode & 0xff) === sqliteBusy;
}

/** True when the file cannot grow. The transaction may still be open. */
export function isFull(error: unknown): boolean {
  return isSqliteError(error) && (error.errcode & 0xff) === sqliteFull;
}

/** True when the content of the file is not that of a database, as far as it was read. */
export function isDamaged(error: unknown): boolean {
  const { cause } = isDomainError(error) ? error.details : { cause: error };
  return isSqliteError(cause) && [sqliteCorrupt, sqliteNotADatabase].includes(cause.errcode & 0xff);
}

type SqliteError = { readonly code: 'ERR_SQLITE_ERROR'; readonly errcode: number; readonly message: string };

function isSqliteError(error: unknown): error is SqliteError {
  return typeof error === 'object' && error !== null && 'code' in error && error.code === 'ERR_SQLITE_ERROR';
}
