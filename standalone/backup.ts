import { chmodSync, closeSync, constants, existsSync, fsyncSync, openSync, readFileSync } from 'node:fs';
import { mkdirSync, readdirSync, realpathSync, renameSync, statSync, writeFileSync } from 'node:fs';
import { basename, join, sep } from 'node:path';
import { createSqliteResourceStore } from '../adapters/resources/sqlite/resources.js';
import { copyDatabase } from '../adapters/sqlite/copy-database.js';
import { openDatabase } from '../adapters/sqlite/database.js';
import { createSqliteEpochMirror } from '../adapters/store/sqlite/epoch-mirror.js';
import { defaultMaxExpirySeconds } from '../core/config/caps.js';
import { DomainError } from '../core/errors.js';
import { systemClock } from '../core/units/time.js';

/** The databases, in the order in which they are read: resources may be newer than usage, whose fences must not be ahead of them. */
const databases = ['usage.sqlite', 'resources.sqlite'] as const;
/** What belongs to the process that runs, or is written at each start. Logs of databases must not lie beside another one's. */
const leftOut = /^((usage|resources)\.sqlite.*|log\.jsonl(\.\d+)?|connection\.json|.*\.tmp)$/;

export type Backup = {
  /** Paths within the directory. */
  readonly files: readonly string[];
  /** Links, sockets and the like, which are never followed. */
  readonly skipped: readonly string[];
};

/**
 * Copies a data directory, of a process that may run, into a new or empty one: to back it up, and to restore it. The copy is a data
 * directory whose usage data count as lost: a process that starts on it signs nothing until every promise made before has expired,
 * because nobody knows what was promised after the copy was made. Throws INVALID_INPUT, NOT_FOUND, ALREADY_EXISTS, UNAVAILABLE.
 */
export async function copyDataDirectory(from: string, to: string): Promise<Backup> {
  for (const name of databases)
    if (!existsSync(join(from, name)))
      throw new DomainError(
        'NOT_FOUND',
        `${from} is not a data directory or a whole backup: it has no ${name}`,
      );
  makeEmptyDirectory(to);
  if (`${realpathSync(to)}${sep}`.startsWith(`${realpathSync(from)}${sep}`))
    throw new DomainError('INVALID_INPUT', `${to} is inside of ${from}: choose another place`);

  const [usage, resources] = databases.map((name) => join(to, `${name}.tmp`)) as [string, string];
  await copyDatabase(join(from, databases[0]), usage);
  await copyDatabase(join(from, databases[1]), resources);
  await distrust(resources);
  renameSync(resources, join(to, databases[1]));
  const found = copyFiles(from, to, '');
  // Last: a copy that was not finished has no usage data, which its epochs miss.
  renameSync(usage, join(to, databases[0]));
  sync(to);
  return { files: [...databases, ...found.files], skipped: found.skipped };
}

function makeEmptyDirectory(path: string): void {
  mkdirSync(path, { recursive: true, mode: 0o700 });
  if (readdirSync(path).length > 0)
    throw new DomainError('ALREADY_EXISTS', `${path} is not empty: choose a new directory`);
  if (statSync(path).uid !== process.getuid?.())
    throw new DomainError(
      'INVALID_INPUT',
      `${path} belongs to another user, who could replace what is in it: run this as that user, or choose another directory`,
    );
  chmodSync(path, 0o700);
}

async function distrust(path: string): Promise<void> {
  const db = openDatabase(path, { durability: 'power' });
  try {
    const chains = await createSqliteResourceStore({ db, clock: systemClock }).list('Chain');
    const seconds = new Map(chains.map(({ spec }) => [spec.chainId, spec.maxExpirySeconds]));
    const maxExpiryMs = (chainId: number) => 1000 * (seconds.get(chainId) ?? defaultMaxExpirySeconds);
    createSqliteEpochMirror({ db }).distrust(maxExpiryMs);
    // One file, without a log of commits beside it.
    db.run(() => db.sql.exec('PRAGMA journal_mode = DELETE'));
  } finally {
    db.close();
  }
}

function copyFiles(from: string, to: string, below: string): Backup {
  const [files, skipped]: [string[], string[]] = [[], []];
  for (const entry of readdirSync(join(from, below), { withFileTypes: true })) {
    const path = join(below, entry.name);
    if (below === '' && leftOut.test(entry.name)) continue;
    if (entry.isDirectory()) {
      mkdirSync(join(to, path), { mode: 0o700 });
      const inside = copyFiles(from, to, path);
      files.push(...inside.files);
      skipped.push(...inside.skipped);
    } else if (entry.isFile() && !basename(path).endsWith('.tmp')) {
      copyFile(join(from, path), join(to, path));
      files.push(path);
    } else if (!entry.isFile()) skipped.push(path);
  }
  return { files, skipped };
}

/** Not through a link that has taken the file's place since: it may lead to what only the caller may read. */
function copyFile(from: string, to: string): void {
  const source = openSync(from, constants.O_RDONLY | constants.O_NOFOLLOW);
  try {
    writeFileSync(to, readFileSync(source), { mode: 0o600, flag: 'wx', flush: true });
  } finally {
    closeSync(source);
  }
}

function sync(directory: string): void {
  const opened = openSync(directory, 'r');
  fsyncSync(opened);
  closeSync(opened);
}
