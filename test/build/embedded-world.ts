import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createSqliteConfigStore } from '../../adapters/configs/sqlite/configs.js';
import { openDatabase } from '../../adapters/sqlite/database.js';
import { createSqliteResourceStore } from '../../adapters/resources/sqlite/resources.js';
import { createSqliteLedger } from '../../adapters/store/ledger/sqlite-ledger.js';
import { createSqliteUsageStore } from '../../adapters/store/sqlite/usage.js';
import { silentLogger } from '../../core/log.js';
import type { Clock } from '../../core/units/time.js';
import { startTestOperator } from './operator.js';
import type { DashboardWorld, DashboardWorldOptions, RpcWorld } from './world.js';

/** Standalone has one replica; further replicas work on the same stores. */
export async function openEmbeddedDashboardWorld({
  clock,
  operator: hasOperator = false,
}: DashboardWorldOptions): Promise<DashboardWorld> {
  const { db, configs, usage, stop } = openStores(clock);
  const resources = createSqliteResourceStore({ db, clock });
  const operator = hasOperator ? await startTestOperator({ resources, configs, clock }) : undefined;
  const stores = { resources, configs, usage, texts: usage.texts };
  return {
    resources,
    configs,
    usage,
    texts: usage.texts,
    replicas: 1,
    openReplica: async () => stores,
    stop: async () => {
      await operator?.stop();
      await stop();
    },
  };
}

export async function openEmbeddedRpcWorld({ clock }: { readonly clock: Clock }): Promise<RpcWorld> {
  const { configs, usage, path, stop } = openStores(clock);
  // Few tests ask it: its thread starts with the first question.
  let opened: ReturnType<typeof createSqliteLedger> | undefined;
  const open = () => (opened ??= createSqliteLedger({ path, searchMs: aHangMs, deadlineMs: aHangMs }));
  return {
    configs,
    served: configs,
    usage,
    records: usage.ledger,
    ledger: {
      usage: async (query) => (await open()).usage(query),
      decisions: async (query) => (await open()).decisions(query),
      past: async (query) => (await open()).past(query),
    },
    stop: async () => {
      await (await opened)?.stop();
      await stop();
    },
  };
}

/** Longer than a test may take, on a machine of any speed. */
const aHangMs = 600_000;

function openStores(clock: Clock) {
  const directory = mkdtempSync(join(tmpdir(), 'world-'));
  const db = openDatabase(join(directory, 'store.db'), { durability: 'process', exclusive: true });
  const configs = createSqliteConfigStore({ db, clock });
  const path = join(directory, 'usage.db');
  const usage = createSqliteUsageStore({
    path,
    clock,
    log: silentLogger,
    durability: 'process',
  });
  return {
    db,
    configs,
    usage,
    path,
    stop: async () => {
      await usage.stop();
      db.close();
      rmSync(directory, { recursive: true, force: true });
    },
  };
}
