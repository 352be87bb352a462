import type { EpochMs } from '../../../core/units/time.js';
import type { Database } from '../../sqlite/database.js';
import { migrate } from '../../sqlite/migrate.js';
import { integerOf, type Row, textOf } from '../../sqlite/row.js';

/** What a row describes; `id` is a paymasterId, a chain id as text, or the hash of a list, whose generation is the time of its last put. */
export type Subject = 'list' | 'paymaster' | 'chain';

export type ConfigRow = {
  readonly id: string;
  readonly hash: string;
  readonly generation: number;
  /** JSON without configGeneration. */
  readonly content: string;
  /** True of a tombstone. */
  readonly isDeleted: boolean;
};

type LiveRow = Omit<ConfigRow, 'isDeleted'>;

const steps = [
  `CREATE TABLE configs (
     subject TEXT NOT NULL, id TEXT NOT NULL, generation INTEGER NOT NULL,
     -- Both NULL in rows that an earlier version deleted: their generation was all that it kept.
     hash TEXT, content TEXT,
     PRIMARY KEY (subject, id)
   ) STRICT;
   CREATE TABLE config_keys (
     sha256 TEXT NOT NULL, id TEXT NOT NULL,
     PRIMARY KEY (sha256, id)
   ) STRICT, WITHOUT ROWID;
   CREATE INDEX config_keys_by_config ON config_keys (id);`,
  // Rows that were deleted before this step have no content: only their generation is known.
  `ALTER TABLE configs ADD COLUMN deleted_at INTEGER;
   CREATE INDEX configs_by_deletion ON configs (deleted_at) WHERE deleted_at IS NOT NULL;`,
];

const columns = 'id, hash, generation, content, deleted_at';

export function createConfigRows(database: Database) {
  migrate(database, 'configs', steps);
  const { sql } = database;
  const one = sql.prepare(`SELECT ${columns} FROM configs WHERE subject = ? AND id = ?`);
  const slice = sql.prepare(
    `SELECT ${columns} FROM configs WHERE subject = ? AND id > ? AND content IS NOT NULL ORDER BY id LIMIT ?`,
  );
  const upsert = sql.prepare(
    `INSERT INTO configs (subject, id, generation, hash, content, deleted_at) VALUES (?, ?, ?, ?, ?, ?)
     ON CONFLICT DO UPDATE SET generation = excluded.generation, hash = excluded.hash, content = excluded.content,
       deleted_at = excluded.deleted_at`,
  );
  const forget = sql.prepare('DELETE FROM configs WHERE deleted_at < ?');
  const forgetList = sql.prepare("DELETE FROM configs WHERE subject = 'list' AND id = ? AND generation < ?");
  const listIds = sql.prepare("SELECT id FROM configs WHERE subject = 'list' AND generation < ?");
  const forgetKeys = sql.prepare('DELETE FROM config_keys WHERE id = ?');
  const addKey = sql.prepare('INSERT OR IGNORE INTO config_keys VALUES (?, ?)');
  const byKey = sql.prepare(
    `SELECT c.id, c.hash, c.generation, c.content, c.deleted_at FROM config_keys k
     CROSS JOIN configs c ON c.subject = 'paymaster' AND c.id = k.id WHERE k.sha256 = ? LIMIT 1`,
  );

  return {
    /** Returns tombstones too. */
    get: (subject: Subject, id: string): ConfigRow | undefined => parseRow(one.get(subject, id)),
    /** The generation that was given last, also when the config has been deleted since; 0 if there was none. */
    lastGeneration: (subject: Subject, id: string): number =>
      Number(one.get(subject, id)?.['generation'] ?? 0),
    /** Tombstones included. */
    page: (subject: Subject, after: string, size: number): ConfigRow[] =>
      slice.all(subject, after, size).flatMap((row) => parseRow(row) ?? []),
    put: (subject: Subject, row: LiveRow, keyHashes: readonly string[]): void => {
      const { id, hash, generation, content } = row;
      upsert.run(subject, id, generation, hash, content, null);
      if (subject !== 'paymaster') return;
      forgetKeys.run(id);
      for (const sha256 of keyHashes) addKey.run(sha256, id);
    },
    /** Replaces a config by a tombstone. */
    bury: (subject: Subject, { id, hash, generation, content }: LiveRow, deletedAt: EpochMs): void => {
      upsert.run(subject, id, generation, hash, content, deletedAt);
      if (subject === 'paymaster') forgetKeys.run(id);
    },
    /** Deletes the tombstones from before that time. */
    purge: (before: EpochMs): void => void forget.run(before),
    /** The hashes of the lists that were put last before that time. */
    listsBefore: (before: EpochMs): readonly string[] => listIds.all(before).map((row) => textOf(row, 'id')),
    /** False when it has been put since. */
    deleteList: (hash: string, before: EpochMs): boolean => forgetList.run(hash, before).changes > 0,
    findByKey: (sha256: string): ConfigRow | undefined => parseRow(byKey.get(sha256)),
  };
}

function parseRow(row: Row | undefined): ConfigRow | undefined {
  if (row === undefined || row['content'] === null) return undefined;
  return {
    id: textOf(row, 'id'),
    hash: textOf(row, 'hash'),
    generation: integerOf(row, 'generation'),
    content: textOf(row, 'content'),
    isDeleted: row['deleted_at'] !== null,
  };
}
