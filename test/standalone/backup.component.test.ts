import { execFileSync, spawn } from 'node:child_process';
import {
  mkdirSync,
  readdirSync,
  readFileSync,
  statSync,
  symlinkSync,
  unlinkSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { openDatabase } from '../../adapters/sqlite/database.js';
import { createSqliteEpochMirror } from '../../adapters/store/sqlite/epoch-mirror.js';
import { createSqliteUsageStore } from '../../adapters/store/sqlite/usage.js';
import { createStops, type Stops } from '../../adapters/process/stops.js';
import { silentLogger } from '../../core/log.js';
import type { EpochMs } from '../../core/units/time.js';
import { copyDataDirectory } from '../../standalone/backup.js';
import { openDataDirectory } from '../../standalone/data-directory.js';
import { aClock, aDirectory } from '../adapters/usage/sqlite-usage.js';
import { aLimit, aRequest, chainId, hourMs, seconds } from '../conformance/usage-requests.js';
import { paymaster } from '../support/paymaster.js';
import { programFile } from '../support/program.js';

// A backup is a copy of what signs. Its thief signs; whoever starts on it must not promise a second time what was promised since.

let stops: Stops;
let place: string;
beforeEach(() => {
  stops = createStops();
  const directory = aDirectory();
  stops.add(directory.remove);
  place = directory.path;
});
afterEach(() => stops.run());

const clock = aClock();

/** The databases of a service that runs on a data directory. */
function run(path: string) {
  const { resourcesFile, usageFile } = openDataDirectory(path);
  const db = openDatabase(resourcesFile, { durability: 'process', exclusive: true });
  const epochMirror = createSqliteEpochMirror({ db });
  const usage = createSqliteUsageStore({
    path: usageFile,
    epochMirror,
    clock,
    log: silentLogger,
    durability: 'process',
  });
  let isStopped = false;
  const stop = async () => {
    if (isStopped) return;
    isStopped = true;
    await usage.stop();
    db.close();
  };
  stops.add(stop);
  return { usage, epochMirror, stop };
}

const day = { from: clock.now(), until: (clock.now() + 24 * hourMs) as EpochMs };
const limit = (threshold = 5) => aLimit({ counter: 'day', threshold, window: day });
const ask = (nonce: bigint, threshold?: number) =>
  aRequest({ key: { nonce }, limits: [limit(threshold)], promise: { validUntil: seconds(600) } });

async function running() {
  const path = join(place, 'data');
  const service = run(path);
  writeFileSync(join(path, 'master.key'), 'a'.repeat(64));
  writeFileSync(join(path, 'signers', 'own'), 'b'.repeat(64), { mode: 0o644 });
  return { path, ...service };
}

function filesOf(path: string): readonly string[] {
  return readdirSync(path, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map(({ parentPath, name }) => join(parentPath, name).slice(path.length + 1))
    .toSorted();
}

describe('a backup of a service that runs', () => {
  test('is what it needs to start again, readable by nobody else, whatever the umask says', async () => {
    const { path, usage } = await running();
    writeFileSync(join(path, 'connection.json'), '{}');
    writeFileSync(join(path, 'log.jsonl'), '{}');
    await usage.reserve(ask(1n));
    const former = process.umask(0);
    try {
      await copyDataDirectory(path, join(place, 'backup'));
    } finally {
      process.umask(former);
    }
    const backup = join(place, 'backup');
    expect(filesOf(backup)).toEqual(['master.key', 'resources.sqlite', 'signers/own', 'usage.sqlite']);
    for (const file of filesOf(backup)) expect(statSync(join(backup, file)).mode & 0o777).toBe(0o600);
    for (const each of ['', 'signers', 'chains', 'secrets'])
      expect(statSync(join(backup, each)).mode & 0o777).toBe(0o700);
  });

  test('that commits meanwhile is whole, each time', async () => {
    const { path, usage } = await running();
    let nonce = 0n;
    let isDone = false;
    const committing = (async () => {
      while (!isDone) expect(await usage.reserve(ask(nonce++, 100_000))).toEqual({ outcome: 'reserved' });
    })();
    for (const name of ['one', 'two', 'three']) {
      const before = nonce;
      const backup = join(place, name);
      // Another process, which shares nothing with the one that commits.
      await paymasterProcess(['store', 'backup', path, backup]);
      const db = new DatabaseSync(join(backup, 'usage.sqlite'), { readOnly: true });
      expect(db.prepare('PRAGMA integrity_check').get()).toEqual({ integrity_check: 'ok' });
      const [{ n }] = db.prepare('SELECT count(*) AS n FROM usage_reservations').all() as [{ n: number }];
      db.close();
      expect(n).toBeGreaterThanOrEqual(Number(before));
    }
    isDone = true;
    await committing;
  });
});

async function paymasterProcess(args: readonly string[]): Promise<void> {
  const child = spawn(process.execPath, ['--no-warnings', programFile('paymaster'), ...args]);
  let said = '';
  child.stderr.on('data', (chunk: Buffer) => (said += chunk.toString()));
  const code = await new Promise((resolve) => child.once('close', resolve));
  if (code !== 0) throw new Error(said);
}

describe('a service that starts on a backup', () => {
  const threshold = 5;

  async function spentAfterTheBackup() {
    const first = await running();
    for (const nonce of [1n, 2n]) await first.usage.reserve(ask(nonce));
    await copyDataDirectory(first.path, join(place, 'backup'));
    for (const nonce of [3n, 4n, 5n])
      expect(await first.usage.reserve(ask(nonce))).toEqual({ outcome: 'reserved' });
    return first;
  }

  test('promises nothing of a limit that the first one has used up since, not even when every promise has ended', async () => {
    const first = await spentAfterTheBackup();
    await first.stop();
    await copyDataDirectory(join(place, 'backup'), join(place, 'again'));
    const { usage } = run(join(place, 'again'));
    const lost = { code: 'UNAVAILABLE', details: { reason: 'USAGE_STORE_LOST' } };
    await expect(usage.reserve(ask(6n))).rejects.toMatchObject(lost);
    expect(await usage.recovery.recover(chainId)).toBe('waiting');
    clock.advance(600_000);
    await expect(usage.reserve(ask(6n))).rejects.toMatchObject(lost);
    clock.advance(hourMs);
    expect(await usage.recovery.recover(chainId)).toBe('recovered');
    expect(await usage.reserve(ask(6n, threshold))).toEqual({ outcome: 'usage-lost', index: 0 });
  });

  test('waits as long after every restore, also of a backup that was made while an earlier loss was waited for', async () => {
    const first = await spentAfterTheBackup();
    await first.stop();
    await copyDataDirectory(join(place, 'backup'), join(place, 'second'));
    const second = run(join(place, 'second'));
    expect(await second.usage.recovery.recover(chainId)).toBe('waiting');
    await copyDataDirectory(join(place, 'second'), join(place, 'second-backup'));
    clock.advance(hourMs);
    expect(await second.usage.recovery.recover(chainId)).toBe('recovered');
    await second.stop();
    // The moment at which the second one noticed its loss must not end the wait of the third.
    const third = run(join(place, 'second-backup'));
    expect(await third.usage.recovery.recover(chainId)).toBe('waiting');
    await expect(third.usage.reserve(ask(6n))).rejects.toMatchObject({ code: 'UNAVAILABLE' });
  });

  test.each(['usage.sqlite', 'resources.sqlite'])(
    'or on a directory into which somebody has put %s of a backup alone, promises nothing either',
    async (name) => {
      const first = await spentAfterTheBackup();
      await first.stop();
      writeFileSync(join(first.path, name), readFileSync(join(place, 'backup', name)));
      const { usage } = run(first.path);
      await expect(usage.reserve(ask(6n))).rejects.toMatchObject({ code: 'UNAVAILABLE' });
    },
  );

  test('that was not finished has no usage data, and notices it', async () => {
    const first = await spentAfterTheBackup();
    await first.stop();
    unlinkSync(join(place, 'backup', 'usage.sqlite'));
    const again = copyDataDirectory(join(place, 'backup'), join(place, 'again'));
    await expect(again).rejects.toThrow('is not a data directory or a whole backup: it has no usage.sqlite');
    const { usage } = run(join(place, 'backup'));
    await expect(usage.reserve(ask(6n))).rejects.toMatchObject({ code: 'UNAVAILABLE' });
  });
});

describe('what somebody else has prepared', () => {
  test('a link, a pipe or a link to a folder in the data directory is not followed, and is named', async () => {
    const { path } = await running();
    writeFileSync(join(place, 'others-secret'), 'secret');
    mkdirSync(join(place, 'others'));
    symlinkSync(join(place, 'others-secret'), join(path, 'signers', 'link'));
    symlinkSync(join(place, 'others'), join(path, 'chains', 'folder'));
    execFileSync('mkfifo', [join(path, 'pipe')]);
    const { out, error, status } = await paymaster(['store', 'backup', path, join(place, 'backup')]);
    expect(status).toBe(0);
    for (const name of ['signers/link', 'chains/folder', 'pipe'])
      expect(error).toContain(`${name} is not a file`);
    expect(out).toContain('encrypt it before it leaves this machine');
    expect(filesOf(join(place, 'backup'))).toEqual([
      'master.key',
      'resources.sqlite',
      'signers/own',
      'usage.sqlite',
    ]);
  });

  test.each([
    {
      name: 'a directory with something in it',
      make: (to: string) => {
        mkdirSync(to);
        writeFileSync(join(to, 'x'), '');
      },
      says: 'is not empty',
    },
    { name: 'a file', make: (to: string) => writeFileSync(to, ''), says: 'EEXIST' },
  ])('$name is not written into', async ({ make, says }) => {
    const { path } = await running();
    make(join(place, 'backup'));
    const { error, status } = await paymaster(['store', 'backup', path, join(place, 'backup')]);
    expect(error).toContain(says);
    expect(status).not.toBe(0);
  });

  test('a backup is not put into the directory that it is of, nor made of what is not a data directory', async () => {
    const { path } = await running();
    expect((await paymaster(['store', 'backup', path, join(path, 'backup')])).error).toContain(
      'is inside of',
    );
    expect((await paymaster(['store', 'restore', join(place, 'nothing'), join(place, 'x')])).error).toContain(
      'is not a data directory or a whole backup',
    );
  });

  const isRoot = process.getuid?.() === 0;
  (isRoot ? test : test.skip)(
    'an empty directory of another user is not written into: he could replace what is in it',
    async () => {
      const { path } = await running();
      const to = join(place, 'backup');
      mkdirSync(to, { mode: 0o777 });
      execFileSync('chown', ['65534', to]);
      expect((await paymaster(['store', 'backup', path, to])).error).toContain('belongs to another user');
      expect(readdirSync(to)).toEqual([]);
    },
  );
});
