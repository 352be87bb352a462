import type { ChainConfig } from '../../../core/config/chain-config.js';
import { contentOf } from '../../../core/config/config-hash.js';
import type { ConfigEvent, ConfigStore, PutResult, StoredConfig } from '../../../core/config/config-store.js';
import type { PaymasterConfig } from '../../../core/config/paymaster-config.js';
import { buryChain, buryPaymaster } from '../../../core/config/tombstone.js';
import { type AddressList, isWhole } from '../../../core/policy/address-list.js';
import type { Clock, EpochMs } from '../../../core/units/time.js';
import { checkContracts, checkSize } from '../bounds.js';
import { type ConfigRow, createConfigRows, type Subject } from './config-rows.js';
import type { Database } from '../../sqlite/database.js';
import { createSlicedWatches } from '../../sqlite/sliced-watches.js';

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
    const { text, hash } = contentOf(config);
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
      const { text, hash } = contentOf(bury(parse<C>(stored), now));
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
