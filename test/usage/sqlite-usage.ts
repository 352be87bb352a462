import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { JournalledUsageStore } from '../../core/adapters/store/sqlite/journalled-usage.js';
import { createSqliteUsageStore } from '../../core/adapters/store/sqlite/usage.js';
import { openUsageJournal, type UsageJournal } from '../../core/adapters/store/sqlite/usage-journal.js';
import { silentLogger } from '../../core/log.js';
import type { UsageStore } from '../../core/policy/usage-store.js';
import type { EpochMs } from '../../core/units/time.js';
import { startMs } from '../conformance/usage-requests.js';
import type { EpochHarness, LosableUsage } from '../conformance/usage-epoch.js';
import type { UsageHarness } from '../conformance/usage/suite.js';

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

export async function createSqliteHarness(): Promise<UsageHarness> {
  const directory = aDirectory();
  const clock = aClock();
  const open = (): UsageStore =>
    createSqliteUsageStore({
      path: join(directory.path, 'usage.db'),
      clock,
      log: silentLogger,
      durability: 'process',
    });
  let current = open();
  return {
    store: current,
    now: () => clock.now(),
    advance: (ms) => clock.advance(ms),
    restart: async () => {
      await current.stop();
      current = open();
      return current;
    },
    stop: async () => {
      await current.stop();
      directory.remove();
    },
  };
}

/** Two files: the one that is kept, and one in a place where there was none. */
export async function createSqliteEpochHarness(): Promise<EpochHarness> {
  const directory = aDirectory();
  const clock = aClock();
  let current: LosableUsage | undefined;
  return {
    clock,
    open: async (data, epochMirror) => {
      await current?.stop();
      current = createSqliteUsageStore({
        path: join(directory.path, `${data}.db`),
        clock,
        log: silentLogger,
        durability: 'process',
        epochMirror,
        compactAtBytes: 1,
      });
      return current;
    },
    stop: async () => {
      await current?.stop();
      directory.remove();
    },
  };
}

/** A store whose journal can be made to fail: before the row is written, or after it. */
export function createFaultyStore(path: string, clock: ReturnType<typeof aClock>, compactAtBytes = 1 << 22) {
  const journal = openUsageJournal(path, 'process');
  let failing: 'no' | 'before' | 'after' = 'no';
  const faulty: UsageJournal = {
    recover: () => journal.recover(),
    append: (row) => {
      if (failing === 'before') throw new Error('database or disk is full');
      journal.append(row);
      if (failing === 'after') throw new Error('disk I/O error');
    },
    bytes: () => journal.bytes(),
    imageBytes: () => journal.imageBytes(),
    beginImage: () => journal.beginImage(),
    sweep: () => journal.sweep(),
    ping: () => journal.ping(),
    close: () => journal.close(),
  };
  const store = new JournalledUsageStore({ journal: faulty, clock, log: silentLogger, compactAtBytes });
  return {
    store,
    journal,
    fail: (when: typeof failing) => {
      failing = when;
    },
  };
}
