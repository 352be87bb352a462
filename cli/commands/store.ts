import { statSync } from 'node:fs';
import { join } from 'node:path';
import type { Command } from 'commander';
import { copyStore } from '../../adapters/store/copy/copy-store.js';
import { DomainError, isDomainError } from '../../core/errors.js';
import { systemClock } from '../../core/units/time.js';
import { copyDataDirectory } from '../../standalone/backup.js';
import { readPostgres } from '../postgres.js';
import { addNoun, say, type Terminal } from '../terminal.js';

/** The name of the file in a data directory. */
const fileName = 'usage.sqlite';

export function addStore(program: Command, terminal: Terminal): void {
  const store = addNoun(program, 'store', 'The store of limits, deposits and the ledger');
  store
    .command('backup')
    .description(
      'Copy the data directory of a standalone service, which may run, into a new directory: databases and keys, readable by you alone',
    )
    .argument('<directory>', 'the data directory')
    .argument('<backup>', 'a directory that does not exist yet, or is empty')
    .action(async (directory: string, backup: string) => {
      await copied(directory, backup, terminal);
      terminal.out(
        `${backup} holds keys that sign, master keys and the URLs of nodes: encrypt it before it leaves this machine\n`,
      );
    });
  store
    .command('restore')
    .description(
      'Make a data directory of a backup. The service that starts on it signs nothing until every earlier promise has expired',
    )
    .argument('<backup>', 'what `paymaster store backup` has made')
    .argument('<directory>', 'a directory that does not exist yet, or is empty')
    .action(async (backup: string, directory: string) => {
      await copied(backup, directory, terminal);
      terminal.out(
        `start one service on ${directory}, and none on what the backup was made of: each stops a contract for operations that the other has promised\n`,
      );
    });
  store
    .command('copy')
    .description(
      'Move an embedded store to the PostgreSQL of PAYMASTER_DATABASE_URL. No process may use either of them meanwhile',
    )
    .argument('<path>', 'a data directory, or the file of an embedded store')
    .action(async (path: string) => {
      const { movedTo } = await copyStore({
        path: fileAt(path),
        client: readPostgres(terminal.env, 'paymaster-store-copy'),
        now: systemClock.now(),
        onProgress: (done) => say(terminal, done),
      });
      terminal.out(
        `everything is in PostgreSQL: start the servers with this PAYMASTER_DATABASE_URL\nthe embedded store is kept as ${movedTo}, and nothing signs from it any longer\n`,
      );
    });
}

async function copied(from: string, to: string, terminal: Terminal): Promise<void> {
  const { files, skipped } = await copyDataDirectory(from, to).catch((error: unknown) => {
    if (isDomainError(error) || !(error instanceof Error && 'code' in error)) throw error;
    throw new DomainError('UNAVAILABLE', `${to} is not a whole copy: ${error.message}`, { cause: error });
  });
  for (const path of skipped) say(terminal, `${path} is not a file, and is not copied`);
  say(terminal, `${files.length} files are copied to ${to}`);
}

function fileAt(path: string): string {
  const found = statSync(path, { throwIfNoEntry: false });
  return found?.isDirectory() === true ? join(path, fileName) : path;
}
