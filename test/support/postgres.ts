import { spawn, spawnSync, type ChildProcess } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { chownSync, existsSync, mkdtempSync, readFileSync, rmSync, statfsSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import pg from 'pg';
import { parsePostgresUrl } from '../../adapters/postgres/address.js';
import { openPostgresUsageStore } from '../../adapters/store/postgres/usage.js';
import { silentLogger } from '../../core/log.js';
import { endWithParent } from '../../standalone/end-with-parent.js';
import { freePort } from './cluster/free-port.js';
import { copyDirectory, createDataDirectory, ownerOfServer, postgresPrograms } from './cluster/postgres.js';
import { repositoryRoot } from './repository-root.js';
import { sharedServer } from './shared-server.js';
import { succeeds, until } from './until.js';

/** A new PostgreSQL server on a free loopback port, with its files in a new directory. Its user `postgres` may do all. */
export type PostgresServer = {
  readonly port: number;
  /** As the user `postgres`, of the database that is always there. */
  readonly url: string;
  readonly directory: string;
  /** Of the certificate that it was started with. */
  readonly certificateFile: string;
  /** Of a new database. */
  createDatabase(content?: Content): Promise<string>;
  /** Statements on a connection of their own; `postgres` may do all. */
  query(url: string, text: string): Promise<readonly Readonly<Record<string, unknown>>[]>;
  /**
   * Lets connections that are made from now on write no file beyond this size, as on a disk that is full; undefined: as large as
   * they like.
   */
  limitFiles(bytes: number | undefined): void;
  /** A server that follows this one, asynchronously. */
  startStandby(): Promise<Standby>;
  /** From now on every commit waits until a standby has it. */
  waitForStandbys(): Promise<void>;
  /** kill -9 of the whole server. */
  kill(): Promise<void>;
  /** Starts it again on the same files and port. */
  start(): Promise<void>;
  /** Copies its files while it is down, as a backup of the disk does, and starts it again. */
  takeCopy(): Promise<void>;
  /** Replaces its files by that copy while it is down. */
  putCopyBack(): Promise<void>;
  /** From now on it ends with this process, which does not wait for it; its files go with it. */
  endWithProcess(): void;
  /** Ends the processes and removes the files. May be called twice. */
  stop(): Promise<void>;
};

/** A server of which a file uses its own databases only. */
export type SharedPostgres = Pick<PostgresServer, 'port' | 'url' | 'createDatabase' | 'query' | 'stop'>;

/** Without its primary it can be promoted. */
export type Standby = {
  readonly port: number;
  /** Resolves when it has everything that the primary has. */
  caughtUp(): Promise<void>;
  promote(): Promise<void>;
  /** Starts it again after `stop`, on the same files and port. */
  start(): Promise<void>;
  /** kill -9 of the whole server. */
  stop(): Promise<void>;
};

export type PostgresSettings = {
  /** With it, TLS is possible. */
  readonly certificate?: { readonly key: string; readonly cert: string };
  readonly settings?: Readonly<Record<string, string>>;
  /** Where its own directory is made. */
  readonly folder?: string;
};

/** The user `postgres` needs no password, all others do. Throws an error that says how to install what is missing. */
export async function startPostgres({
  certificate,
  settings,
  folder = folderForFiles(),
}: PostgresSettings = {}): Promise<PostgresServer> {
  const programs = postgresPrograms();
  const port = await freePort();
  const directory = mkdtempSync(join(folder, 'postgres-'));
  const owner = ownerOfServer;
  const data = join(directory, 'data');
  const write = (name: string, text: string): string => {
    const file = join(directory, name);
    writeFileSync(file, text, { mode: 0o600 });
    if (owner !== undefined) chownSync(file, owner.uid, owner.gid);
    return file;
  };
  const certificateFile = write('server.crt', certificate?.cert ?? '');
  const all = {
    port: String(port),
    listen_addresses: '127.0.0.1',
    unix_socket_directories: directory,
    shared_buffers: '64MB',
    hba_file: write(
      'hba.conf',
      'host all postgres 127.0.0.1/32 trust\nhost replication postgres 127.0.0.1/32 trust\nhost all all 127.0.0.1/32 scram-sha-256\n',
    ),
    ...(certificate !== undefined && {
      ssl: 'on',
      ssl_cert_file: certificateFile,
      ssl_key_file: write('server.key', certificate.key),
    }),
    ...settings,
  };
  let running: ChildProcess | undefined;
  let databases = 0;

  const urlOf = (database: string): string =>
    `postgresql://postgres@127.0.0.1:${port}/${database}?sslmode=disable`;

  function run(folder: string, change: Readonly<Record<string, string>> = {}): ChildProcess {
    const settled = Object.entries({ ...all, ...change });
    return spawn(
      join(programs, 'postgres'),
      ['-D', folder, ...settled.flatMap(([name, value]) => ['-c', `${name}=${value}`])],
      { stdio: 'ignore', cwd: directory, ...owner },
    );
  }

  async function start(): Promise<void> {
    // Processes of a killed server hold its memory for a moment, during which a new one refuses to start.
    await until(`PostgreSQL on port ${port} answers`, async () => {
      if (running === undefined || running.exitCode !== null) running = run(data);
      return succeeds(query(urlOf('postgres'), 'SELECT 1'));
    });
  }

  async function startStandby(): Promise<Standby> {
    const standbyPort = await freePort();
    const folder = join(directory, `standby-${standbyPort}`);
    const copied = spawnSync(
      join(programs, 'pg_basebackup'),
      [
        '-D',
        folder,
        '-h',
        '127.0.0.1',
        '-p',
        String(port),
        '-U',
        'postgres',
        '-R',
        '-X',
        'stream',
        '--no-sync',
        '-c',
        'fast',
      ],
      { encoding: 'utf8', cwd: directory, ...owner },
    );
    if (copied.status !== 0)
      throw new Error(`pg_basebackup failed: ${copied.error?.message ?? copied.stderr}`);
    const url = `postgresql://postgres@127.0.0.1:${standbyPort}/postgres?sslmode=disable`;
    let child: ChildProcess | undefined;
    const startIt = () =>
      until('the standby answers', async () => {
        if (child === undefined || child.exitCode !== null)
          child = run(folder, { port: String(standbyPort) });
        return succeeds(query(url, 'SELECT 1'));
      });
    await startIt();
    return {
      port: standbyPort,
      caughtUp: () =>
        until('the standby has everything', async () => {
          const [row] = await query(
            urlOf('postgres'),
            'SELECT bool_and(replay_lsn >= pg_current_wal_lsn()) AS is_there FROM pg_stat_replication',
          );
          return row?.['is_there'] === true;
        }),
      promote: async () => {
        await query(url, 'SELECT pg_promote()');
        await until('the standby is promoted', async () => {
          const [row] = await query(url, 'SELECT pg_is_in_recovery() AS is_standby');
          return row?.['is_standby'] === false;
        });
        await query(url, "ALTER SYSTEM SET synchronous_standby_names = ''");
        await query(url, 'SELECT pg_reload_conf()');
      },
      start: startIt,
      stop: async () => {
        const former = child;
        child = undefined;
        if (former === undefined || former.exitCode !== null || former.signalCode !== null) return;
        await killWhole(former, 'SIGKILL');
      },
    };
  }

  async function waitForStandbys(): Promise<void> {
    await query(urlOf('postgres'), "ALTER SYSTEM SET synchronous_standby_names = '*'");
    await query(urlOf('postgres'), 'SELECT pg_reload_conf()');
    await until('commits wait for the standby', async () => {
      const [row] = await query(urlOf('postgres'), 'SELECT sync_state FROM pg_stat_replication');
      return row?.['sync_state'] === 'sync';
    });
  }

  async function kill(signal: NodeJS.Signals = 'SIGKILL'): Promise<void> {
    const child = running;
    running = undefined;
    if (child === undefined || child.exitCode !== null || child.signalCode !== null) return;
    await killWhole(child, signal);
  }

  async function copied(from: string, to: string): Promise<void> {
    // As kill -9, but it resolves when none of its processes can write any longer.
    await kill('SIGQUIT');
    rmSync(to, { recursive: true, force: true, maxRetries: 10 });
    copyDirectory(from, to);
    await start();
  }

  async function stop(): Promise<void> {
    await kill();
    rmSync(directory, { recursive: true, force: true, maxRetries: 10 });
  }

  try {
    createDataDirectory(directory, ['--auth=trust', '--wal-segsize=1']);
    await start();
  } catch (error) {
    await stop();
    throw error;
  }
  return {
    port,
    url: urlOf('postgres'),
    directory,
    certificateFile,
    createDatabase: async (content) => {
      databases += 1;
      return createDatabase(urlOf('postgres'), `test_${databases}`, content);
    },
    query,
    startStandby,
    waitForStandbys,
    limitFiles: (bytes) => {
      const limit = `--fsize=${bytes ?? 'unlimited'}:`;
      const done = spawnSync('prlimit', [`--pid=${running?.pid}`, limit], { encoding: 'utf8', ...owner });
      if (done.status !== 0)
        throw new Error(`prlimit (util-linux) failed: ${done.error?.message ?? done.stderr}`);
    },
    takeCopy: () => copied(data, `${data}-copy`),
    putCopyBack: () => copied(`${data}-copy`, data),
    kill: () => kill(),
    start,
    endWithProcess: () => {
      if (running === undefined) return;
      running.unref();
      // With SIGTERM it would wait for its clients, and a query that waits for a lock does not see that its client is gone.
      endWithParent(running, directory, 'INT');
    },
    stop,
  };
}

const serverOfWorker = sharedServer(async () => {
  // Each file leaves databases until its end, and the server would visit all of them within a minute.
  const server = await startPostgres({ settings: { autovacuum_naptime: '1d' } });
  server.endWithProcess();
  return server;
});

/**
 * The server that the files of one worker share, for files that neither kill nor configure it, and look at nothing beyond their own
 * databases. `stop` drops the databases that were created here.
 */
export async function sharedPostgres(): Promise<SharedPostgres> {
  const { port, url } = await serverOfWorker();
  const created: string[] = [];
  return {
    port,
    url,
    query,
    createDatabase: async (content) => {
      const name = `test_${randomBytes(6).toString('hex')}`;
      created.push(name);
      return createDatabase(url, name, content);
    },
    stop: async () => {
      for (const name of created.splice(0))
        await administer(url, `DROP DATABASE IF EXISTS "${name}" WITH (FORCE)`);
    },
  };
}

/** Resolves when none of its processes can answer any longer: each ends when it notices, and may answer a call before. */
async function killWhole(server: ChildProcess, signal: NodeJS.Signals): Promise<void> {
  const ended = once(server, 'exit');
  const backends = textOf(`/proc/${server.pid}/task/${server.pid}/children`).split(' ').filter(Boolean);
  server.kill(signal);
  await ended;
  // Empty where the system has no /proc. Those that nobody waits for stay as zombies.
  const isRunning = (pid: string): boolean => !/^$|\) Z /.test(textOf(`/proc/${pid}/stat`));
  await until('its processes are gone', () => !backends.some(isRunning));
}

function textOf(file: string): string {
  try {
    return readFileSync(file, 'utf8');
  } catch {
    return '';
  }
}

/** In memory where there is room, because the store refuses a server that does not wait for its disk, and tests need no disk. */
function folderForFiles(): string {
  const memory = '/dev/shm';
  const isRoomy = existsSync(memory) && room(memory) > 1e9;
  return isRoomy ? memory : tmpdir();
}

function room(folder: string): number {
  const { bavail, bsize } = statfsSync(folder);
  return bavail * bsize;
}

export function query(url: string, text: string): Promise<readonly Readonly<Record<string, unknown>>[]> {
  return connected(url, async (client) => (await client.query<Record<string, unknown>>(text)).rows);
}

async function connected<T>(url: string, use: (client: pg.Client) => Promise<T>): Promise<T> {
  const client = new pg.Client({ connectionString: url });
  // A server that is killed breaks the connection; the query says so.
  client.on('error', () => {});
  await client.connect();
  try {
    // The user that may do all acts as itself, not as the writer of the database.
    await client.query(`SELECT set_config('role', 'none', false) WHERE session_user = 'postgres'`);
    return await use(client);
  } finally {
    await client.end();
  }
}

const kept = new Map<string, pg.Pool>();

/** On a connection that is kept, since making one takes longer than making a database. It does not keep this process from ending. */
function administer(url: string, text: string): Promise<unknown> {
  let pool = kept.get(url);
  if (pool === undefined) {
    pool = new pg.Pool({ connectionString: url, max: 1, idleTimeoutMillis: 0, allowExitOnIdle: true });
    pool.on('error', () => {});
    kept.set(url, pool);
  }
  return pool.query(text);
}

/** What a new database has: the rights of docs/database.md alone, or also the tables of a store that was opened and closed. */
type Content = 'rights' | 'tables';

/** Each process has its own. */
const templateOf = (content: Content): string => `${content}_${process.pid}`;
const [owner, writer] = [`"owner_${process.pid}"`, `"writer_${process.pid}"`];
/** By the URL of its server. */
const templates = { rights: new Map<string, Promise<void>>(), tables: new Map<string, Promise<void>>() };

/**
 * A new database on the server of this one, with the owner and the writer of docs/database.md. A connection that a store makes acts as the
 * writer, so that every test finds what needs more than its rights. Copied, since a store takes longer to make its tables.
 */
export async function createDatabase(
  url: string,
  name: string,
  content: Content = 'rights',
): Promise<string> {
  let made = templates[content].get(url);
  if (made === undefined) {
    made = content === 'rights' ? makeRights(url) : makeTables(url);
    templates[content].set(url, made);
  }
  await made;
  return copyTemplate(url, templateOf(content), name);
}

async function copyTemplate(url: string, template: string, name: string): Promise<string> {
  await administer(url, `CREATE DATABASE "${name}" OWNER ${owner} TEMPLATE "${template}" STRATEGY file_copy`);
  await administer(url, `ALTER ROLE CURRENT_USER IN DATABASE "${name}" SET role = ${writer}`);
  return urlOfDatabase(url, name);
}

async function makeRights(url: string): Promise<void> {
  const page = readFileSync(join(repositoryRoot, 'docs/database.md'), 'utf8');
  const rights = [
    ...page.matchAll(/^ALTER DEFAULT PRIVILEGES FOR ROLE paymaster GRANT .* TO paymaster_writer;$/gm),
  ];
  if (rights.length === 0) throw new Error('docs/database.md has no rights of the writer');
  const named = (text: string) =>
    text.replace('ROLE paymaster ', `ROLE ${owner} `).replace('paymaster_writer', writer);
  const name = templateOf('rights');
  await administer(url, `CREATE ROLE ${owner}`);
  await administer(url, `CREATE ROLE ${writer}`);
  await administer(url, `CREATE DATABASE "${name}" OWNER ${owner}`);
  await query(urlOfDatabase(url, name), rights.map(([text]) => named(text)).join('\n'));
}

async function makeTables(url: string): Promise<void> {
  const created = await createDatabase(url, templateOf('tables'));
  const client = { address: parsePostgresUrl('url', created) };
  const store = await openPostgresUsageStore({ client, identity: 'template', log: silentLogger });
  await store.stop();
}

function urlOfDatabase(url: string, name: string): string {
  const named = new URL(url);
  named.pathname = `/${name}`;
  return named.href;
}
