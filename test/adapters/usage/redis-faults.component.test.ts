import { cpSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { once } from 'node:events';
import { connect, createServer, type AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Redis } from 'ioredis';
import { afterAll, afterEach, beforeAll, expect, test } from '@jest/globals';
import type { RedisUsageOptions, RedisUsageStore } from '../../../adapters/usage/redis/usage-options.js';
import { operationName } from '../../../adapters/usage/redis/keys.js';
import { createRedisUsageStore } from '../../../adapters/usage/redis/usage.js';
import { isDomainError } from '../../../core/errors.js';
import type { LogFields, Logger } from '../../../core/log.js';
import { createMemoryEpochMirror } from '../../../core/usage/epoch.js';
import { peek, reserve } from '../../../core/usage/plan.js';
import type { FollowerStep } from '../../../core/usage/usage-store.js';
import { always, windowAt } from '../../../core/usage/window.js';
import { toSeconds, type EpochMs } from '../../../core/units/time.js';
import { gwei } from '../../../core/units/wei.js';
import {
  aBar,
  aHash,
  aHold,
  aLimit,
  anAddress,
  aNeed,
  aRequest,
  aSpend,
  chainId,
  contract,
  hourMs,
  seconds,
  startMs,
} from '../../conformance/usage-requests.js';
import { startRedis, type RedisServer } from '../../support/redis.js';
import { succeeds, until } from '../../support/until.js';
import { recordsOf } from './added-records.js';
import { copyOf, openStore, putBack, storeOptions } from './redis-usage.js';
import { aClock } from './clock.js';

const reserved = { outcome: 'reserved' };
const down = { code: 'UNAVAILABLE', details: { reason: 'USAGE_STORE_DOWN' } };
const lost = { code: 'UNAVAILABLE', details: { reason: 'USAGE_STORE_LOST' } };
const unsafe = { code: 'UNAVAILABLE', details: { reason: 'USAGE_STORE_UNSAFE' } };

let server: RedisServer;
const stores: RedisUsageStore[] = [];
const servers: RedisServer[] = [];

beforeAll(async () => {
  server = await startRedis();
});
afterEach(async () => {
  for (const store of stores.splice(0)) await store.stop();
  for (const started of servers.splice(0)) await started.stop();
  await server.command(['FLUSHALL']);
});
afterAll(() => server.stop());

async function open(change: Partial<RedisUsageOptions> = {}, url = server.url): Promise<RedisUsageStore> {
  const store = await openStore(url, change);
  stores.push(store);
  return store;
}

/** A store that is created while the clock of this machine stands at `now`. */
async function openWhile(now: number): Promise<RedisUsageStore> {
  const { now: actual } = Date;
  Date.now = () => now;
  const store = createRedisUsageStore(storeOptions(server.url));
  Date.now = actual;
  stores.push(store);
  await store.opened();
  return store;
}

async function serve(settings: readonly string[]): Promise<RedisServer> {
  const started = await startRedis(settings);
  servers.push(started);
  return started;
}

/** A logger that keeps all its lines as text. */
function aLog(): { readonly log: Logger; readonly text: () => string } {
  const lines: string[] = [];
  const add = (message: string, fields?: LogFields): void => {
    lines.push(`${message} ${JSON.stringify(fields)}`);
  };
  const log: Logger = { debug: add, info: add, warn: add, error: add, child: () => log };
  return { log, text: () => lines.join('\n') };
}

function isDown(answer: unknown): boolean {
  return isDomainError(answer, 'UNAVAILABLE') && answer.details.reason === 'USAGE_STORE_DOWN';
}

const inFiveMinutes = () => toSeconds((Date.now() + 300_000) as EpochMs);
const plusMs = (time: EpochMs, ms: number) => (time + ms) as EpochMs;
const aStep = (change: Partial<FollowerStep> = {}): FollowerStep => ({
  chainId,
  expected: undefined,
  next: { blockNumber: 1, blockHash: aHash(1), timestamp: seconds(1) },
  settled: [],
  released: [],
  forfeited: [],
  charges: [],
  restored: [],
  balances: [],
  ...change,
});
/** At any time of the clock. */
const ever = (nonce: bigint) =>
  aRequest({
    key: { nonce },
    limits: [aLimit({ window: always })],
    promise: { validUntil: inFiveMinutes() },
  });
const one = (nonce: bigint) => aRequest({ key: { nonce }, limits: [aLimit({ threshold: 3 })] });

test('a server that is killed and comes back has everything that was promised', async () => {
  const store = await open({ clock: aClock() });
  expect(await store.reserve(one(1n))).toEqual(reserved);
  await server.kill();
  await expect(store.reserve(one(2n))).rejects.toMatchObject(down);
  await expect(store.ping()).rejects.toMatchObject(down);
  await server.start();
  await until('the store is connected again', () => succeeds(store.ping()));
  expect((await store.peek(one(2n))).limits).toMatchObject([{ reserved: 1 }]);
  expect(await store.reserve(one(2n))).toEqual(reserved);
});

test('a server that hangs is answered for within the time limit, and nothing is assumed', async () => {
  const clock = aClock();
  const patient = await open({ clock });
  const store = await open({ clock, timeoutMs: 200 });
  expect(await patient.reserve(one(1n))).toEqual(reserved);
  const answers = () => succeeds(store.ping());
  await until('the store answers', answers);
  server.signal('SIGSTOP');
  try {
    const asked = await Promise.allSettled([2n, 3n, 4n, 5n].map((nonce) => store.reserve(one(nonce))));
    // Not by the connection, which is given up much later.
    const reason = { ...down, cause: { message: 'Command timed out' } };
    for (const answer of asked) expect(answer).toMatchObject({ status: 'rejected', reason });
  } finally {
    server.signal('SIGCONT');
  }
  await until('the store answers again', answers);
  // Requests made meanwhile may be counted or not, but never more than the threshold.
  await until('the counter shows the live reservations', async () => {
    const { limits } = await patient.peek(one(9n));
    expect(limits[0]?.reserved).toBeLessThanOrEqual(3);
    return limits[0]?.reserved === (await patient.reservations(chainId)).length;
  });
});

test('scripts that the server has forgotten are sent again', async () => {
  const store = await open({ clock: aClock() });
  expect(await store.reserve(one(1n))).toEqual(reserved);
  await server.command(['SCRIPT', 'FLUSH']);
  expect(await store.reserve(one(2n))).toEqual(reserved);
  expect((await store.peek(one(9n))).limits).toMatchObject([{ reserved: 2 }]);
});

test('each request is one command, the scripts aside when they are new', async () => {
  const store = await open();
  const request = (nonce: bigint) =>
    aRequest({
      key: { nonce },
      limits: Array.from({ length: 8 }, (_, i) =>
        aLimit({ counter: `p${i}`, window: always, threshold: 200 }),
      ),
      bars: [aBar()],
      holds: [aHold(1, { threshold: 200 })],
      accounts: [aNeed(1)],
      promise: { validUntil: inFiveMinutes() },
      depositMaxAgeMs: Number.MAX_SAFE_INTEGER,
    });
  await store.addBalance(chainId, { contract, balance: gwei(200), reserved: gwei(0), readAt: startMs });
  expect(await store.reserve(request(1n))).toEqual(reserved);

  const seen = await watchCommands(server.port);
  for (let nonce = 2n; nonce <= 101n; nonce++) expect(await store.reserve(request(nonce))).toEqual(reserved);
  await until('the last is seen', () => seen.commands().length >= 100);
  seen.stop();
  expect(seen.commands().filter((line) => !line.includes('"evalsha"'))).toEqual([]);
  expect(seen.commands()).toHaveLength(100);
});

test('a request that cannot be decided fails alone, and has taken nothing', async () => {
  const store = await open({ clock: aClock() });
  const hold = aHold(1);
  const asked = [1n, 2n, 3n].map((nonce) => aRequest({ key: { nonce }, limits: [aLimit()], holds: [hold] }));
  const operation = `paymaster:{${chainId}}:o:${operationName(asked[1]!.key)}`;
  await server.command(['HSET', operation, asked[1]!.key.paymasterId, 'no record']);

  const peeked = await Promise.allSettled(asked.map((one) => store.peek(one)));
  expect(peeked).toMatchObject([
    { value: { result: reserved } },
    { reason: down },
    { value: { result: reserved } },
  ]);
  const decided = await Promise.allSettled(asked.map((one) => store.reserve(one)));
  expect(decided).toMatchObject([{ value: reserved }, { reason: down }, { value: reserved }]);
  expect(await store.counters(chainId, [aLimit(), hold])).toMatchObject([{ reserved: 2 }, { reserved: 2 }]);
});

test('a step of the follower may end thousands of promises at once', async () => {
  const store = await open({ clock: aClock(), timeoutMs: 20_000 });
  await store.addBalance(chainId, { contract, balance: gwei(2 ** 50), reserved: gwei(0), readAt: startMs });
  const count = 5_000;
  const request = (nonce: bigint) =>
    aRequest({
      key: { nonce, sender: anAddress(Number(nonce)) },
      limits: [
        aLimit({ counter: 'all', threshold: 2 ** 50 }),
        aSpend(7, { counter: `own/${nonce}`, threshold: 9 }),
      ],
      accounts: [aNeed(7)],
    });
  await Promise.all(Array.from({ length: count }, (_, i) => store.reserve(request(BigInt(i)))));
  const expired = await store.reservations(chainId, {
    operations: [],
    expiredBefore: seconds(301),
    limit: count,
  });
  expect(expired).toHaveLength(count);
  const [mined, released] = [expired.slice(0, 100), expired.slice(100)];
  const step = aStep({
    settled: mined.map(({ key }) => ({ key, actualCost: gwei(3) })),
    released: released.map(({ key, validUntil }) => ({ key, validUntil })),
  });
  expect(await store.advance(step)).toMatchObject({ isTaken: true });
  expect(await store.liveCount(chainId)).toBe(0);
  expect(await store.accounts(chainId)).toMatchObject([{ reserved: 0 }]);
  const seen = await store.peek({ ...request(mined[0]!.key.nonce), key: aRequest().key });
  expect(seen.limits).toMatchObject([{ used: 100 }, { used: 3 }]);
  const other = await store.peek({ ...request(released[0]!.key.nonce), key: aRequest().key });
  expect(other.limits).toMatchObject([{ used: 100 }, { used: 0 }]);
}, 240_000);

test('counters vanish some time after their window, promises never by themselves', async () => {
  const store = await open({ clock: aClock() });
  expect(await store.reserve(one(1n))).toEqual(reserved);
  const [ttl = 0, kept = 0] = await Promise.all(
    [`paymaster:{${chainId}}:c:limit-1/c`, `paymaster:{${chainId}}:x`].map(async (key) =>
      Number((await server.command(['PTTL', key])).slice(1).split('\r\n')[0]),
    ),
  );
  expect(ttl).toBeGreaterThan(hourMs);
  expect(ttl).toBeLessThan(30 * hourMs);
  expect(kept).toBe(-1);
});

test.each<{ name: string; setting: string; wrong: string; right: string }>([
  { name: 'evicts', setting: 'maxmemory-policy', wrong: 'allkeys-lru', right: 'noeviction' },
  { name: 'writes to disk once a second', setting: 'appendfsync', wrong: 'everysec', right: 'always' },
  { name: 'writes nothing to disk', setting: 'appendonly', wrong: 'no', right: 'yes' },
])('a server that $name is refused until it is set right', async ({ setting, wrong, right }) => {
  const weak = await serve([`--${setting}`, wrong]);
  const { log, text } = aLog();
  const store = createRedisUsageStore(storeOptions(weak.url, { log }));
  stores.push(store);
  const messageOf = () =>
    store.reserve(one(1n)).then(
      () => '',
      (error: Error) => error.message,
    );
  await until('it is refused', async () =>
    (await messageOf()).includes(`${setting} must be "${right}", got "${wrong}"`),
  );
  await expect(store.reserve(one(1n))).rejects.toMatchObject(unsafe);
  await expect(store.ping()).rejects.toMatchObject(unsafe);
  expect(text()).toContain('USAGE_STORE_UNSAFE');
  await weak.command(['CONFIG', 'SET', setting, right]);
  await store.opened();
  expect(await store.reserve(ever(1n))).toEqual(reserved);
});

test('for a trial a server that forgets at a crash is taken when that is asked for', async () => {
  const weak = await serve(['--appendonly', 'no']);
  const store = await open({ durability: 'none' }, weak.url);
  expect(await store.reserve(ever(1n))).toEqual(reserved);
});

test('a user with only the needed rights is enough, and its password is read from a file and shown nowhere', async () => {
  const secure = await serve([]);
  const passwordFile = join(secure.directory, 'password');
  const usernameFile = join(secure.directory, 'username');
  writeFileSync(usernameFile, 'paymaster\n');
  writeFileSync(passwordFile, 'wrong-secret\n');
  const rights =
    '~paymaster:* +evalsha +eval +wait +ping +info +config|get +select +time +get +set +mget +incr +incrby +pexpire +exists +del +hget +hset +hdel +hkeys +zadd +zrem +zcard +zscan +zrangebyscore +sadd +srem +smembers +scan +pttl' +
    ' +hgetall +hincrby +xadd +xlen +xrange +xreadgroup +xautoclaim +xack +xdel +xgroup|create +xgroup|delconsumer +xinfo|consumers';
  await secure.command(['ACL', 'SETUSER', 'paymaster', 'on', '>right-secret', ...rights.split(' ')]);
  const { log, text } = aLog();
  const clock = aClock();
  const ledger = { budgetBytes: 300, onFull: 'Sign', forgetConsumersAfterMs: 0 } as const;
  const options = { log, clock, ledger, credentials: { usernameFile, passwordFile } };
  const store = createRedisUsageStore(storeOptions(secure.url, options));
  stores.push(store);
  await until('the wrong password is refused', () => text().includes('WRONGPASS'));
  await expect(store.reserve(one(1n))).rejects.toMatchObject(down);
  // The Secret is mounted again; the next connection reads it.
  writeFileSync(passwordFile, 'right-secret');
  await store.opened();

  await store.addBalance(chainId, { contract, balance: gwei(9), reserved: gwei(0), readAt: startMs });
  const request = aRequest({ limits: [aLimit()], accounts: [aNeed(1)] });
  expect(await store.reserve(request)).toEqual(reserved);
  expect(await store.reserve(request)).toEqual(reserved);
  const listed = await store.reservations(chainId, {
    operations: [request.key],
    expiredBefore: seconds(9999),
    limit: 9,
  });
  expect(listed).toMatchObject([{ promises: [request.promise] }]);
  expect(await store.reservations(chainId)).toEqual(listed);
  expect(await store.liveCount(chainId)).toBe(1);
  expect(await store.accounts(chainId)).toMatchObject([{ reserved: 1 }]);
  const step = aStep({ settled: [{ key: request.key, actualCost: gwei(1) }] });
  expect(await store.advance(step)).toMatchObject({ isTaken: true });
  expect(await store.takenSteps(chainId)).toMatchObject([{ ended: [{ how: 'settled', actualCost: 1 }] }]);
  for (const kind of ['commit', 'finalize', 'commit'] as const)
    expect(await store.reserve({ ...request, phase: { kind, commitment: aHash(7) } })).toEqual(reserved);
  clock.advance(60_000);
  expect(await store.dropCommits(chainId)).toBe(1);
  expect(await store.advance(aStep({ expected: step.next, released: [{ key: request.key }] }))).toMatchObject(
    {
      isTaken: true,
    },
  );
  const stream = `paymaster:{${chainId}}:ledger`;
  await secure.command(['XGROUP', 'CREATE', stream, 'ledger', '0', 'MKSTREAM']);
  await secure.command(['XGROUP', 'CREATECONSUMER', stream, 'ledger', 'gone']);
  for (const nonce of [8n, 9n]) {
    const record = { id: `id-${nonce}`, text: JSON.stringify({ filler: 'x'.repeat(150) }) };
    expect(await store.reserve(aRequest({ key: { nonce }, record }))).toEqual(reserved);
  }
  // The second one had no room; what it left is recorded when there is some.
  expect(await recordsOf(store.feed)).toMatchObject([{ reservation: 'id-8' }]);
  expect((await recordsOf(store.feed)).map(({ text: gap }) => gap)).toMatchObject([
    expect.stringContaining('"cause":"signed"'),
  ]);
  expect(await secure.command(['XINFO', 'CONSUMERS', stream, 'ledger'])).not.toContain('gone');
  await secure.command(['DEL', stream]);
  await store.feed.offer(chainId, ['offered']);
  expect(await store.feed.state()).toMatchObject({ length: 1 });
  expect(await recordsOf(store.feed)).toEqual([{ reservation: undefined, text: 'offered' }]);
  await store.setSuspended(chainId, 'pm-1', true);
  expect(await store.suspended(chainId)).toEqual(['pm-1']);
  await store.noteGenerations(chainId, [{ id: 'pm-1', generation: 5 }]);
  await store.forgetAccounts(chainId, [{ contract }]);
  expect(await store.accounts(chainId)).toEqual([]);
  await store.putFundingMessage('pm-1', 'text', (clock.now() + 1000) as EpochMs);
  expect(await store.consumeFundingMessage('pm-1', 'text')).toBe(true);
  expect(await store.lease.hold(chainId)).toBe(true);
  await store.lease.release(chainId);
  expect(text()).not.toContain('secret');
});

test('a lease is held by one process, renewed by it, and free when it gives it back', async () => {
  const first = await open({ identity: 'first' });
  const second = await open({ identity: 'second' });
  expect(await first.lease.hold(chainId)).toBe(true);
  expect(await second.lease.hold(chainId)).toBe(false);
  expect(await second.lease.hold(1)).toBe(true);
  await second.lease.release(chainId);
  expect(await first.lease.hold(chainId)).toBe(true);
  await first.lease.release(chainId);
  expect(await second.lease.hold(chainId)).toBe(true);
});

test('after its data are wiped every replica refuses, also one that starts then, until every promise has expired', async () => {
  const clock = aClock((startMs + 60_000) as EpochMs);
  const epochMirror = createMemoryEpochMirror();
  const store = await open({ clock, epochMirror });
  const other = await open({ clock, epochMirror, identity: 'replica-2' });
  const now = () => clock.now();
  const request = (nonce: bigint) =>
    aRequest({
      key: { nonce },
      limits: [aLimit({ threshold: 3 })],
      promise: { validUntil: toSeconds(plusMs(now(), 600_000)) },
    });
  expect(await store.reserve(request(1n))).toEqual(reserved);
  expect(await other.reserve(request(2n))).toEqual(reserved);
  await server.command(['FLUSHALL']);

  for (const replica of [store, other])
    await expect(replica.reserve(request(3n))).rejects.toMatchObject(lost);
  // A replica that starts now has seen nothing of it, and yet knows.
  const late = await open({ clock, epochMirror, identity: 'replica-3' });
  await expect(late.reserve(request(3n))).rejects.toMatchObject(lost);

  expect(await store.recovery.recover(chainId)).toBe('waiting');
  clock.advance(600_000);
  expect(await other.recovery.recover(chainId)).toBe('waiting');
  await expect(store.reserve(request(3n))).rejects.toMatchObject(lost);
  clock.advance(130_000);
  expect(await other.recovery.recover(chainId)).toBe('recovered');
  expect(await store.recovery.recover(chainId)).toBe('intact');
  for (const replica of [store, other, late])
    await until('the new epoch is known', async () =>
      replica.reserve(request(3n)).then(
        ({ outcome }) => outcome === 'usage-lost',
        () => false,
      ),
    );
});

test('a replica promoted without the last write of a process is noticed, also after others have written to it', async () => {
  const clock = aClock();
  const epochMirror = createMemoryEpochMirror();
  const store = await open({ clock, epochMirror });
  const other = await open({ clock, epochMirror, identity: 'replica-2' });
  expect(await store.reserve(one(1n))).toEqual(reserved);
  expect(await other.reserve(one(2n))).toEqual(reserved);
  const data = new Redis(server.url);
  try {
    const before = await copyOf(data, 'paymaster:');
    expect(await store.reserve(one(3n))).toEqual(reserved);
    await data.flushall();
    await putBack(data, before);
    // The other process has not seen the lost write.
    expect(await other.reserve(one(4n))).toEqual(reserved);
    await expect(store.reserve(one(5n))).rejects.toMatchObject(lost);
    // From then on nobody signs.
    await expect(other.reserve(one(6n))).rejects.toMatchObject(lost);
    await expect(store.peek(one(6n))).rejects.toMatchObject(lost);
  } finally {
    data.disconnect();
  }
});

test('a backup that is restored is noticed by a replica that has written nothing since, before any other replica asks', async () => {
  const own = await serve([]);
  const backup = mkdtempSync(join(tmpdir(), 'backup-'));
  const whileDown = async (work: () => void): Promise<void> => {
    await own.kill();
    work();
    await own.start();
  };
  const copy = (from: string, to: string): void => {
    for (const file of readdirSync(to)) rmSync(join(to, file), { recursive: true });
    cpSync(from, to, { recursive: true });
  };
  try {
    const clock = aClock();
    const epochMirror = createMemoryEpochMirror();
    const store = await open({ clock, epochMirror }, own.url);
    const idle = await open({ clock, epochMirror, identity: 'replica-2' }, own.url);
    expect(await store.reserve(one(1n))).toEqual(reserved);
    expect(await idle.reserve(one(2n))).toEqual(reserved);
    await whileDown(() => copy(own.directory, backup));
    await until('it is written after the backup', () => succeeds(store.reserve(one(3n))));
    await whileDown(() => copy(backup, own.directory));
    const answers: unknown[] = [];
    await until('the idle replica is connected again', async () => {
      const answer = await idle.reserve(one(4n)).catch((error: unknown) => error);
      answers.push(answer);
      return !isDown(answer);
    });
    expect(answers.at(-1)).toMatchObject(lost);
  } finally {
    rmSync(backup, { recursive: true });
  }
});

test('an older Redis than 7 is refused, whatever its settings', async () => {
  const old = createServer((socket) => {
    socket.on('data', (data: Buffer) => {
      const info = '# Server\r\nredis_version:6.2.14\r\nrole:master\r\nloading:0\r\n';
      for (const _ of data.toString().matchAll(/\$4\r\ninfo/gi))
        socket.write(`$${info.length}\r\n${info}\r\n`);
    });
  });
  old.listen(0, '127.0.0.1');
  await once(old, 'listening');
  const { port } = old.address() as AddressInfo;
  const { log, text } = aLog();
  const store = createRedisUsageStore(storeOptions(`redis://127.0.0.1:${port}`, { log }));
  stores.push(store);
  await until('it is refused', () => text().includes('is Redis 6.2.14: the usage store needs 7.0 or later'));
  await expect(store.ping()).rejects.toMatchObject(unsafe);
  old.close();
});

const balanceRead = { contract, balance: gwei(1), reserved: gwei(0), readAt: startMs };
test.each<[string, (store: RedisUsageStore) => Promise<unknown>]>([
  ['reserve', (store) => store.reserve(one(2n))],
  ['peek', (store) => store.peek(one(2n))],
  ['reservations', (store) => store.reservations(chainId)],
  ['liveCount', (store) => store.liveCount(chainId)],
  ['accounts', (store) => store.accounts(chainId)],
  ['addBalance', (store) => store.addBalance(chainId, balanceRead)],
  ['counters', (store) => store.counters(chainId, [aLimit()])],
  ['suspended', (store) => store.suspended(chainId)],
  ['setSuspended', (store) => store.setSuspended(chainId, 'pm-1', true)],
  ['noteGenerations', (store) => store.noteGenerations(chainId, [{ id: 'pm-1', generation: 2 }])],
  ['forgetAccounts', (store) => store.forgetAccounts(chainId, [{ contract }])],
  ['cursor', (store) => store.cursor(chainId)],
  ['advance', (store) => store.advance(aStep())],
])('a replica sees that the data are wiped also when its first call after that is %s', async (_, call) => {
  const store = await open({ clock: aClock() });
  expect(await store.reserve(one(1n))).toEqual(reserved);
  await server.command(['FLUSHALL']);
  await expect(call(store)).rejects.toMatchObject(lost);
});

test.each(['peek', 'reserve'] as const)(
  'a machine whose clock is hours behind that of the server counts in the window of the server, though it begins with a %s',
  async (first) => {
    const store = await openWhile(Date.now() - 5 * hourMs);
    const request = (nonce: bigint) => (now: EpochMs) => {
      const { index, ...window } = windowAt({ startMs, durationMs: hourMs }, now);
      return aRequest({
        key: { nonce },
        limits: [aLimit({ counter: `hour-${index}`, window, threshold: 3 })],
        promise: { validUntil: inFiveMinutes() },
      });
    };
    await { peek, reserve }[first](store, request(0n));
    for (const nonce of [0n, 1n, 2n]) expect((await reserve(store, request(nonce))).result).toEqual(reserved);
    expect((await reserve(store, request(3n))).result).toEqual({ outcome: 'limit', index: 0, used: 3 });
    const { peeked, request: planned } = await peek(await open(), request(3n));
    expect(peeked.limits).toEqual([{ used: 0, reserved: 3 }]);
    expect(planned.limits[0]!.window.until).toBeGreaterThan(Date.now());
    expect(Math.abs(store.now() - Date.now())).toBeLessThan(hourMs);
  },
);

test('a clock that was set back by more than counters are kept for is an outage', async () => {
  const clock = aClock();
  const store = await open({ clock });
  clock.advance(48 * hourMs);
  await store.advance(aStep());
  clock.advance(-hourMs);
  expect(await store.reserve(ever(1n))).toEqual(reserved);
  clock.advance(-1);
  await expect(store.reserve(ever(2n))).rejects.toMatchObject({
    code: 'UNAVAILABLE',
    details: { reason: 'USAGE_STORE_CLOCK' },
  });
});

test.each([
  'http://h:1',
  'redis://u:p@h:1',
  'redis://h:1,h:2',
  'redis+sentinel://h:1',
  'redis://h:99999',
  'redis+cluster://h/x',
])('the address %s is refused with the forms that are known', (url) => {
  const create = () => createRedisUsageStore(storeOptions(url));
  expect(create).toThrow(/url must be redis:\/\/HOST:PORT/);
  expect(create).not.toThrow(/u:p@/);
});

/** Commands of clients that MONITOR shows, without those of scripts. */
async function watchCommands(port: number): Promise<{ commands(): readonly string[]; stop(): void }> {
  const socket = connect(port, '127.0.0.1');
  let text = '';
  socket.on('data', (data) => {
    text += data.toString();
  });
  socket.write('MONITOR\r\n');
  await until('MONITOR is on', () => text.includes('+OK'));
  return {
    commands: () => text.split('\r\n').filter((line) => /^\+\d/.test(line) && !line.includes(' lua]')),
    stop: () => socket.destroy(),
  };
}
