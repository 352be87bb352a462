import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { deriveApiKey, hashCredential } from '../../core/config/api-key.js';
import { deriveWebhookKey } from '../../core/policy/webhook/signing-key.js';
import { derivePolicyId } from '../../core/config/ids.js';
import { invalidInput } from '../../core/errors.js';
import { createAnnouncement, type MountedKeys } from '../../core/master-keys.js';
import { aPaymaster, aPolicy } from '../build/resources.js';
import { createFakeAnnouncements, type FakeAnnouncements } from '../fakes/key-announcements.js';
import { conditionOf, isReady, startWorld, type World } from './world.js';

const [k0, k1, w0, w1] = [10, 11, 20, 21].map((byte) => new Uint8Array(32).fill(byte)) as [
  Uint8Array,
  Uint8Array,
  Uint8Array,
  Uint8Array,
];
const settleMs = 120_000;
const place = 'Secret paymaster-system/paymaster-master-keys';

let world: World;
let announcements: FakeAnnouncements;
let mounted: MountedKeys;
let readFails: Error | undefined;
beforeEach(() => {
  announcements = createFakeAnnouncements();
  mounted = { apiKeys: [k0], webhook: [w0] };
  readFails = undefined;
});
afterEach(() => world.close());

const source = {
  read: async () => {
    if (readFails !== undefined) throw readFails;
    return mounted;
  },
  get announcements() {
    return announcements;
  },
  place,
};
const start = async () => {
  world = await startWorld({ deps: { masterKeys: source } });
};
const hashOf = (master: Uint8Array, name = 'shop'): string =>
  hashCredential(deriveApiKey(master, { namespace: 'acme', name, keyGeneration: 1 }));
const hashes = async (name = 'shop'): Promise<readonly string[]> =>
  ((await world.config(name))?.keys ?? []).map(({ sha256 }) => sha256).toSorted();
const both = [hashOf(k0), hashOf(k1)].toSorted();
const keysOf = async (): Promise<string> => conditionOf(await world.get('Chain', 'dev'), 'MasterKeys');
const messageOf = async (): Promise<string> =>
  (await world.get('Chain', 'dev')).status?.conditions?.find(({ type }) => type === 'MasterKeys')?.message ??
  '';
const becomes = (want: string) => world.until(`MasterKeys is ${want}`, async () => (await keysOf()) === want);
const announced = (apiKeys: Uint8Array[], webhook = [w0]) => createAnnouncement({ apiKeys, webhook });
const shown = (): string | undefined => world.secrets.get('acme/connection')?.data['apiKey'];
const withSecret = aPaymaster({ writeConnectionSecretToRef: { name: 'connection' } });
const apiKeyOf = (master: Uint8Array): string =>
  deriveApiKey(master, { namespace: 'acme', name: 'shop', keyGeneration: 1 });

describe('a Secret of master keys', () => {
  test('that is there at the first start is announced and in force', async () => {
    await start();
    await world.apply(aPaymaster());
    await world.until('it is ready', isReady(world));
    expect(await keysOf()).toBe('True/InForce');
    expect(announcements.stored).toEqual(announced([k0]));
    expect(await hashes()).toEqual([hashOf(k0)]);
  });

  test('with a new key: accepted everywhere first, then announced and shown, without a restart', async () => {
    await start();
    const hook = aPolicy({
      meta: { name: 'hook' },
      name: 'Hook',
      policyType: 'WEBHOOK',
      webhook: { url: 'https://rules.example.com/check' },
    });
    await world.apply(withSecret, hook);
    await world.until('it is shown', () => shown() === apiKeyOf(k0));
    mounted = { apiKeys: [k1, k0], webhook: [w1, w0] };
    await becomes('True/Switching');
    const changedAt = world.time.clock.now();
    await world.until('both are accepted', async () => (await hashes()).length === 2);
    expect(await hashes()).toEqual(both);
    expect(announcements.stored).toEqual(announced([k0]));
    expect(shown()).toBe(apiKeyOf(k0));
    await becomes('True/InForce');
    expect(world.time.clock.now() - changedAt).toBeGreaterThanOrEqual(settleMs - 10_000);
    expect(announcements.stored).toEqual(announced([k1, k0], [w1, w0]));
    await world.until('it is shown', () => shown() === apiKeyOf(k1));
    expect(world.secrets.get('acme/connection')?.data['webhookKey']).toBe(
      deriveWebhookKey(w1, derivePolicyId('acme', 'hook')),
    );
    mounted = { apiKeys: [k1], webhook: [w1] };
    await world.until('the old key has ended', async () => (await hashes()).length === 1);
    expect(await hashes()).toEqual([hashOf(k1)]);
    expect(announcements.stored).toEqual(announced([k1], [w1]));
  });

  test('without the key in force is refused as a whole, and the message says what to add', async () => {
    await start();
    await world.apply(aPaymaster());
    await world.until('it is ready', isReady(world));
    mounted = { apiKeys: [k1], webhook: [w1, w0] };
    await becomes('False/Refused');
    expect(await messageOf()).toBe(
      `${place} no longer has a key that is in force: add it as master-previous.key, or undo the change. The keys of before stay in force.`,
    );
    await world.apply(aPaymaster({ meta: { name: 'second' }, name: 'Second' }));
    await world.until('it is ready', isReady(world, 'second'));
    expect(await hashes('second')).toEqual([hashOf(k0, 'second')]);
    expect(announcements.stored).toEqual(announced([k0]));
    expect(conditionOf(await world.get('Chain', 'dev'), 'Ready')).toBe('True/Ready');
    mounted = { apiKeys: [k1, k0], webhook: [w0] };
    await becomes('True/Switching');
    await becomes('True/InForce');
    expect(announcements.stored).toEqual(announced([k1, k0]));
  });

  test('with a file that holds no key is refused, naming the file', async () => {
    await start();
    readFails = invalidInput([{ field: 'master.key', expected: '64 hex digits' }]);
    await becomes('False/Refused');
    expect(await messageOf()).toContain(`${place}: master.key must be 64 hex digits.`);
    readFails = undefined;
    await becomes('True/InForce');
  });

  test('that lost the key in force while no operator ran: served configs stay, and nothing is compiled', async () => {
    await start();
    await world.apply(aPaymaster());
    await world.until('it is ready', isReady(world));
    mounted = { apiKeys: [k1], webhook: [w0] };
    await world.restart();
    await becomes('False/Refused');
    await world.apply(aPaymaster({ meta: { name: 'second' }, name: 'Second' }));
    await world.settle();
    expect(await world.config('second')).toBeUndefined();
    expect(await hashes()).toEqual([hashOf(k0)]);
    mounted = { apiKeys: [k1, k0], webhook: [w0] };
    await world.until('it is compiled', async () => (await hashes('second')).length === 2);
    await world.until('it is ready', isReady(world, 'second'));
  });

  test('that is restored before the change is announced leaves no trace', async () => {
    await start();
    await world.apply(aPaymaster());
    await world.until('it is ready', isReady(world));
    mounted = { apiKeys: [k1, k0], webhook: [w0] };
    await world.until('both are accepted', async () => (await hashes()).length === 2);
    mounted = { apiKeys: [k0], webhook: [w0] };
    await world.until('only the old one is', async () => (await hashes()).length === 1);
    expect(await hashes()).toEqual([hashOf(k0)]);
    expect(await keysOf()).toBe('True/InForce');
    expect(announcements.stored).toEqual(announced([k0]));
  });
});

test('a new leader continues a change from its beginning', async () => {
  await start();
  await world.apply(aPaymaster());
  await world.until('it is ready', isReady(world));
  mounted = { apiKeys: [k1, k0], webhook: [w0] };
  await becomes('True/Switching');
  await world.restart();
  const startedAt = world.time.clock.now();
  await world.until('it is announced', () => announcements.stored?.apiKeys.length === 2);
  expect(world.time.clock.now() - startedAt).toBeGreaterThanOrEqual(settleMs);
  expect(await hashes()).toEqual(both);
});

test('a new key is announced only after every paymaster was stored with it', async () => {
  let isBroken = false;
  await start();
  const configs = new Proxy(world.configs, {
    get: (target, name) => {
      const member: unknown = Reflect.get(target, name);
      if (name === 'putPaymaster' && isBroken) return () => Promise.reject(new Error('the store is broken'));
      return typeof member === 'function' ? member.bind(target) : member;
    },
  });
  await world.restart({ masterKeys: source, configs });
  await world.apply(aPaymaster());
  await world.until('it is ready', isReady(world));
  isBroken = true;
  mounted = { apiKeys: [k1, k0], webhook: [w0] };
  await becomes('True/Switching');
  for (let minute = 0; minute < 4; minute += 1) await world.settle();
  expect(announcements.stored).toEqual(announced([k0]));
  isBroken = false;
  await world.until('it is announced', () => announcements.stored?.apiKeys.length === 2);
  expect(await hashes()).toEqual(both);
});

test('while the announcement cannot be written nothing changes, and the operator recovers by itself', async () => {
  await start();
  await world.apply(aPaymaster());
  await world.until('it is ready', isReady(world));
  announcements.isAway = true;
  mounted = { apiKeys: [k1, k0], webhook: [w0] };
  await world.settle();
  expect(await keysOf()).toBe('True/InForce');
  expect(await hashes()).toEqual([hashOf(k0)]);
  announcements.isAway = false;
  await world.until('it is announced', () => announcements.stored?.apiKeys.length === 2);
});
