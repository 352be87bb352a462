import { cpSync, mkdirSync } from 'node:fs';
import { join } from 'node:path';
import {
  createUsageStoreOver,
  openUsageDatabase,
  type SqliteUsageStore,
} from '../../../adapters/store/sqlite/usage.js';
import { parsePostgresUrl } from '../../../adapters/postgres/address.js';
import { createPostgres } from '../../../adapters/postgres/transactions.js';
import type { Database } from '../../../adapters/sqlite/database.js';
import { makeParts } from '../../../adapters/store/ledger/partitions.js';
import { silentLogger } from '../../../core/log.js';
import type { DecidedPolicy } from '../../../core/ledger/record.js';
import { createMemoryEpochMirror, type UsageRecovery } from '../../../core/usage/epoch.js';
import type { UsageStore } from '../../../core/usage/usage-store.js';
import { plusMs } from '../../../core/units/time.js';
import type { aClock } from '../../adapters/usage/clock.js';
import { openStore } from '../../adapters/usage/postgres-usage.js';
import { aDirectory } from '../../adapters/usage/sqlite-usage.js';
import type { SharedPostgres } from '../../support/postgres.js';

/** The usage store of a run, and what may happen to it. */
export type RuleStore = {
  readonly usage: UsageStore;
  readonly recovery: UsageRecovery;
  /** The policies of a record that a reservation has written. */
  recorded(id: string): Promise<readonly DecidedPolicy[] | undefined>;
  /** Ends the process without a stop, and starts it again. False where nothing would be left. */
  kill(): Promise<boolean>;
  /** Time has passed. */
  jumped(): Promise<void>;
  /** All data are gone. */
  lose(): Promise<void>;
  stop(): Promise<void>;
};
export type OpenRuleStore = (clock: ReturnType<typeof aClock>) => Promise<RuleStore>;

const byId = 'SELECT policies FROM ledger_decision WHERE id = ?';

type Opened = { readonly store: SqliteUsageStore; readonly db: Database };

export const inMemory: OpenRuleStore = async (clock) => embedded(clock, undefined);

export const inFile: OpenRuleStore = async (clock) => embedded(clock, aDirectory());

/** A replica that is replaced. */
export function onPostgres(server: SharedPostgres): OpenRuleStore {
  return async (clock) => {
    const url = await server.createDatabase('tables');
    const epochMirror = createMemoryEpochMirror();
    const postgres = createPostgres({ address: parsePostgresUrl('url', url) });
    const open = () => openStore(url, { clock, epochMirror });
    let store = await open();
    return {
      get usage() {
        return store;
      },
      get recovery() {
        return store.recovery;
      },
      recorded: async (id) => {
        const [row] = await server.query(url, `SELECT policies FROM ledger.decision WHERE id = '${id}'`);
        return row?.['policies'] as readonly DecidedPolicy[] | undefined;
      },
      // A step may end on the next day.
      jumped: () =>
        makeParts(postgres, ['decision', 'settlement'], [clock.now(), plusMs(clock.now(), 86_400_000)]),
      kill: async () => {
        const former = store;
        store = await open();
        await former.stop();
        return true;
      },
      lose: async () => {
        await store.stop();
        await server.query(url, 'DROP SCHEMA usage, ledger CASCADE');
        store = await open();
      },
      stop: async () => {
        await Promise.all([store.stop(), postgres.stop()]);
      },
    };
  };
}

function embedded(
  clock: ReturnType<typeof aClock>,
  root: ReturnType<typeof aDirectory> | undefined,
): RuleStore {
  let epochMirror = createMemoryEpochMirror();
  let generation = 0;
  const place = () => join(root!.path, `data-${generation}`);
  const open = (): Opened => {
    if (root !== undefined) mkdirSync(place(), { recursive: true });
    const path = root === undefined ? ':memory:' : join(place(), 'usage.db');
    const db = openUsageDatabase({ path, durability: 'process' });
    return { db, store: createUsageStoreOver(db, { clock, log: silentLogger, epochMirror }) };
  };
  let { store, db } = open();
  return {
    get usage() {
      return store;
    },
    get recovery() {
      return store.recovery;
    },
    recorded: async (id) => {
      const row = db.sql.prepare(byId).get(id);
      return row === undefined
        ? undefined
        : (JSON.parse(String(row['policies'])) as readonly DecidedPolicy[]);
    },
    jumped: () => Promise.resolve(),
    kill: async () => {
      if (root === undefined) return false;
      const [from, former] = [place(), store];
      generation += 1;
      // As they are while the process runs, which then writes to files and a copy of the epoch that nobody reads.
      const copies = await epochMirror.all();
      cpSync(from, place(), { recursive: true, filter: (file) => !file.endsWith('.lock') });
      await former.stop();
      epochMirror = createMemoryEpochMirror();
      for (const [chainId, copy] of copies) await epochMirror.put(chainId, copy, undefined);
      ({ store, db } = open());
      return true;
    },
    lose: async () => {
      await store.stop();
      generation += 1;
      ({ store, db } = open());
    },
    stop: async () => {
      await store.stop();
      root?.remove();
    },
  };
}
