import { cpSync, mkdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { createSqliteUsageStore } from '../../adapters/store/sqlite/usage.js';
import type { SqliteUsageStore } from '../../adapters/store/sqlite/usage.js';
import { silentLogger } from '../../core/log.js';
import { createMemoryEpochMirror, type EpochMirror, type UsageRecovery } from '../../core/usage/epoch.js';
import type { UsageStore } from '../../core/usage/usage-store.js';
import type { aClock } from '../adapters/usage/clock.js';
import { aDirectory } from '../adapters/usage/sqlite-usage.js';

/** The usage store of a run: one or more replicas over the same data, and the faults that may happen to them. */
export type Stores = {
  /** The replicas that may be asked; the first one follows the chain. */
  readonly replicas: readonly UsageStore[];
  /** Lets each process recover by itself. */
  recovery(replica: number): UsageRecovery;
  /** Ends processes without a stop and starts them again. */
  kill(): Promise<void>;
  /** The process that holds the data crashes during this call, and comes back with everything that it has confirmed. */
  crash(during: () => Promise<void>): Promise<void>;
  /** Detaches the copy that would take over: it keeps the data that it has. False without a copy, or if it is already detached. */
  detach(): Promise<boolean>;
  /** The copy takes over, with all data or `older` ones; undefined without a copy. */
  failover(): Promise<'whole' | 'older' | undefined>;
  backup(): Promise<void>;
  /** Ends the processes, restores the backup, and starts them again. False without a backup. */
  restore(): Promise<boolean>;
  stop(): Promise<void>;
};
export type OpenStores = (clock: ReturnType<typeof aClock>) => Promise<Stores>;

export const hasNoCopy: Pick<Stores, 'crash' | 'detach' | 'failover'> = {
  crash: (during) => during(),
  detach: async () => false,
  failover: async () => undefined,
};

/** Data in memory: nothing can be killed or restored. */
export const openInMemory: OpenStores = async (clock) => {
  const store = createSqliteUsageStore({ path: ':memory:', durability: 'process', clock, log: silentLogger });
  return {
    replicas: [store],
    recovery: () => store.recovery,
    kill: async () => {},
    ...hasNoCopy,
    backup: async () => {},
    restore: async () => false,
    stop: () => store.stop(),
  };
};

/** Data in a file. `mirror`: where the epoch's copy is for each opening of the file; the same place unless a test says otherwise. */
export function openInFile(mirrorOf?: () => EpochMirror): OpenStores {
  return async (clock) => {
    const root = aDirectory();
    const kept = createMemoryEpochMirror();
    let generation = 0;
    let hasBackup = false;
    const place = () => join(root.path, `data-${generation}`);
    const open = (): SqliteUsageStore =>
      createSqliteUsageStore({
        path: join(place(), 'usage.db'),
        durability: 'process',
        clock,
        log: silentLogger,
        epochMirror: mirrorOf?.() ?? kept,
      });
    mkdirSync(place());
    let store = open();
    const movedFrom = async (from: string, end: () => Promise<void>) => {
      generation += 1;
      cpSync(from, place(), { recursive: true, filter: (file) => !file.endsWith('.lock') });
      await end();
      store = open();
    };
    return {
      get replicas() {
        return [store];
      },
      recovery: () => store.recovery,
      // The files are copied as they are while the process runs, which then writes to files that nobody reads.
      kill: () => {
        const former = store;
        return movedFrom(place(), () => former.stop());
      },
      ...hasNoCopy,
      backup: async () => {
        // The data that a backup tool saved; the copy of the epoch is newer.
        rmSync(join(root.path, 'backup'), { recursive: true, force: true });
        cpSync(place(), join(root.path, 'backup'), { recursive: true });
        hasBackup = true;
      },
      restore: async () => {
        if (!hasBackup) return false;
        await store.stop();
        await movedFrom(join(root.path, 'backup'), async () => {});
        return true;
      },
      stop: async () => {
        await store.stop();
        root.remove();
      },
    };
  };
}
