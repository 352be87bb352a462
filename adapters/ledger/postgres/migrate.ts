import { DomainError } from '../../../core/errors.js';
import type { Postgres, Session } from './connection.js';

/** Key of the advisory lock of changes to the tables. It is the same in every release. */
const lockKey = 7_045_133;
const timeoutMs = 60_000;

/**
 * Brings the tables up to date, each step exactly once, although several processes may start at the same time. A
 * database that is up to date needs no right to create anything. Throws UNAVAILABLE for tables of a newer release.
 */
export async function migrate(postgres: Postgres, steps: readonly string[]): Promise<void> {
  if ((await postgres.transaction({ mode: 'read', timeoutMs }, versionOf)) === steps.length) return;
  await changeTables(postgres, async (session) => {
    const version = await versionOf(session);
    if (version > steps.length)
      throw new DomainError(
        'UNAVAILABLE',
        `the ledger in PostgreSQL was written by a newer release (version ${version}, known is ${steps.length}): use that release`,
        { reason: 'NEWER_VERSION' },
      );
    if (version === 0) {
      await session.query('CREATE SCHEMA IF NOT EXISTS ledger');
      await session.query(
        'CREATE TABLE ledger.versions (version integer PRIMARY KEY, at timestamptz NOT NULL DEFAULT now())',
      );
    }
    for (const [index, step] of steps.entries()) {
      if (index < version) continue;
      await session.query(step);
      await session.query('INSERT INTO ledger.versions (version) VALUES ($1)', [index + 1]);
    }
  });
}

/** A transaction that creates or removes tables: one at a time, over all processes. */
export function changeTables(postgres: Postgres, work: (session: Session) => Promise<void>): Promise<void> {
  return postgres.transaction({ mode: 'write', timeoutMs }, async (session) => {
    await session.query('SELECT pg_advisory_xact_lock($1)', [lockKey]);
    await work(session);
  });
}

async function versionOf(session: Session): Promise<number> {
  const [found] = await session.query("SELECT to_regclass('ledger.versions') IS NOT NULL AS is_there");
  if (found?.['is_there'] !== true) return 0;
  const [row] = await session.query('SELECT max(version) AS version FROM ledger.versions');
  return Number(row?.['version'] ?? 0);
}
