import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import pg from 'pg';
import { parsePostgresUrl } from '../../../adapters/postgres/address.js';
import { readRows } from '../../../adapters/store/postgres/statements.js';
import { checkSafety } from '../../../adapters/store/postgres/server-facts.js';
import {
  createPostgresUsageStore,
  type PostgresUsageOptions,
  type PostgresUsageStore,
} from '../../../adapters/store/postgres/usage.js';
import { silentLogger } from '../../../core/log.js';
import { createMemoryEpochMirror } from '../../../core/usage/epoch.js';
import { toSeconds, type EpochMs } from '../../../core/units/time.js';
import { aRequest, chainId } from '../../conformance/usage-requests.js';
import { startPostgres, type PostgresServer } from '../../support/postgres.js';
import { succeeds, until } from '../../support/until.js';
import { createCertificate } from '../webhook/certificate.js';
import { copyOf, openStore, putBack } from './postgres-usage.js';

// What the usage store asks of a server, and what it does while a server is away.

const reserved = { outcome: 'reserved' };
const down = { code: 'UNAVAILABLE', details: { reason: 'USAGE_STORE_DOWN' } };

let server: PostgresServer;
let url: string;
const ending: { stop(): Promise<void> }[] = [];

beforeAll(async () => {
  server = await startPostgres({ certificate: createCertificate('localhost') });
});
afterAll(() => server.stop());
beforeEach(async () => {
  url = await server.createDatabase();
});
afterEach(async () => {
  for (const one of ending.splice(0).toReversed()) await one.stop();
});

async function open(at = url, change: Partial<PostgresUsageOptions> = {}): Promise<PostgresUsageStore> {
  const store = await openStore(at, { timings: {}, ...change });
  ending.push(store);
  return store;
}

const one = (nonce: bigint) =>
  aRequest({
    key: { nonce },
    promise: { validUntil: toSeconds((Date.now() + 300_000) as EpochMs) },
  });

test.each([
  { setting: 'fsync', wrong: 'off', right: 'on' },
  { setting: 'full_page_writes', wrong: 'off', right: 'on' },
])('a server whose $setting is $wrong is refused until it is $right', async ({ setting, wrong, right }) => {
  const change = (value: string) =>
    server
      .query(url, `ALTER SYSTEM SET ${setting} = ${value}`)
      .then(() => server.query(url, 'SELECT pg_reload_conf()'));
  await change(wrong);
  const store = createPostgresUsageStore({
    client: { address: parsePostgresUrl('url', url) },
    identity: 'replica-1',
    log: silentLogger,
  });
  ending.push(store);
  try {
    const refusal = { code: 'UNAVAILABLE', details: { reason: 'USAGE_STORE_UNSAFE' } };
    await expect(store.opened()).rejects.toMatchObject(refusal);
    await expect(store.reserve(one(1n))).rejects.toThrow(
      `PostgreSQL may lose what it has acknowledged, because ${setting} is ${wrong}: set ${setting} = ${right} and reload`,
    );
  } finally {
    await change(right);
  }
  await until('it is taken', () => succeeds(store.reserve(one(1n))));
  expect(await store.liveCount(chainId)).toBe(1);
});

test('a commit that is answered before it is on disk, and a server of before 15, are refused', () => {
  const safe = {
    is_standby: false,
    version: 150_000,
    synchronous_commit: 'on',
    fsync: 'on',
    full_page_writes: 'on',
  };
  expect(checkSafety([safe])).toBeUndefined();
  expect(checkSafety([{ ...safe, synchronous_commit: 'remote_apply' }])).toBeUndefined();
  expect(checkSafety([{ ...safe, synchronous_commit: 'remote_write' }])).toContain(
    'set synchronous_commit = on',
  );
  expect(checkSafety([{ ...safe, version: 140_011 }])).toBe('PostgreSQL 15 or newer is needed');
  expect(checkSafety([{ ...safe, is_standby: true }])).toContain('name the primary');
  expect(checkSafety([])).toBeDefined();
});

test('a process starts while the server is away, refuses every call, and serves when it is there', async () => {
  await open();
  await server.kill();
  const store = createPostgresUsageStore({
    client: { address: parsePostgresUrl('url', url) },
    identity: 'replica-1',
    log: silentLogger,
  });
  ending.push(store);
  await expect(store.opened()).rejects.toMatchObject({ code: 'UNAVAILABLE' });
  await expect(store.reserve(one(1n))).rejects.toMatchObject({ code: 'UNAVAILABLE' });
  await expect(store.ping()).rejects.toMatchObject({ code: 'UNAVAILABLE' });
  await server.start();
  await until('it serves', () => succeeds(store.reserve(one(1n))));
  expect(await store.liveCount(chainId)).toBe(1);
});

test('a server that goes away is an outage of every call, and nothing is assumed', async () => {
  const store = await open();
  expect(await store.reserve(one(1n))).toEqual(reserved);
  await server.kill();
  try {
    const { key, ...peeked } = one(2n);
    const calls: readonly (() => Promise<unknown>)[] = [
      () => store.reserve(one(2n)),
      () => store.peek({ key, ...peeked }),
      () => store.counters(chainId, []),
      () => store.accounts(chainId),
      () => store.reservations(chainId),
      () => store.liveCount(chainId),
      () => store.suspended(chainId),
      () => store.setSuspended(chainId, 'pm-1', true),
      () => store.getText('pm-1'),
      () => store.lease.hold(chainId),
      () => store.ping(),
    ];
    for (const call of calls) await expect(call()).rejects.toMatchObject(down);
  } finally {
    await server.start();
  }
  await until('it answers', () => succeeds(store.ping()));
  expect(await store.reserve(one(2n))).toEqual(reserved);
  expect(await store.liveCount(chainId)).toBe(2);
});

test('an empty database in the place of the one that was there is a loss that running replicas notice', async () => {
  const store = await open();
  expect(await store.reserve(one(1n))).toEqual(reserved);
  await store.recovery.raise();
  await server.query(url, 'DROP SCHEMA usage CASCADE');
  const lost = async () => {
    const [answer] = await Promise.allSettled([store.reserve(one(2n))]);
    expect(answer.status).toBe('rejected');
    return answer.status === 'rejected' && answer.reason.details.reason === 'USAGE_STORE_LOST';
  };
  await until('it is noticed', lost);
});

test('a backup that is restored is noticed by a replica that has written nothing since, before any other replica asks', async () => {
  const epochMirror = createMemoryEpochMirror();
  const [writing, watching] = [await open(url, { epochMirror }), await open(url, { epochMirror })];
  await writing.reserve(one(1n));
  const copy = await copyOf(server, url);
  await writing.reserve(one(2n));
  // As it does every minute.
  expect(await watching.liveCount(chainId)).toBe(2);
  await putBack(server, url, copy);
  const lost = { code: 'UNAVAILABLE', details: { reason: 'USAGE_STORE_LOST' } };
  await expect(watching.reserve(one(3n))).rejects.toMatchObject(lost);
  await expect(writing.reserve(one(3n))).rejects.toMatchObject(lost);
});

test('while no standby confirms a commit that must wait for one, nothing is signed', async () => {
  const primary = await startPostgres();
  ending.push(primary);
  const at = await primary.createDatabase();
  const standby = await primary.startStandby();
  ending.push(standby);
  await primary.waitForStandbys();
  const store = await open(at);
  expect(await store.reserve(one(1n))).toEqual(reserved);
  await standby.stop();
  await expect(store.reserve(one(2n))).rejects.toMatchObject({ code: 'UNAVAILABLE' });
});

test('a clock that was set back is an outage of signing, which can be stopped all the same', async () => {
  const store = await open();
  expect(await store.reserve(one(1n))).toEqual(reserved);
  // As if the last turn had been tomorrow.
  await server.query(url, 'UPDATE usage.writer SET at = at + 86400000');
  await expect(store.reserve(one(2n))).rejects.toMatchObject({ details: { reason: 'USAGE_STORE_CLOCK' } });
  await store.setSuspended(chainId, 'pm-1', true);
  expect(await store.suspended(chainId)).toEqual(['pm-1']);
});

test.each([
  { name: 'empty', rows: 0 },
  { name: 'large, and no statistics of them exist', rows: 60_000 },
])(
  'a turn looks rows up by their names, also with plans that were made while the tables were $name',
  async ({ rows }) => {
    await open();
    const names = new Set(['name']);
    const wanted = {
      locks: names,
      reservations: names,
      parties: names,
      counters: names,
      accounts: names,
      fences: names,
    };
    const client = new pg.Client({ connectionString: url });
    await client.connect();
    await client.query(
      `INSERT INTO usage.counter SELECT 1, 'counter-' || n, 0, 0, 1, 1 FROM generate_series(1, $1::int) AS n`,
      [rows],
    );
    await client.query(
      `INSERT INTO usage.account SELECT 1, 'account-' || n, 0, 0, 1, 1 FROM generate_series(1, $1::int) AS n`,
      [rows],
    );
    await client.query(
      `INSERT INTO usage.reservation SELECT 1, 'one-' || n, 'operation-' || n, 'party-' || n, 'pm', 'entry', 'sender', '1', 1, 1,
       ARRAY['lock'], ARRAY['counter-' || n], ARRAY['account-' || n], repeat('t', 1000) FROM generate_series(1, $1::int) AS n`,
      [rows],
    );
    for (const setting of ['seqscan', 'hashjoin', 'mergejoin'])
      await client.query(`SET enable_${setting} = off`);
    await client.query('SET plan_cache_mode = force_generic_plan');
    const plans: string[] = [];
    for (const { name, text } of readRows(chainId, wanted)) {
      if (!['read-reservations', 'read-counters', 'read-accounts'].includes(name)) continue;
      const given = [...new Set(text.match(/\$\d/g))].map((_, nth) => (nth === 0 ? '1' : `ARRAY['name']`));
      await client.query(`PREPARE "${name}" AS ${text}`);
      const plan = await client.query<Record<string, string>>(
        `EXPLAIN EXECUTE "${name}"(${given.join(', ')})`,
      );
      plans.push(...plan.rows.flatMap((row) => Object.values(row)));
    }
    await client.end();
    const scans = plans.filter((line) => /Scan (on|using) /.test(line) && !line.includes('Bitmap Heap'));
    expect(scans.length).toBeGreaterThan(5);
    // An index that is read without a condition is read as a whole.
    expect(plans.filter((line) => line.includes('Index Cond'))).toHaveLength(scans.length);
    expect(plans.filter((line) => /Seq Scan|Index Cond: \(chain_id/.test(line))).toEqual([]);
  },
);

test('a lease is held by one process, renewed by it, and free when it gives it back', async () => {
  const [first, second] = [await open(url, { identity: 'one' }), await open(url, { identity: 'two' })];
  expect(await first.lease.hold(chainId)).toBe(true);
  expect(await second.lease.hold(chainId)).toBe(false);
  expect(await first.lease.hold(chainId)).toBe(true);
  expect(await second.lease.hold(chainId + 1)).toBe(true);
  await second.lease.release(chainId);
  expect(await second.lease.hold(chainId)).toBe(false);
  await first.lease.release(chainId);
  expect(await second.lease.hold(chainId)).toBe(true);
});

describe('connecting', () => {
  test('the certificate of the server must be by the given authority and name the host', async () => {
    const secure = new URL(url);
    secure.searchParams.set('sslmode', 'verify-full');
    await expect(openStore(secure.href)).rejects.toMatchObject({ code: 'UNAVAILABLE' });
    secure.searchParams.set('sslrootcert', server.certificateFile);
    await expect(openStore(secure.href)).rejects.toThrow(/127\.0\.0\.1/);
    secure.hostname = 'localhost';
    expect(await (await open(secure.href)).reserve(one(1n))).toEqual(reserved);
  });

  test('a user who may only read and write rows is enough, its password is read from a file again, and shown nowhere', async () => {
    const directory = mkdtempSync(join(tmpdir(), 'postgres-password-'));
    ending.push({ stop: async () => rmSync(directory, { recursive: true }) });
    const passwordFile = join(directory, 'password');
    await open();
    await server.query(
      url,
      `CREATE ROLE writer LOGIN PASSWORD 'first-secret'; GRANT USAGE ON SCHEMA usage, ledger TO writer;
       GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA usage, ledger TO writer;
       GRANT USAGE ON ALL SEQUENCES IN SCHEMA usage, ledger TO writer`,
    );
    const asWriter = new URL(url);
    asWriter.username = 'writer';
    const client = { address: parsePostgresUrl('url', asWriter.href), passwordFile };
    writeFileSync(passwordFile, 'wrong-secret\n');
    const refused = await openStore(url, { client }).then(
      () => 'opened',
      (error: Error) => `${error.message} ${String(error.cause)} ${JSON.stringify(error)}`,
    );
    expect(refused).toContain('password authentication failed');
    expect(refused).not.toContain('wrong-secret');
    writeFileSync(passwordFile, 'first-secret\n');
    const store = await open(url, { client });
    expect(await store.reserve(one(1n))).toEqual(reserved);
    await server.query(
      url,
      `ALTER ROLE writer PASSWORD 'second-secret'; SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = 'writer'`,
    );
    writeFileSync(passwordFile, 'second-secret\n');
    await until('it connects with the new password', () => succeeds(store.ping()));
    expect(await store.reserve(one(2n))).toEqual(reserved);
  });
});
