import { closeSync, fsyncSync, openSync } from 'node:fs';
import { backup } from 'node:sqlite';
import { openReader } from './database.js';

/** More pages than a database has: all in one step, which sees one moment. Smaller steps begin anew with each commit of others. */
const everyPage = 0x7fff_ffff;

/**
 * Copies a database as of one moment into a new file (mode 0600), while other processes go on committing. Page by page, since
 * the ledger's positions are row ids, which VACUUM may change. Throws UNAVAILABLE, or an error of files.
 */
export async function copyDatabase(from: string, to: string): Promise<void> {
  const reader = openReader(from);
  try {
    // Made first: SQLite would give it the mode of the umask.
    closeSync(openSync(to, 'wx', 0o600));
    await backup(reader.sql, to, { rate: everyPage });
  } finally {
    reader.close();
  }
  const file = openSync(to, 'r');
  fsyncSync(file);
  closeSync(file);
}
