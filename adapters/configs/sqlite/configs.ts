import type { ChainConfig } from '../../../core/config/chain-config.js';
import { hashContent } from '../../../core/config/config-hash.js';
import type { ConfigEvent, ConfigStore, PutResult, StoredConfig } from '../../../core/config/config-store.js';
import type { PaymasterConfig } from '../../../core/config/paymaster-config.js';
import { buryChain, buryPaymaster } from '../../../core/config/tombstone.js';
import { isWhole, type AddressList } from '../../../core/policy/address-list.js';
import type { Clock, EpochMs } from '../../../core/units/time.js';
import { checkContracts, checkSize } from '../bounds.js';
import type { Database } from '../../sqlite/database.js';
import { createSlicedWatches } from '../../sqlite/sliced-watches.js';
import { migrate } from '../../sqlite/migrate.js';
import { readInteger, readText, type Row } from '../../sqlite/row.js';

/**
 * ConfigStore in one SQLite file. Nothing is kept in memory here: a watch streams the stored configs to its handler in
 * slices, so that 100,000 of them load without a second copy and without stalling the event loop.
 */
export function createSqliteConfigStore(deps: { readonly db: Database; readonly clock: Clock }): ConfigStore {
  const { db, clock } = deps;
  const rows = createConfigRows(db);
  // What others need comes first.
  const subjects = ['list', 'chain', 'paymaster'] as const satisfies readonly Subject[];
  const watches = createSlicedWatches<Subject, string, ConfigEvent>({
    sliceSize,
    slice: (subject, after = '') =>
      nextPage(subject, after).map((row) => [
        row.id,
        row.isDeleted ? deleteEvent(subject, row) : putEvent(subject, row),
      ]),
    isAtOrBefore: (id, reached) => id <= reached,
  });

  function put(
    subject: Subject,
    id: string,
    config: PaymasterConfig | ChainConfig,
    keyHashes: readonly string[],
  ): PutResult {
    const { text, hash } = hashContent(config);
    checkSize(`the compiled config of ${subject} ${id}`, text);
    const result = db.transaction(() => {
      const stored = rows.get(subject, id);
      if (stored?.hash === hash) return { changed: false, hash, configGeneration: stored.generation };
      // From the clock: a file that was lost or restored starts above the generations that usage stores have seen.
      const generation = Math.max(rows.lastGeneration(subject, id) + 1, clock.now());
      rows.put(subject, { id, hash, generation, content: text }, keyHashes);
      return { changed: true, hash, configGeneration: generation };
    });
    const row = { id, hash, generation: result.configGeneration, content: text, isDeleted: false };
    if (result.changed) watches.publish(subject, id, putEvent(subject, row));
    return result;
  }

  /** Replaces a live config by a tombstone. */
  function remove<C extends PaymasterConfig | ChainConfig>(
    subject: Subject,
    id: string,
    bury: (config: C, deletedAt: EpochMs) => C,
  ): void {
    const buried = db.transaction(() => {
      const stored = rows.get(subject, id);
      if (stored === undefined || stored.isDeleted) return undefined;
      const now = clock.now();
      const { text, hash } = hashContent(bury(parse<C>(stored), now));
      const row = { id, hash, generation: Math.max(stored.generation + 1, now), content: text };
      rows.bury(subject, row, now);
      return { ...row, isDeleted: true };
    });
    if (buried) watches.publish(subject, id, deleteEvent(subject, buried));
  }

  function getLive<C>(subject: Subject, id: string): StoredConfig<C> | undefined {
    return get(subject, id, (row) => !row.isDeleted);
  }

  function get<C>(
    subject: Subject,
    id: string,
    isWanted: (row: ConfigRow) => boolean = () => true,
  ): StoredConfig<C> | undefined {
    const row = db.run(() => rows.get(subject, id));
    return row && isWanted(row) ? { config: parse<C>(row), hash: row.hash } : undefined;
  }

  function list<C>(subject: Subject): StoredConfig<C>[] {
    const found: StoredConfig<C>[] = [];
    for (let page = nextPage(subject, ''); page.length > 0; page = nextPage(subject, page.at(-1)!.id))
      found.push(
        ...page.filter((row) => !row.isDeleted).map((row) => ({ config: parse<C>(row), hash: row.hash })),
      );
    return found;
  }

  function readList(hash: string): AddressList | undefined {
    const row = db.run(() => rows.get('list', hash));
    const list = row && listIn(row);
    return list && isWhole(list) ? list : undefined;
  }

  function nextPage(subject: Subject, after: string): ConfigRow[] {
    return db.run(() => rows.page(subject, after, sliceSize));
  }

  return {
    getPaymaster: async (paymasterId) => getLive<PaymasterConfig>('paymaster', paymasterId),
    getLatest: async (paymasterId) => get<PaymasterConfig>('paymaster', paymasterId),
    listPaymasters: async () => list<PaymasterConfig>('paymaster'),
    getChain: async (chainId) => getLive<ChainConfig>('chain', String(chainId)),
    listChains: async () => list<ChainConfig>('chain'),

    putPaymaster: async (config) => {
      checkContracts(config);
      const keyHashes = config.keys.map((key) => key.sha256);
      return put('paymaster', config.paymasterId, config, keyHashes);
    },
    putChain: async (config) => put('chain', String(config.chainId), config, []),
    deletePaymaster: async (paymasterId) => remove('paymaster', paymasterId, buryPaymaster),
    deleteChain: async (chainId) => remove('chain', String(chainId), buryChain),

    putList: async (list) => {
      const { hash } = list;
      const text = JSON.stringify(list);
      checkSize(`the list of addresses ${hash}`, text);
      const row = { id: hash, hash, generation: clock.now(), content: text };
      const isNew = db.transaction(() => {
        const stored = rows.get('list', hash);
        rows.put('list', row, []);
        return stored?.content !== text;
      });
      if (isNew) watches.publish('list', hash, { type: 'put-list', list });
    },
    getList: async (hash) => readList(hash),
    purgeLists: async (named, before) => {
      for (const hash of db.run(() => rows.listsBefore(before))) {
        if (named.has(hash) || !db.transaction(() => rows.deleteList(hash, before))) continue;
        watches.publish('list', hash, { type: 'delete-list', hash });
      }
      return new Set([...named].filter((hash) => readList(hash) === undefined));
    },

    purge: async (before) => db.transaction(() => rows.purge(before)),

    findByKey: async (sha256) => {
      const row = db.run(() => rows.findByKey(sha256));
      return row && parse<PaymasterConfig>(row);
    },

    watch: (handler) => ({ ...watches.watch(subjects, handler), confirmedAt: () => clock.now() }),
  };
}

const sliceSize = 500;

function putEvent(subject: Subject, row: ConfigRow): ConfigEvent {
  if (subject === 'list') return { type: 'put-list', list: listIn(row) };
  return subject === 'paymaster'
    ? { type: 'put-paymaster', config: parse<PaymasterConfig>(row) }
    : { type: 'put-chain', config: parse<ChainConfig>(row) };
}

function deleteEvent(subject: Subject, row: ConfigRow): ConfigEvent {
  const { chainId } = parse<PaymasterConfig | ChainConfig>(row);
  const deletion = { chainId, configGeneration: row.generation };
  return subject === 'paymaster'
    ? { type: 'delete-paymaster', paymasterId: row.id, deletion }
    : { type: 'delete-chain', chainId, deletion };
}

function listIn({ content }: ConfigRow): AddressList {
  return JSON.parse(content) as AddressList;
}

/** The stored text is what a put of the same subject was given, so it needs no second check. */
function parse<C>(row: ConfigRow): C {
  return { ...(JSON.parse(row.content) as object), configGeneration: row.generation } as C;
}

/** What a row describes; `id` is a paymasterId, a chain id as text, or the hash of a list, whose generation is the time of its last put. */
export type Subject = 'list' | 'paymaster' | 'chain';

type ConfigRow = {
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

function createConfigRows(database: Database) {
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
    listsBefore: (before: EpochMs): readonly string[] =>
      listIds.all(before).map((row) => readText(row, 'id')),
    /** False when it has been put since. */
    deleteList: (hash: string, before: EpochMs): boolean => forgetList.run(hash, before).changes > 0,
    findByKey: (sha256: string): ConfigRow | undefined => parseRow(byKey.get(sha256)),
  };
}

function parseRow(row: Row | undefined): ConfigRow | undefined {
  if (row === undefined || row['content'] === null) return undefined;
  return {
    id: readText(row, 'id'),
    hash: readText(row, 'hash'),
    generation: readInteger(row, 'generation'),
    content: readText(row, 'content'),
    isDeleted: row['deleted_at'] !== null,
  };
}
