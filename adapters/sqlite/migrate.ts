import { DomainError } from '../../core/errors.js';
import type { Database } from './database.js';

/**
 * Brings the tables of one store up to date: `steps[n]` takes them from version n to n + 1, each exactly once. Stores
 * share a file but not a version, so that one can change without the others. Steps are only ever appended.
 */
export function migrate(database: Database, component: string, steps: readonly string[]): void {
  database.transaction(() => {
    const { sql } = database;
    sql.exec(
      'CREATE TABLE IF NOT EXISTS components (component TEXT PRIMARY KEY, version INTEGER NOT NULL) STRICT',
    );
    const row = sql.prepare('SELECT version FROM components WHERE component = ?').get(component);
    const version = row === undefined ? 0 : Number(row['version']);
    if (version > steps.length)
      throw new DomainError(
        'UNAVAILABLE',
        `${database.path} was written by a newer release (${component} version ${version}, known is ${steps.length}): use that release`,
        { reason: 'NEWER_VERSION' },
      );
    for (const step of steps.slice(version)) sql.exec(step);
    if (version < steps.length)
      sql
        .prepare('INSERT INTO components VALUES (?, ?) ON CONFLICT DO UPDATE SET version = excluded.version')
        .run(component, steps.length);
  });
}
