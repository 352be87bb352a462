import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Database, openDatabase } from '../../../adapters/sqlite/database.js';

/** A database in a new directory. It can be closed and opened again, and `stop` deletes it. */
export function aDatabase(): { open(): Database; reopen(): Database; stop(): Promise<void>; path: string } {
  const directory = mkdtempSync(join(tmpdir(), 'paymaster-store-'));
  const path = join(directory, 'state.db');
  let current: Database | undefined;
  const open = () => (current = openDatabase(path, { durability: 'process' }));
  return {
    path,
    open,
    reopen: () => {
      current?.close();
      return open();
    },
    stop: async () => {
      current?.close();
      rmSync(directory, { recursive: true, force: true });
    },
  };
}
