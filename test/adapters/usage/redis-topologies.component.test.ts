import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, test } from '@jest/globals';
import type { RedisUsageOptions, RedisUsageStore } from '../../../adapters/usage/redis/usage-options.js';
import { createRedisUsageStore } from '../../../adapters/usage/redis/usage.js';
import { createMemoryEpochMirror } from '../../../core/usage/epoch.js';
import { recordsIn } from '../../conformance/feed-records.js';
import { usageStoreConformance } from '../../conformance/usage-store.js';
import { aLimit, aRequest, chainId } from '../../conformance/usage-requests.js';
import { freePort } from '../../../standalone/cluster/free-port.js';
import { startRedis, type RedisServer } from '../../support/redis.js';
import { succeeds, until } from '../../support/until.js';
import { recordsOf } from './added-records.js';
import { createRedisHarness, openStore, storeOptions } from './redis-usage.js';
import { aClock } from './clock.js';

const reserved = { outcome: 'reserved' };
/** Long, for a busy machine; each write that no replica confirms waits for half of it. */
const patientMs = 6_000;
const cleanUps: (() => Promise<void> | void)[] = [];
afterEach(async () => {
  for (const cleanUp of cleanUps.splice(0).reverse()) await cleanUp();
});

async function serve(...asked: Parameters<typeof startRedis>): Promise<RedisServer> {
  const server = await startRedis(...asked);
  cleanUps.push(() => server.stop());
  return server;
}

async function open(url: string, change: Partial<RedisUsageOptions> = {}): Promise<RedisUsageStore> {
  const store = await openStore(url, change);
  cleanUps.push(() => store.stop());
  return store;
}

const one = (nonce: bigint) =>
  aRequest({
    key: { nonce },
    limits: [aLimit({ threshold: 5 })],
    record: { id: `id-${nonce}`, text: `decision ${nonce}` },
  });

describe('with replicas', () => {
  /** A master, and a replica that follows and confirms: the master shows `online` before the replica has answered once. */
  async function aPair(): Promise<{ readonly master: RedisServer; readonly replica: RedisServer }> {
    const master = await serve(['--repl-diskless-sync-delay', '0']);
    const replica = await serve([
      '--replicaof',
      `127.0.0.1 ${master.port}`,
      '--repl-diskless-sync-delay',
      '0',
    ]);
    await until('the replica follows', async () => (await replication(master)).confirmed !== undefined);
    await master.command(['SET', 'written-before', 'the test']);
    const { written } = await replication(master);
    await until(
      'the replica confirms what was written',
      async () => ((await replication(master)).confirmed ?? 0) >= written,
    );
    return { master, replica };
  }

  /** How far a master has written and its replica has confirmed; undefined while none is online. */
  async function replication(master: RedisServer) {
    const text = await master.command(['INFO', 'replication']);
    const confirmed = /^slave0:.*state=online,offset=(\d+)/m.exec(text)?.[1];
    return {
      written: Number(/^master_repl_offset:(\d+)/m.exec(text)?.[1]),
      confirmed: confirmed === undefined ? undefined : Number(confirmed),
    };
  }

  test('nothing is signed while too few of them confirm what was written', async () => {
    const { master, replica } = await aPair();
    const options = { clock: aClock(), replicaAcks: 1, timeoutMs: patientMs };
    const store = await open(master.url, options);
    await Promise.all(
      [1n, 2n].map(async (nonce) => expect(await store.reserve(one(nonce))).toEqual(reserved)),
    );
    replica.signal('SIGSTOP');
    try {
      await expect(store.reserve(one(3n))).rejects.toMatchObject({
        code: 'UNAVAILABLE',
        details: { reason: 'USAGE_STORE_UNCONFIRMED' },
        message: expect.stringContaining('0 of 1 replicas'),
      });
    } finally {
      replica.signal('SIGCONT');
    }
    // The write happened nevertheless: the operation keeps its place, and a repeated request counts it once.
    await until('the replica confirms again', () => succeeds(store.reserve(one(3n))));
    expect((await store.peek(one(9n))).limits).toEqual([{ used: 0, reserved: 3 }]);
  });

  test('a record is read only when they have it, so that the ledger stores nothing that a failover takes back', async () => {
    const { master, replica } = await aPair();
    const options = { clock: aClock(), replicaAcks: 1, timeoutMs: patientMs };
    const store = await open(master.url, { ...options, ledger: { claimAfterMs: 0 } });
    expect(await store.reserve(one(1n))).toEqual(reserved);
    replica.signal('SIGSTOP');
    try {
      await expect(store.reserve(one(2n))).rejects.toMatchObject({ code: 'UNAVAILABLE' });
      await expect(store.feed.read(10, 0)).rejects.toMatchObject({ code: 'UNAVAILABLE' });
    } finally {
      replica.signal('SIGCONT');
    }
    let texts: readonly string[] = [];
    await until('the replica confirms again', async () => {
      texts = (await store.feed.read(10, 0).catch(() => [])).flatMap(recordsIn).map(({ text }) => text);
      return texts.length > 0;
    });
    expect(texts).toEqual(['decision 1', 'decision 2']);
  });

  test('a replica that is taken for the master is refused', async () => {
    const { replica } = await aPair();
    const store = createRedisUsageStore(storeOptions(replica.url));
    cleanUps.push(() => store.stop());
    await until('it is refused', async () =>
      store.ping().then(
        () => false,
        (error: Error) => error.message.includes('is a replica'),
      ),
    );
  });

  test('Sentinel names the new master after a failover to a replica that was stopped: confirmed writes and their records are there, and no limit is exceeded', async () => {
    const { master, replica } = await aPair();
    const directory = mkdtempSync(join(tmpdir(), 'sentinel-'));
    cleanUps.push(() => rmSync(directory, { recursive: true, force: true }));
    const sentinelConfig = join(directory, 'sentinel.conf');
    writeFileSync(
      sentinelConfig,
      [
        `sentinel monitor usage 127.0.0.1 ${master.port} 1`,
        // A slow master must not be taken for dead before the test kills it.
        'sentinel down-after-milliseconds usage 4000',
        'sentinel failover-timeout usage 5000',
        '',
      ].join('\n'),
    );
    const sentinel = await serve([], { sentinelConfig });
    await until('Sentinel knows the replica', async () =>
      (await sentinel.command(['SENTINEL', 'REPLICAS', 'usage'])).includes(String(replica.port)),
    );
    const options = { clock: aClock(), timeoutMs: patientMs, epochMirror: createMemoryEpochMirror() };
    const store = await open(`redis+sentinel://127.0.0.1:${sentinel.port}/usage`, options);
    for (const nonce of [1n, 2n, 3n]) expect(await store.reserve(one(nonce))).toEqual(reserved);

    // What the replica does not have when its master dies was never promised.
    replica.signal('SIGSTOP');
    await expect(store.reserve(one(4n))).rejects.toMatchObject({
      details: { reason: 'USAGE_STORE_UNCONFIRMED' },
    });
    await master.kill();
    replica.signal('SIGCONT');
    await expect(store.reserve(one(4n))).rejects.toMatchObject({ code: 'UNAVAILABLE' });
    // The promoted replica has no replica itself: it answers, and does not confirm.
    await until(
      'the new master answers',
      async () =>
        store.reserve(one(4n)).then(
          () => false,
          (error: { details?: { reason?: string } }) => error.details?.reason === 'USAGE_STORE_UNCONFIRMED',
        ),
      300_000,
    );
    expect(new Set((await store.reservations(chainId)).map(({ key }) => key.nonce))).toEqual(
      new Set([1n, 2n, 3n, 4n]),
    );
    await serve(['--replicaof', `127.0.0.1 ${replica.port}`]);
    await until('a replica confirms', () => succeeds(store.reserve(one(4n))), 240_000);
    expect(await store.reserve(one(5n))).toEqual(reserved);
    expect(await store.reserve(one(6n))).toMatchObject({ outcome: 'limit', used: 5 });
    // Asked several times under the same id, and recorded as often: the ledger keeps one of them.
    const recorded = (await recordsOf(store.feed)).map(({ reservation }) => reservation);
    expect(recorded.filter((id) => id !== 'id-4')).toEqual(['id-1', 'id-2', 'id-3', 'id-5']);
    expect(recorded).toContain('id-4');
  }, 300_000);
});

test('over TLS the server must be the one that the authority has signed for', async () => {
  const { directory, caFile, certFile, keyFile } = aCertificate();
  const tlsPort = await freePort();
  await serve([
    '--tls-port',
    String(tlsPort),
    '--tls-cert-file',
    certFile,
    '--tls-key-file',
    keyFile,
    '--tls-ca-cert-file',
    caFile,
    '--tls-auth-clients',
    'no',
  ]);
  const url = `rediss://127.0.0.1:${tlsPort}`;
  const store = await open(url, { clock: aClock(), tls: { caFile, serverName: 'redis.test' } });
  expect(await store.reserve(one(1n))).toEqual(reserved);

  for (const tls of [{ serverName: 'redis.test' }, { caFile, serverName: 'other.test' }]) {
    const stranger = createRedisUsageStore(storeOptions(url, { tls }));
    cleanUps.push(() => stranger.stop());
    await until('it is refused', async () =>
      stranger.ping().then(
        () => false,
        (error: { details?: { cause?: Error } }) =>
          /certificate|altnames/i.test(error.details?.cause?.message ?? ''),
      ),
    );
  }
  expect(() =>
    createRedisUsageStore(storeOptions(url, { tls: { caFile: join(directory, 'none') } })),
  ).toThrow(/tls.caFile must be a file that can be read/);
});

describe('on a Cluster', () => {
  let nodes: readonly RedisServer[] = [];

  /** Two masters that share the slots. The usual port of a bus may be one that systems give to outgoing connections. */
  async function aCluster(): Promise<readonly RedisServer[]> {
    const buses = [await freePort(), await freePort()].map(String);
    const started = await Promise.all(
      buses.map((bus) =>
        startRedis(['--cluster-enabled', 'yes', '--cluster-node-timeout', '2000', '--cluster-port', bus]),
      ),
    );
    const [first, second] = started;
    await first!.command(['CLUSTER', 'ADDSLOTSRANGE', '0', '8191']);
    await second!.command(['CLUSTER', 'ADDSLOTSRANGE', '8192', '16383']);
    await first!.command(['CLUSTER', 'MEET', '127.0.0.1', String(second!.port), buses[1]!]);
    for (const node of started)
      await until('the Cluster is whole', async () =>
        (await node.command(['CLUSTER', 'INFO'])).includes('cluster_state:ok'),
      );
    return started;
  }

  beforeAll(async () => {
    nodes = await aCluster();
  });
  afterAll(async () => {
    for (const node of nodes) await node.stop();
  });

  let stores = 0;
  usageStoreConformance('Redis Cluster', async () => {
    const [first] = nodes;
    const url = `redis+cluster://127.0.0.1:${first!.port}`;
    return createRedisHarness(first!, `store-${(stores += 1)}:`, { url, replicaAcks: 0 }, nodes);
  });

  test('each chain has its slot, and a node without replicas confirms nothing', async () => {
    const url = `redis+cluster://127.0.0.1:${nodes[0]!.port}`;
    const store = await open(url, { clock: aClock(), replicaAcks: 0 });
    for (let chain = 1; chain <= 20; chain++)
      expect(await store.reserve(aRequest({ key: { chainId: chain } }))).toEqual(reserved);
    for (const node of nodes)
      expect(Number((await node.command(['DBSIZE'])).slice(1).split('\r\n')[0])).toBeGreaterThan(2);
    const confirmed = await open(url, { clock: aClock(), timeoutMs: patientMs });
    await expect(confirmed.reserve(one(1n))).rejects.toMatchObject({
      details: { reason: 'USAGE_STORE_UNCONFIRMED' },
    });
  });

  test('a node that is gone is an outage of its chains', async () => {
    const url = `redis+cluster://127.0.0.1:${nodes[0]!.port}`;
    const store = await open(url, { clock: aClock(), replicaAcks: 0, timeoutMs: patientMs });
    const ask = (chain: number) => store.reserve(aRequest({ key: { chainId: chain, nonce: 7n } }));
    for (let chain = 1; chain <= 20; chain++) expect(await ask(chain)).toEqual(reserved);
    await nodes[1]!.kill();
    const answers = await Promise.allSettled(Array.from({ length: 20 }, (_, i) => ask(i + 1)));
    const failed = answers.filter(({ status }) => status === 'rejected');
    expect(failed.length).toBeGreaterThan(0);
    for (const answer of failed) expect(answer).toMatchObject({ reason: { code: 'UNAVAILABLE' } });
  });
});

/** An authority and a certificate of `redis.test`, made by openssl. */
function aCertificate() {
  const directory = mkdtempSync(join(tmpdir(), 'redis-tls-'));
  cleanUps.push(() => rmSync(directory, { recursive: true, force: true }));
  const file = (name: string): string => join(directory, name);
  const openssl = (...args: string[]): void => {
    try {
      execFileSync('openssl', args, { stdio: 'ignore' });
    } catch (cause) {
      throw new Error('openssl could not make a certificate; install it with `apt-get install openssl`', {
        cause,
      });
    }
  };
  const key = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes'];
  openssl(
    'req',
    '-x509',
    ...key,
    '-keyout',
    file('ca.key'),
    '-out',
    file('ca.pem'),
    '-days',
    '2',
    '-subj',
    '/CN=test authority',
  );
  openssl(
    'req',
    ...key,
    '-keyout',
    file('server.key'),
    '-out',
    file('server.csr'),
    '-subj',
    '/CN=redis.test',
  );
  writeFileSync(file('names'), 'subjectAltName=DNS:redis.test\n');
  openssl(
    'x509',
    '-req',
    '-in',
    file('server.csr'),
    '-CA',
    file('ca.pem'),
    '-CAkey',
    file('ca.key'),
    '-CAcreateserial',
    '-days',
    '2',
    '-out',
    file('server.pem'),
    '-extfile',
    file('names'),
  );
  return { directory, caFile: file('ca.pem'), certFile: file('server.pem'), keyFile: file('server.key') };
}
