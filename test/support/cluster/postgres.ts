import { spawnSync } from 'node:child_process';
import { createHash, randomUUID } from 'node:crypto';
import {
  chownSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  realpathSync,
  renameSync,
  rmSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { parsePostgresUrl } from '../../../adapters/postgres/address.js';
import { createPostgres } from '../../../adapters/postgres/transactions.js';
import { repositoryRoot } from '../repository-root.js';
import { onFreePort } from './free-port.js';
import { startProcess } from './managed-process.js';

/** A PostgreSQL with an empty database on a free loopback port. Everyone on this machine may connect. */
export type PostgresProcess = Readonly<Awaited<ReturnType<typeof startPostgresProcess>>>;

/** The output goes to a file in `directory`. Throws an error that says what to install where PostgreSQL is missing. */
export async function startPostgresProcess(directory: string) {
  // Not in `directory`, which belongs to us alone: as root we run the server as another user.
  const files = mkdtempSync(join(tmpdir(), 'paymaster-postgres-'));
  const remove = (): void => rmSync(files, { recursive: true, force: true, maxRetries: 10 });
  try {
    const data = createDataDirectory(files, ['--auth=trust']);
    const running = await onFreePort((port) => startOn(port, data, directory));
    return {
      ...running,
      stop: async () => {
        await running.process.stop();
        remove();
      },
    };
  } catch (error) {
    remove();
    throw error;
  }
}

async function startOn(port: number, data: string, directory: string) {
  const url = `postgresql://${user}@127.0.0.1:${port}/postgres?sslmode=disable`;
  const process = await startProcess({
    command: join(postgresPrograms(), 'postgres'),
    args: ['-D', data, '-p', String(port), '-c', 'listen_addresses=127.0.0.1', '-k', dirname(data)],
    logFile: join(directory, 'postgres.log'),
    isReady: () => servesFrom(url, data),
    stopSignal: 'SIGINT',
    startTimeoutMs: 60_000,
    ...(ownerOfServer === undefined ? {} : { owner: ownerOfServer }),
  });
  return { url, process };
}

/** Whether the server at this address is ours, and not another one on the same port. */
async function servesFrom(url: string, data: string): Promise<boolean> {
  const postgres = createPostgres({ address: parsePostgresUrl('url', url), poolSize: 1 });
  try {
    const [row] = await postgres.transaction({ mode: 'read', timeoutMs: 1_000 }, (session) =>
      session.query('SHOW data_directory'),
    );
    return row?.['data_directory'] === data;
  } catch {
    return false;
  } finally {
    await postgres.stop();
  }
}

export const user = 'postgres';

/** The server refuses to run as root, so it then runs as "nobody". */
export const ownerOfServer = process.getuid?.() === 0 ? { uid: 65_534, gid: 65_534 } : undefined;

/**
 * A new data directory in a folder. Both belong to the user that runs the server. It is copied from one that `initdb` made once on this machine, which
 * takes a tenth of the processor time, so all have the same system identifier.
 */
export function createDataDirectory(folder: string, options: readonly string[]): string {
  if (ownerOfServer !== undefined) chownSync(folder, ownerOfServer.uid, ownerOfServer.gid);
  const data = join(realpathSync(folder), 'data');
  const words = [postgresPrograms(), ownerOfServer?.uid ?? process.getuid?.() ?? '', ...options];
  const name = createHash('sha256').update(JSON.stringify(words)).digest('hex').slice(0, 32);
  const kept = join(repositoryRoot, 'node_modules/.cache/paymaster-postgres', name);
  if (!existsSync(kept)) keepDataDirectory(kept, options);
  copyDirectory(kept, data);
  return data;
}

function keepDataDirectory(kept: string, options: readonly string[]): void {
  mkdirSync(dirname(kept), { recursive: true });
  // The user of the server may not reach the folder of this checkout.
  const folder = mkdtempSync(join(tmpdir(), 'paymaster-initdb-'));
  const part = `${kept}.${randomUUID()}`;
  try {
    copyDirectory(initialise(folder, options), part);
    // Renamed when it is whole: two workers may make it at the same time, and the first one stays.
    renameSync(part, kept);
  } catch (error) {
    if (!existsSync(kept)) throw error;
  } finally {
    for (const each of [folder, part]) rmSync(each, { recursive: true, force: true, maxRetries: 10 });
  }
}

function initialise(folder: string, options: readonly string[]): string {
  if (ownerOfServer !== undefined) chownSync(folder, ownerOfServer.uid, ownerOfServer.gid);
  const data = join(realpathSync(folder), 'data');
  const made = spawnSync(
    join(postgresPrograms(), 'initdb'),
    ['-D', data, '-U', user, '--no-sync', '--encoding=UTF8', '--locale=C', ...options],
    { encoding: 'utf8', cwd: folder, ...ownerOfServer },
  );
  if (made.status !== 0) throw new Error(`initdb failed: ${made.error?.message ?? made.stderr}`);
  return data;
}

/** With the owners of its files. */
export function copyDirectory(from: string, to: string): void {
  const done = spawnSync('cp', ['-a', from, to], { encoding: 'utf8' });
  if (done.status !== 0) throw new Error(`cp failed: ${done.error?.message ?? done.stderr}`);
}

/** Folder of `initdb` and `postgres`: of PATH, or where Debian and Ubuntu keep them, the newest version. */
export function postgresPrograms(): string {
  const debian = '/usr/lib/postgresql';
  const versions = existsSync(debian) ? readdirSync(debian).sort((a, b) => Number(b) - Number(a)) : [];
  const onPath = spawnSync('sh', ['-c', 'command -v initdb'], { encoding: 'utf8' }).stdout.trim();
  const folders = [
    ...(onPath === '' ? [] : [dirname(onPath)]),
    ...versions.map((version) => join(debian, version, 'bin')),
  ];
  const found = folders.find(
    (folder) => existsSync(join(folder, 'initdb')) && existsSync(join(folder, 'postgres')),
  );
  if (found === undefined)
    throw new Error(
      'PostgreSQL is not installed: `apt-get install postgresql` (Debian, Ubuntu), `brew install postgresql@16` (macOS) or `apk add postgresql` (Alpine)',
    );
  // Follow the link: the other programs are beside the file that it leads to.
  return dirname(realpathSync(join(found, 'initdb')));
}
