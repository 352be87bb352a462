export { aClock } from './clock.js';
import { cpSync, mkdirSync, mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Database } from '../../../adapters/sqlite/database.js';
import {
  createSqliteUsageStore,
  createUsageStoreOver,
  openUsageDatabase,
} from '../../../adapters/store/sqlite/usage.js';
import type { SqliteUsageStore } from '../../../adapters/store/sqlite/usage.js';
import { silentLogger } from '../../../core/log.js';
import { createMemoryEpochMirror } from '../../../core/usage/epoch.js';
import type { TestedStore, UsageHarness } from '../../conformance/usage/suite.js';
import { aClock } from './clock.js';
import { newRecords, recordsInFile } from './written-records.js';

/** A directory for one test's files. */
export function aDirectory(): { readonly path: string; remove(): void } {
  const path = mkdtempSync(join(tmpdir(), 'usage-'));
  return { path, remove: () => rmSync(path, { recursive: true, force: true }) };
}

/** The store and its texts as one, as the suite wants them. */
export function tested(store: SqliteUsageStore): TestedStore {
  const { texts } = store;
  return {
    ...store,
    putText: (...args) => texts.putText(...args),
    addText: (...args) => texts.addText(...args),
    getText: (...args) => texts.getText(...args),
    getTexts: (...args) => texts.getTexts(...args),
    takeText: (...args) => texts.takeText(...args),
  };
}

export async function createSqliteHarness(): Promise<UsageHarness> {
  const directory = aDirectory();
  const clock = aClock();
  const epochMirror = createMemoryEpochMirror();
  const [data, copy] = [join(directory.path, 'data'), join(directory.path, 'copy')];
  let current: SqliteUsageStore;
  const open = (): TestedStore => {
    current = createSqliteUsageStore({
      path: join(data, 'usage.db'),
      clock,
      log: silentLogger,
      durability: 'process',
      epochMirror,
    });
    return tested(current);
  };
  const emptied = () => {
    for (const file of readdirSync(data)) rmSync(join(data, file), { recursive: true });
  };
  mkdirSync(data);
  return {
    store: open(),
    clock,
    reopen: async () => {
      await current.stop();
      return open();
    },
    wipe: async () => {
      await current.stop();
      emptied();
      return open();
    },
    mirrored: () => current.mirror(),
    takeRecords: newRecords(() => recordsInFile(join(data, 'usage.db'))),
    // The log of commits is a part of the data.
    takeCopy: async () => cpSync(data, copy, { recursive: true }),
    putCopyBack: async () => {
      await current.stop();
      emptied();
      cpSync(copy, data, { recursive: true });
      return open();
    },
    stop: async () => {
      await current.stop();
      directory.remove();
    },
  };
}

/** After commits that failed the store tries nothing for at most so long. */
const retryMs = 30_000;

/** A store whose transactions can be made to fail: before they are begun, or after they were committed. */
export function createFaultyStore(path: string, clock: ReturnType<typeof aClock>) {
  const db = openUsageDatabase({ path, durability: 'process' });
  let failing: 'no' | 'before' | 'after' = 'no';
  const faulty: Database = {
    ...db,
    transaction: (work) => {
      if (failing === 'before') throw new Error('disk I/O error');
      const result = db.transaction(work);
      if (failing === 'after') throw new Error('disk I/O error');
      return result;
    },
  };
  return {
    store: createUsageStoreOver(faulty, { clock, log: silentLogger }),
    db,
    fail: (when: 'before' | 'after') => {
      failing = when;
    },
    /** Works again. */
    stopFailing: () => {
      failing = 'no';
    },
    /** Works again, and is tried again. */
    repair: () => {
      failing = 'no';
      clock.advance(retryMs);
    },
  };
}
