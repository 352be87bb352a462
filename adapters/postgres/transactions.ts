import pg from 'pg';
import { DomainError, isDomainError, errorMessage } from '../../core/errors.js';
import { formatPostgresAddress, type PostgresAddress } from './address.js';
import { clientConfig, createClientClass, isBroken, type ClientOptions } from './client.js';

export type Row = Readonly<Record<string, unknown>>;

/** Statements of one transaction, one after another. */
export type Session = {
  query(text: string, values?: readonly unknown[]): Promise<readonly Row[]>;
};

/** Values of a query, by the number of their place. */
export class Values {
  readonly list: unknown[] = [];
  add(value: unknown): string {
    this.list.push(value);
    return `$${this.list.length}`;
  }
}

export type Transaction = {
  readonly mode: 'read' | 'write';
  /** Of each statement, and of waiting for a connection. */
  readonly timeoutMs: number;
};

/**
 * Connections to one database. Reading and writing have pools of their own, so that no number of queries keeps records
 * from being stored.
 */
export type Postgres = {
  /**
   * Commits when `work` resolves, otherwise nothing has happened. DomainError UNAVAILABLE when the database cannot
   * answer, INTERNAL for a value that it does not accept. After an error of the commit itself the work may be done.
   */
  transaction<T>(transaction: Transaction, work: (session: Session) => Promise<T>): Promise<T>;
  /** Waits for transactions that run. Safe to call twice. */
  stop(): Promise<void>;
};

export type PostgresOptions = ClientOptions & {
  /** Connections of each of the two pools. Default 4. */
  readonly poolSize?: number;
};

const connectTimeoutMs = 5_000;
const idleTimeoutMs = 60_000;
/** The server ends a statement first; the client gives up when the server does not answer at all. */
const answerGraceMs = 2_000;
/** A write that waits longer for a lock than this fails and is delivered again. */
const lockTimeoutMs = 10_000;

export function createPostgres(options: PostgresOptions): Postgres {
  const pools = { read: createPool(options), write: createPool(options) };
  let stopped: Promise<void> | undefined;

  return {
    transaction: async ({ mode, timeoutMs }, work) => {
      let client: pg.PoolClient | undefined;
      let isDone = false;
      try {
        client = await beginning(pools[mode], begin(mode, timeoutMs), timeoutMs);
        const session = createSession(client, timeoutMs);
        const result = await work(session);
        await session.query('COMMIT');
        isDone = true;
        return result;
      } catch (error) {
        throw explained(options.address, error);
      } finally {
        // A connection in an unknown state is closed, which rolls back.
        client?.release(!isDone);
      }
    },
    stop: () =>
      (stopped ??= Promise.all([pools.read.end(), pools.write.end()]).then(() => {
        // Nothing more to wait for.
      })),
  };
}

function createPool(options: PostgresOptions): pg.Pool {
  const { poolSize = 4 } = options;
  const pool = new pg.Pool({
    ...clientConfig(options),
    Client: createClientClass(options),
    max: poolSize,
    connectionTimeoutMillis: connectTimeoutMs,
    idleTimeoutMillis: idleTimeoutMs,
    allowExitOnIdle: true,
  });
  // A connection that breaks leaves the pool, and a statement that runs on it fails; without these listeners the
  // process would end.
  pool.on('error', () => {});
  pool.on('connect', (client) => client.on('error', () => {}));
  return pool;
}

/**
 * A connection whose transaction has begun. One that broke while it was idle may be noticed only when it is used: then the next one is
 * taken, and after as many as the pool has, that is a new one.
 */
async function beginning(pool: pg.Pool, text: string, timeoutMs: number): Promise<pg.PoolClient> {
  const began = performance.now();
  for (let broken = 0; ; broken++) {
    const client = await pool.connect();
    try {
      await createSession(client, timeoutMs).query(text);
      return client;
    } catch (error) {
      client.release(true);
      const mayGoOn = broken < pool.options.max && performance.now() - began < connectTimeoutMs;
      if (!mayGoOn || !isBroken(error)) throw error;
    }
  }
}

/** `SET LOCAL`, not settings of the session: those do not survive a pooler between us and the server. */
function begin(mode: Transaction['mode'], timeoutMs: number): string {
  return [
    mode === 'read' ? 'BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY' : 'BEGIN',
    `SET LOCAL statement_timeout = ${timeoutMs}`,
    `SET LOCAL lock_timeout = ${Math.min(lockTimeoutMs, timeoutMs)}`,
    `SET LOCAL idle_in_transaction_session_timeout = ${timeoutMs + answerGraceMs}`,
    "SET LOCAL TimeZone = 'UTC'",
    // A database may be set to answer before a commit is on disk, but an acknowledged record must be on disk.
    ...(mode === 'write' ? ['SET LOCAL synchronous_commit = on'] : []),
    // A month by policy and day is some megabytes of sums, which would go through files.
    ...(mode === 'read' ? ["SET LOCAL work_mem = '32MB'"] : []),
  ].join('; ');
}

function createSession(client: pg.PoolClient, timeoutMs: number): Session {
  return {
    query: async (text, values) => {
      const config = { text, ...(values === undefined ? {} : { values: [...values] }) };
      const result = await client.query<Record<string, unknown>>({
        ...config,
        query_timeout: timeoutMs + answerGraceMs,
      } as pg.QueryConfig);
      return result.rows;
    },
  };
}

/** SQLSTATE classes of values that the database does not accept: the same statement would fail again. */
const valueErrors = /^(22|54)/;

function explained(address: PostgresAddress, error: unknown): DomainError {
  if (isDomainError(error)) return error;
  const code = error instanceof pg.DatabaseError ? error.code : undefined;
  // A record that cannot even be written as a statement would fail again, too.
  const isLasting = code === undefined ? isMistake(error) : valueErrors.test(code);
  return new DomainError(
    isLasting ? 'INTERNAL' : 'UNAVAILABLE',
    `${formatPostgresAddress(address)}: ${errorMessage(error)}${code === undefined ? '' : ` (SQLSTATE ${code})`}`,
    { cause: error, ...(isLasting ? {} : { reason: 'USAGE_STORE_DOWN' }) },
  );
}

function isMistake(error: unknown): boolean {
  return error instanceof TypeError || error instanceof RangeError;
}
