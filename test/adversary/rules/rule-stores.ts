import { cpSync, mkdirSync } from 'node:fs';
import { join } from 'node:path';
import {
  createUsageStoreOver,
  openUsageDatabase,
  type SqliteUsageStore,
} from '../../../adapters/store/sqlite/usage.js';
import type { Database } from '../../../adapters/sqlite/database.js';
import { silentLogger } from '../../../core/log.js';
import type { DecidedPolicy } from '../../../core/ledger/record.js';
import { createMemoryEpochMirror, type UsageRecovery } from '../../../core/usage/epoch.js';
import type { UsageStore } from '../../../core/usage/usage-store.js';
import type { aClock } from '../../adapters/usage/clock.js';
import { aDirectory } from '../../adapters/usage/sqlite-usage.js';

/** The usage store of a run, and what may happen to it. */
export type RuleStore = {
  readonly usage: UsageStore;
  readonly recovery: UsageRecovery;
  /** The policies of a record that a reservation has written. */
  recorded(id: string): Promise<readonly DecidedPolicy[] | undefined>;
  /** Ends the process without a stop, and starts it again. False where nothing would be left. */
  kill(): Promise<boolean>;
  /** All data are gone. */
  lose(): Promise<void>;
  stop(): Promise<void>;
};
export type OpenRuleStore = (clock: ReturnType<typeof aClock>) => Promise<RuleStore>;

const byId = 'SELECT policies FROM ledger_decision WHERE id = ?';

type Opened = { readonly store: SqliteUsageStore; readonly db: Database };

export const inMemory: OpenRuleStore = async (clock) => embedded(clock, undefined);

export const inFile: OpenRuleStore = async (clock) => embedded(clock, aDirectory());

function embedded(
  clock: ReturnType<typeof aClock>,
  root: ReturnType<typeof aDirectory> | undefined,
): RuleStore {
  const epochMirror = createMemoryEpochMirror();
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
    kill: async () => {
      if (root === undefined) return false;
      const [from, former] = [place(), store];
      generation += 1;
      // As they are while the process runs, which then writes to files that nobody reads.
      cpSync(from, place(), { recursive: true, filter: (file) => !file.endsWith('.lock') });
      await former.stop();
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
