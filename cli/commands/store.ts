import { statSync } from 'node:fs';
import { join } from 'node:path';
import type { Command } from 'commander';
import { copyStore } from '../../adapters/store/copy/copy-store.js';
import { systemClock } from '../../core/units/time.js';
import { readPostgres } from '../postgres.js';
import { addNoun, say, type Terminal } from '../terminal.js';

/** The name of the file in a data directory. */
const fileName = 'usage.sqlite';

export function addStore(program: Command, terminal: Terminal): void {
  addNoun(program, 'store', 'The store of limits, deposits and the ledger')
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

function fileAt(path: string): string {
  const found = statSync(path, { throwIfNoEntry: false });
  return found?.isDirectory() === true ? join(path, fileName) : path;
}
