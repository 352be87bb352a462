import { DomainError } from '../../core/errors.js';
import type { Postgres, Session } from './transactions.js';

/** Key of the advisory lock of changes to the tables. It is the same in every release. */
const lockKey = 7_045_133;
const timeoutMs = 60_000;

/**
 * Brings the tables up to date, each step exactly once, although several processes may start at the same time. A
 * database that is up to date needs no right to create anything. Throws UNAVAILABLE for tables of a newer release.
 */
export async function migrate(
  postgres: Postgres,
  { schema, steps }: { readonly schema: 'ledger' | 'usage'; readonly steps: readonly string[] },
): Promise<void> {
  const versionIn = (session: Session) => readVersion(session, schema);
  if ((await postgres.transaction({ mode: 'write', timeoutMs }, versionIn)) === steps.length) return;
  await changeTables(postgres, async (session) => {
    const version = await versionIn(session);
    if (version > steps.length)
      throw new DomainError(
        'UNAVAILABLE',
        `the tables "${schema}" in PostgreSQL were written by a newer release (version ${version}, known is ${steps.length}): use that release`,
        { reason: 'NEWER_VERSION' },
      );
    if (version === 0) {
      await session.query(`CREATE SCHEMA IF NOT EXISTS ${schema}`);
      await session.query(
        `CREATE TABLE ${schema}.versions (version integer PRIMARY KEY, at timestamptz NOT NULL DEFAULT now())`,
      );
    }
    for (const [index, step] of steps.entries()) {
      if (index < version) continue;
      await session.query(step);
      await session.query(`INSERT INTO ${schema}.versions (version) VALUES ($1)`, [index + 1]);
    }
  });
}

/** A transaction that creates or removes tables: one at a time, over all processes. */
export function changeTables(postgres: Postgres, work: (session: Session) => Promise<void>): Promise<void> {
  return postgres.transaction({ mode: 'write', timeoutMs }, async (session) => {
    await session.query('SELECT pg_advisory_xact_lock($1)', [lockKey]);
    await actAsOwner(session);
    await work(session);
  });
}

/**
 * Until the transaction ends, this login acts as the owner of the database, if it is a member of that role: so everything that is made
 * belongs to one role, and the role that a login has otherwise, in turns, need not make anything.
 */
export async function actAsOwner(session: Session): Promise<void> {
  await session.query(
    `SELECT set_config('role', pg_get_userbyid(datdba), true) FROM pg_database
     WHERE datname = current_database() AND pg_has_role(session_user, datdba, 'MEMBER')`,
  );
}

async function readVersion(session: Session, schema: string): Promise<number> {
  const [found] = await session.query('SELECT to_regclass($1) IS NOT NULL AS is_there', [
    `${schema}.versions`,
  ]);
  if (found?.['is_there'] !== true) return 0;
  const [row] = await session.query(`SELECT max(version) AS version FROM ${schema}.versions`);
  return Number(row?.['version'] ?? 0);
}
