import { afterEach, describe, expect, test } from '@jest/globals';
import { DomainError } from '../../core/errors.js';
import { aPaymaster, aPolicy, aSmartContract } from '../build/resources.js';
import { conditionOf, isReady, startWorld } from './world.js';
import type { World } from './world.js';

let world: World;
afterEach(() => world.close());

test('a rename to a taken policy name is refused, keeps the last valid policy, and is accepted once the name is free', async () => {
  world = await startWorld();
  await world.apply(aPaymaster(), aPolicy(), aPolicy({ meta: { name: 'other' }, name: 'Other' }));
  await world.until('the paymaster is ready', isReady(world));
  await world.apply(aPolicy({ meta: { name: 'other' }, name: 'Daily' }));
  await world.until('it says so', async () =>
    conditionOf(await world.get('PaymasterPolicy', 'other'), 'Accepted').endsWith('NameConflict'),
  );
  expect((await world.config('shop'))?.limits.map(({ name }) => name).sort()).toEqual(['Daily', 'Other']);
  await world.remove('PaymasterPolicy', 'shop-limit');
  await world.until(
    'the name is free',
    async () => (await world.config('shop'))?.limits[0]?.name === 'Daily',
  );
  expect((await world.config('shop'))?.limits).toHaveLength(1);
});

describe('one bad resource never stops the rest', () => {
  test('a contract with a broken ABI reports that, the others are served', async () => {
    world = await startWorld();
    await world.apply(
      aPaymaster(),
      aSmartContract(),
      aSmartContract({
        meta: { name: 'bad' },
        name: 'Bad',
        address: `0x${'2'.repeat(40)}`,
        abi: '[{"type":1}]',
      }),
    );
    await world.until('the paymaster is ready', isReady(world));
    await world.settle();
    expect(conditionOf(await world.get('SmartContract', 'bad'), 'Accepted')).toBe('False/Invalid');
    expect((await world.config('shop'))?.contracts.map(({ name }) => name)).toEqual(['NFT']);
  });

  test('a contract with the wrong ABI reports that, however many of its methods the ABI lacks', async () => {
    const abi = JSON.stringify(
      Array.from({ length: 30 }, (_, index) => ({ name: `another${index}`, type: 'function', inputs: [] })),
    );
    const whitelistedMethods = Array.from({ length: 1000 }, (_, index) => `method${index}`);
    world = await startWorld();
    await world.apply(
      aPaymaster(),
      aSmartContract({ meta: { name: 'bad' }, name: 'Bad', abi, whitelistedMethods }),
    );
    await world.until(
      'the contract says that it is not accepted',
      async () => conditionOf(await world.get('SmartContract', 'bad'), 'Accepted') === 'False/Invalid',
    );
  });

  test('of hundreds of bad policies the oldest close the paymaster, and the others report that they are too many', async () => {
    world = await startWorld();
    const names = Array.from({ length: 300 }, (_, index) => `${'x'.repeat(120)}${index}`);
    const webhook = { url: 'http://rules.example.com/' };
    await world.apply(
      ...names.map((name, index) =>
        aPolicy({ meta: { name: `p${index}` }, name, policyType: 'WEBHOOK', webhook }),
      ),
      aPaymaster(),
    );
    await world.until('it is said', async () =>
      conditionOf(await world.get('Paymaster', 'shop'), 'Ready').endsWith('PolicyInvalid'),
    );
    const ready = (await world.get('Paymaster', 'shop')).status?.conditions?.find(
      ({ type }) => type === 'Ready',
    );
    expect(ready?.message).toContain(names[0]);
    expect(ready?.message.length).toBeLessThan(1_000);
    await world.until(
      'the last one says so',
      async () => conditionOf(await world.get('PaymasterPolicy', 'p299'), 'Accepted') === 'False/TooMany',
    );
  });

  test('a paymaster whose store write always fails is retried alone', async () => {
    world = await startWorld();
    const { configs } = world;
    await world.restart({
      configs: {
        ...configs,
        putPaymaster: (config) =>
          config.objectName === 'poison'
            ? Promise.reject(new Error('this one cannot be stored'))
            : configs.putPaymaster(config),
      },
    });
    await world.apply(aPaymaster({ meta: { name: 'poison' }, name: 'Poison' }), aPaymaster());
    await world.until('the other is ready', isReady(world));
    expect(await world.config('poison')).toBeUndefined();
    expect(world.operator.ready()).toBe(true);
  });

  test('a config that the store refuses is a condition, and the last config stays', async () => {
    world = await startWorld();
    await world.apply(aPaymaster());
    await world.until('the paymaster is ready', isReady(world));
    const { configs } = world;
    await world.restart({
      configs: {
        ...configs,
        putPaymaster: () => Promise.reject(new DomainError('INVALID_INPUT', 'config must be smaller')),
      },
    });
    await world.apply(aPaymaster({ suspended: true }));
    await world.until('it says so', async () =>
      conditionOf(await world.get('Paymaster', 'shop'), 'Programmed').endsWith('StoreRejected'),
    );
    expect((await world.config('shop'))?.suspended).toBe(false);
  });
});

test('after an outage of the config store, everything that was written meanwhile is served', async () => {
  world = await startWorld();
  const { configs } = world;
  let isDown = true;
  await world.restart({
    configs: {
      ...configs,
      putPaymaster: (config) =>
        isDown ? Promise.reject(new DomainError('UNAVAILABLE', 'down')) : configs.putPaymaster(config),
    },
  });
  await world.apply(aPaymaster(), aSmartContract());
  await world.settle();
  expect(await world.config('shop')).toBeUndefined();
  isDown = false;
  await world.until('the paymaster is ready', isReady(world));
});

test('dashboard access that a foreign binding blocked is granted once that is gone', async () => {
  world = await startWorld();
  let isForeign = true;
  await world.restart({
    tenantAccess: {
      grant: async () => (isForeign ? 'not-ours' : 'granted'),
      revoke: async () => {},
      granted: async () => [],
    },
  });
  const access = async () => conditionOf(await world.get('Organisation', 'acme'), 'DashboardAccess');
  await world.until('it is said', async () => (await access()) === 'False/NotOurs');
  isForeign = false;
  await world.until('it is granted', async () => (await access()) === 'True/Granted');
});

test('a sweep for deleted objects is repeated within a minute when the store could not be read', async () => {
  world = await startWorld();
  await world.apply(aPaymaster());
  await world.until('the paymaster is ready', isReady(world));
  await world.operator.stop();
  await world.remove('Paymaster', 'shop');
  let isAway = true;
  const { configs } = world;
  await world.restart({
    configs: {
      ...configs,
      purge: async (before) => {
        if (isAway) throw new DomainError('UNAVAILABLE', 'storage is (re)initializing');
        await configs.purge(before);
      },
    },
  });
  await world.settle();
  expect(await world.config('shop')).toBeDefined();
  isAway = false;
  await world.settle();
  expect(await world.config('shop')).toBeUndefined();
});
