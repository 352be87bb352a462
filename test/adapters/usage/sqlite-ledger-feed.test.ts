import { copyFileSync, existsSync } from 'node:fs';
import { join } from 'node:path';
import { createSqliteUsageStore } from '../../../adapters/usage/embedded/usage.js';
import { silentLogger } from '../../../core/log.js';
import { ledgerFeedConformance } from '../../conformance/ledger-feed.js';
import type { FeedHarness } from '../../conformance/ledger-feed.js';
import { aClock, aDirectory } from './sqlite-usage.js';

ledgerFeedConformance('SQLite', async (): Promise<FeedHarness> => {
  const clock = aClock();
  const directories = [aDirectory()];
  const pathOf = (directory: { readonly path: string }) => join(directory.path, 'usage.db');
  const open = () =>
    createSqliteUsageStore({
      path: pathOf(directories.at(-1)!),
      durability: 'process',
      clock,
      log: silentLogger,
      ledger: { budgetBytes: 40_000 },
    });
  let current = open();
  return {
    get store() {
      return current;
    },
    get feed() {
      return current.feed;
    },
    another: async () => current.feed,
    killed: async () => {
      // The files as a killed process leaves them.
      const from = pathOf(directories.at(-1)!);
      directories.push(aDirectory());
      for (const end of ['', '-wal'])
        if (existsSync(from + end)) copyFileSync(from + end, pathOf(directories.at(-1)!) + end);
      await current.stop();
      current = open();
      return current.feed;
    },
    claimable: async () => clock.advance(60_000),
    stop: async () => {
      await current.stop();
      for (const directory of directories) directory.remove();
    },
  };
});
