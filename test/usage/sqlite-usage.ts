import { cpSync, mkdirSync, mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createSqliteUsageStore, type SqliteUsageStore } from '../../core/adapters/store/sqlite/usage.js';
import { silentLogger } from '../../core/log.js';
import { createMemoryEpochMirror } from '../../core/usage/epoch.js';
import type { EpochMs } from '../../core/units/time.js';
import { startMs } from '../conformance/usage-requests.js';
import type { TestedStore, UsageHarness } from '../conformance/usage/suite.js';

/** A clock that moves by hand. */
export function aClock(at: EpochMs = startMs): { now(): EpochMs; advance(ms: number): void } {
  let now: number = at;
  return {
    now: () => now as EpochMs,
    advance: (ms) => {
      now += ms;
    },
  };
}

/** A directory for one test's files. */
export function aDirectory(): { readonly path: string; remove(): void } {
  const path = mkdtempSync(join(tmpdir(), 'usage-'));
  return { path, remove: () => rmSync(path, { recursive: true, force: true }) };
}

/** The store and its funding messages as one, as the suite wants them. */
export function tested(store: SqliteUsageStore): TestedStore {
  const { messages } = store;
  return {
    ...store,
    putFundingMessage: (...args) => messages.putFundingMessage(...args),
    getFundingMessage: (...args) => messages.getFundingMessage(...args),
    consumeFundingMessage: (...args) => messages.consumeFundingMessage(...args),
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
