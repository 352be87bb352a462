import type { Database } from './database.js';
import { migrate } from './migrate.js';
import { integerOf, type Row, textOf } from './row.js';

/** What a config is about; `id` is a paymasterId, or a chain id as text. */
export type Subject = 'paymaster' | 'chain';

export type ConfigRow = {
  readonly id: string;
  readonly hash: string;
  readonly generation: number;
  /** JSON without configGeneration. */
  readonly content: string;
};

export type ConfigRows = {
  get(subject: Subject, id: string): ConfigRow | undefined;
  /** The generation that was given last, also when the config has been deleted since; 0 when there was none. */
  lastGeneration(subject: Subject, id: string): number;
  page(subject: Subject, after: string, size: number): ConfigRow[];
  put(subject: Subject, row: ConfigRow, keyHashes: readonly string[]): void;
  /** False when there was none. */
  delete(subject: Subject, id: string): boolean;
  findByKey(sha256: string): ConfigRow | undefined;
};

const steps = [
  `CREATE TABLE configs (
     subject TEXT NOT NULL, id TEXT NOT NULL, generation INTEGER NOT NULL,
     -- Both NULL once the config is deleted. The row stays: usage stores refuse a generation older than they have seen,
     -- so a paymaster that is created again must go on counting where it stopped.
     hash TEXT, content TEXT,
     PRIMARY KEY (subject, id)
   ) STRICT;
   CREATE TABLE config_keys (
     sha256 TEXT NOT NULL, id TEXT NOT NULL,
     PRIMARY KEY (sha256, id)
   ) STRICT, WITHOUT ROWID;
   CREATE INDEX config_keys_by_config ON config_keys (id);`,
];

const columns = 'id, hash, generation, content';

export function createConfigRows(database: Database): ConfigRows {
  migrate(database, 'configs', steps);
  const { sql } = database;
  const one = sql.prepare(`SELECT ${columns} FROM configs WHERE subject = ? AND id = ?`);
  const slice = sql.prepare(
    `SELECT ${columns} FROM configs WHERE subject = ? AND id > ? AND content IS NOT NULL ORDER BY id LIMIT ?`,
  );
  const upsert = sql.prepare(
    `INSERT INTO configs (subject, id, generation, hash, content) VALUES (?, ?, ?, ?, ?)
     ON CONFLICT DO UPDATE SET generation = excluded.generation, hash = excluded.hash, content = excluded.content`,
  );
  const bury = sql.prepare(
    'UPDATE configs SET hash = NULL, content = NULL WHERE subject = ? AND id = ? AND content IS NOT NULL',
  );
  const forgetKeys = sql.prepare('DELETE FROM config_keys WHERE id = ?');
  const addKey = sql.prepare('INSERT OR IGNORE INTO config_keys VALUES (?, ?)');
  const byKey = sql.prepare(
    `SELECT c.id, c.hash, c.generation, c.content FROM config_keys k
     CROSS JOIN configs c ON c.subject = 'paymaster' AND c.id = k.id WHERE k.sha256 = ? LIMIT 1`,
  );

  return {
    get: (subject, id) => parseRow(one.get(subject, id)),
    lastGeneration: (subject, id) => Number(one.get(subject, id)?.['generation'] ?? 0),
    page: (subject, after, size) => slice.all(subject, after, size).flatMap((row) => parseRow(row) ?? []),
    put: (subject, { id, hash, generation, content }, keyHashes) => {
      upsert.run(subject, id, generation, hash, content);
      if (subject !== 'paymaster') return;
      forgetKeys.run(id);
      for (const sha256 of keyHashes) addKey.run(sha256, id);
    },
    delete: (subject, id) => {
      if (subject === 'paymaster') forgetKeys.run(id);
      return bury.run(subject, id).changes > 0;
    },
    findByKey: (sha256) => parseRow(byKey.get(sha256)),
  };
}

function parseRow(row: Row | undefined): ConfigRow | undefined {
  if (row === undefined || row['content'] === null) return undefined;
  return {
    id: textOf(row, 'id'),
    hash: textOf(row, 'hash'),
    generation: integerOf(row, 'generation'),
    content: textOf(row, 'content'),
  };
}
