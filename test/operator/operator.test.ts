import { afterEach, describe, expect, test } from '@jest/globals';
import type { AnyResource } from '../../core/resources/kinds.js';
import {
  aChain,
  aFeeToken,
  aPaymaster,
  aPolicy,
  aProfile,
  aSmartContract,
  anOrganisation,
} from '../build/resources.js';
import { conditionOf, isReady, startWorld } from './world.js';
import type { World } from './world.js';
import { turn } from './virtual-time.js';

let world: World;
afterEach(() => world.close());

describe('resources converge', () => {
  const everything = (): AnyResource[] => [
    anOrganisation(),
    aChain(),
    aFeeToken(),
    aPaymaster(),
    aSmartContract(),
    aPolicy(),
  ];
  const orders: readonly { name: string; order: (objects: AnyResource[]) => AnyResource[] }[] = [
    { name: 'created from the top down', order: (objects) => objects },
    { name: 'created from the bottom up', order: (objects) => objects.reverse() },
    { name: 'with the paymaster first', order: (o) => [...o.slice(3), ...o.slice(0, 3)] },
    {
      name: 'with the chain last',
      order: (o) => [
        ...o.filter((each) => each.kind !== 'Chain'),
        ...o.filter((each) => each.kind === 'Chain'),
      ],
    },
  ];
  test.each(orders)('$name', async ({ order }) => {
    world = await startWorld({ isEmpty: true });
    for (const object of order(everything())) {
      await world.apply(object);
      await turn();
    }
    await world.until('the paymaster is ready', isReady(world));
    await world.settle();
    const config = await world.config('shop');
    expect(config).toMatchObject({ name: 'Shop', contractsRegistered: true, invalidPolicies: [] });
    expect(config?.notReady).toBeUndefined();
    expect(config?.contracts).toHaveLength(1);
    expect(config?.limits).toHaveLength(1);
    expect((await world.configs.getChain(31337))?.config.feeTokens).toHaveLength(1);
    for (const [kind, name] of [
      ['Organisation', 'acme'],
      ['Chain', 'dev'],
      ['FeeToken', 'dev-usd'],
      ['SmartContract', 'shop-nft'],
      ['PaymasterPolicy', 'shop-limit'],
    ] as const)
      expect(`${kind} ${conditionOf(await world.get(kind, name), 'Ready')}`).toBe(`${kind} True/Ready`);
  });

  test('whether they existed before the operator or came later', async () => {
    world = await startWorld();
    await world.operator.stop();
    await world.apply(aPaymaster(), aSmartContract());
    await world.restart();
    await world.until('the paymaster is ready', isReady(world));
    expect((await world.config('shop'))?.contracts).toHaveLength(1);
  });
});

describe('a paymaster that is ready', () => {
  test('shows its id, address, key fingerprint and counts', async () => {
    world = await startWorld();
    await world.apply(aPaymaster(), aSmartContract(), aPolicy());
    await world.until('the paymaster is ready', isReady(world));
    await world.settle();
    const config = await world.config('shop');
    expect((await world.get('Paymaster', 'shop')).status).toMatchObject({
      observedGeneration: 1,
      paymasterId: config?.paymasterId,
      address: aProfile.addresses.sponsorship,
      apiKeyFingerprint: config?.keys[0]?.sha256.slice(0, 8),
      contracts: 1,
      policies: 1,
    });
    expect((await world.get('SmartContract', 'shop-nft')).status).toMatchObject({
      methods: ['mint', 'burn'],
      selectors: ['0x42966c68'],
    });
  });

  test('is left alone when nothing changes: no write at all, over restarts and a day', async () => {
    world = await startWorld();
    await world.apply(aPaymaster(), aSmartContract(), aPolicy(), aFeeToken());
    await world.until('the paymaster is ready', isReady(world));
    await world.settle();
    const versions = async (): Promise<unknown> => ({
      objects: [
        (await world.get('Paymaster', 'shop')).metadata.resourceVersion,
        (await world.get('SmartContract', 'shop-nft')).metadata.resourceVersion,
        (await world.get('PaymasterPolicy', 'shop-limit')).metadata.resourceVersion,
        (await world.get('Chain', 'dev')).metadata.resourceVersion,
        (await world.get('FeeToken', 'dev-usd')).metadata.resourceVersion,
        (await world.get('Organisation', 'acme')).metadata.resourceVersion,
      ],
      config: (await world.config('shop'))?.configGeneration,
      chain: (await world.configs.getChain(31337))?.config.configGeneration,
    });
    const before = await versions();
    await world.settle();
    await world.restart();
    world.time.advance(86_400_000);
    await world.settle();
    expect(world.operator.ready()).toBe(true);
    expect(await versions()).toEqual(before);
  });

  test('never has its spec, labels or annotations written by the operator', async () => {
    world = await startWorld();
    const { metadata, spec } = aPaymaster();
    await world.resources.apply({
      manager: 'manifests',
      kind: 'Paymaster',
      key: { namespace: 'acme', name: metadata.name },
      spec,
      labels: { team: 'a' },
      annotations: { note: 'b' },
    });
    await world.until('the paymaster is ready', isReady(world));
    const after = await world.get('Paymaster', 'shop');
    expect(after).toMatchObject({
      spec,
      metadata: { generation: 1, labels: { team: 'a' }, annotations: { note: 'b' } },
    });
    expect(after.metadata.managedFields?.map(({ manager }) => manager)).toEqual(['manifests']);
  });
});

describe('a deleted object is not served', () => {
  test('on the event', async () => {
    world = await startWorld();
    await world.apply(aPaymaster(), aSmartContract(), aPolicy());
    await world.until('the paymaster is ready', isReady(world));
    await world.remove('Paymaster', 'shop');
    await world.until('the config is gone', async () => (await world.config('shop')) === undefined);
    await world.settle();
    const contract = await world.get('SmartContract', 'shop-nft');
    expect(conditionOf(contract, 'ResolvedRefs')).toBe('False/PaymasterDeleted');
    expect(conditionOf(contract, 'Ready')).toBe('False/NotResolved');
    expect(conditionOf(await world.get('PaymasterPolicy', 'shop-limit'), 'ResolvedRefs')).toBe(
      'False/PaymasterDeleted',
    );
    const { message } = contract.status!.conditions!.find(({ type }) => type === 'ResolvedRefs')!;
    expect(message).toContain('was deleted: delete this object too, and remove it from the manifests');
    await world.apply(aPaymaster());
    await world.until('it has its contract again', async () => {
      const again = await world.get('SmartContract', 'shop-nft');
      return conditionOf(again, 'ResolvedRefs') === 'True/ResolvedRefs';
    });
  });

  test('also when it was deleted while no operator ran', async () => {
    world = await startWorld();
    await world.apply(aPaymaster());
    await world.until('the paymaster is ready', isReady(world));
    await world.operator.stop();
    await world.remove('Paymaster', 'shop');
    await world.remove('Chain', 'dev');
    await world.restart();
    await world.until('the config is gone', async () => (await world.config('shop')) === undefined);
    await world.until('the chain is gone', async () => (await world.configs.getChain(31337)) === undefined);
  });

  test('and a config that was lost from the store is served again within ten minutes', async () => {
    world = await startWorld();
    await world.apply(aPaymaster());
    await world.until('the paymaster is ready', isReady(world));
    await world.configs.deletePaymaster((await world.config('shop'))?.paymasterId ?? '');
    await world.configs.deleteChain(31337);
    await world.until('it is back', async () => (await world.config('shop')) !== undefined);
    await world.until('the chain is back', async () => (await world.configs.getChain(31337)) !== undefined);
  });

  test('a deleted contract is removed, and after the last one the default of the paymaster applies', async () => {
    world = await startWorld();
    await world.apply(aPaymaster({ defaultContractAction: 'Deny' }), aSmartContract());
    await world.until('the paymaster is ready', isReady(world));
    await world.remove('SmartContract', 'shop-nft');
    await world.until(
      'none is registered',
      async () => (await world.config('shop'))?.contractsRegistered === false,
    );
    await world.settle();
    expect(conditionOf(await world.get('Paymaster', 'shop'), 'OpenSponsorship')).toBe('False/Denied');
  });
});

test('policies and contracts show in their status whether they are active, also where the spec says nothing', async () => {
  world = await startWorld();
  await world.apply(
    aPaymaster(),
    aSmartContract(),
    aPolicy(),
    aPolicy({ meta: { name: 'shop-paused' }, name: 'paused', active: false }),
  );
  await world.until('the paymaster is ready', isReady(world));
  await world.settle();
  const policies = await world.resources.list('PaymasterPolicy');
  expect(policies.map(({ spec, status }) => [spec.active, status?.active])).toEqual(
    expect.arrayContaining([
      [undefined, true],
      [false, false],
    ]),
  );
  expect((await world.get('SmartContract', 'shop-nft')).status?.active).toBe(true);
});

test('caps wider than those of the chain are reported with both figures, until they are corrected', async () => {
  const conditions = async () => (await world.get('Paymaster', 'shop'))?.status?.conditions ?? [];
  const limited = async () => (await conditions()).find(({ type }) => type === 'CapsLimited');
  const told = (message: string) => async () => (await limited())?.message === message;
  world = await startWorld();
  await world.apply(aPaymaster({ gas: { maxFeePerGas: '90000000000' }, maxExpirySeconds: 7200 }));
  await world.until(
    'the defaults are named',
    told(
      "The platform's caps count: spec.gas.maxFeePerGas is 90000000000 wei, the platform allows 50000000000 (or 3 times the latest base fee, where that is more); spec.maxExpirySeconds is 7200, the platform allows 600.",
    ),
  );
  expect((await limited())?.status).toBe('True');
  expect((await world.config('shop'))?.maxExpirySeconds).toBe(600);
  expect((await conditions()).find(({ type }) => type === 'Ready')?.reason).not.toBe('CapsLimited');

  await world.apply(aChain({ gas: { maxFeePerGas: '30000000000' }, maxExpirySeconds: 7200 }));
  await world.until(
    "the chain's are",
    told(
      "The platform's caps count: spec.gas.maxFeePerGas is 90000000000 wei, the platform allows 30000000000.",
    ),
  );
  await world.until('the longer window counts', async () => {
    return (await world.config('shop'))?.maxExpirySeconds === 7200;
  });
  await world.apply(aChain({ gas: { maxFeePerGas: '90000000000' }, maxExpirySeconds: 7200 }));
  await world.until('nothing is wider', async () => (await limited()) === undefined);
});

describe('a paymaster waits for a missing object, names it, and goes on by itself', () => {
  test('an Organisation', async () => {
    world = await startWorld({ isEmpty: true });
    await world.apply(aChain(), aPaymaster());
    await world.until('it says so', async () =>
      conditionOf(await world.get('Paymaster', 'shop'), 'Accepted').endsWith('NoOrganisation'),
    );
    expect((await world.config('shop'))?.notReady?.reason).toBe('NoOrganisation');
    await world.apply(anOrganisation());
    await world.until('the paymaster is ready', isReady(world));
    expect((await world.config('shop'))?.notReady).toBeUndefined();
  });

  test('a version of its chain', async () => {
    world = await startWorld();
    await world.apply(aPaymaster({ version: '2.0.0' }));
    await world.until('it says so', async () =>
      conditionOf(await world.get('Paymaster', 'shop'), 'ResolvedRefs').endsWith('VersionNotFound'),
    );
    await world.apply(aChain({ profiles: [aProfile, { ...aProfile, version: '2.0.0' }] }));
    await world.until('the paymaster is ready', isReady(world));
  });

  test('a name that another one has, until that one is deleted', async () => {
    world = await startWorld();
    await world.apply(aPaymaster());
    await world.until('the first is ready', isReady(world));
    world.time.advance(1000);
    await world.apply(aPaymaster({ meta: { name: 'late' } }));
    await world.until('the second says so', async () =>
      conditionOf(await world.get('Paymaster', 'late'), 'Accepted').endsWith('NameConflict'),
    );
    expect((await world.config('late'))?.notReady?.reason).toBe('NameConflict');
    expect(conditionOf(await world.get('Paymaster', 'shop'), 'Ready')).toBe('True/Ready');
    await world.remove('Paymaster', 'shop');
    await world.until('the second is ready', isReady(world, 'late'));
  });

  test('room in the quota, until another one is deleted', async () => {
    world = await startWorld();
    await world.apply(anOrganisation({ quotas: { paymasters: 1 } }), aPaymaster());
    await world.until('the first is ready', isReady(world));
    world.time.advance(1000);
    await world.apply(aPaymaster({ meta: { name: 'b' }, name: 'B' }));
    await world.until('the second says so', async () =>
      conditionOf(await world.get('Paymaster', 'b'), 'Accepted').endsWith('QuotaExceeded'),
    );
    await world.remove('Paymaster', 'shop');
    await world.until('the second is ready', isReady(world, 'b'));
  });
});

test('room in the quota that becomes free while another paymaster is being refused is noticed', async () => {
  world = await startWorld();
  await world.apply(anOrganisation({ quotas: { paymasters: 1 } }), aPaymaster());
  await world.until('the first is ready', isReady(world));
  const { resources } = world;
  const refusing = Promise.withResolvers<void>();
  const told = Promise.withResolvers<void>();
  await world.restart({
    resources: {
      watch: (kind, handler) => resources.watch(kind, handler),
      async applyStatus(kind, key, ...rest) {
        if (key.name === 'b') {
          refusing.resolve();
          await told.promise;
        }
        return resources.applyStatus(kind, key, ...rest);
      },
    },
  });
  await world.settle();
  await world.apply(aPaymaster({ meta: { name: 'b' }, name: 'B' }));
  await refusing.promise;
  await world.remove('Paymaster', 'shop');
  told.resolve();
  await world.until('the second is ready', isReady(world, 'b'));
});

describe('of two objects that claim the same', () => {
  test('Organisations of one namespace: the first counts, and the second takes over when the first is deleted', async () => {
    world = await startWorld();
    await world.apply(aPaymaster());
    await world.until('the paymaster is ready', isReady(world));
    world.time.advance(1000);
    await world.apply(
      anOrganisation({ meta: { name: 'zweite' }, tokens: [{ name: 't', sha256: 'a'.repeat(64) }] }),
    );
    await world.until('it says so', async () =>
      conditionOf(await world.get('Organisation', 'zweite'), 'Accepted').endsWith('NameConflict'),
    );
    expect((await world.config('shop'))?.tokens).toEqual([]);
    await world.remove('Organisation', 'acme');
    await world.until('the second counts', async () => (await world.config('shop'))?.tokens.length === 1);
    await world.until(
      'it is ready',
      async () => conditionOf(await world.get('Organisation', 'zweite'), 'Ready') === 'True/Ready',
    );
  });

  test('Chains of one chainId: the first counts', async () => {
    world = await startWorld();
    await world.until(
      'the chain is ready',
      async () => conditionOf(await world.get('Chain', 'dev'), 'Ready') === 'True/Ready',
    );
    world.time.advance(1000);
    await world.apply(aChain({ meta: { name: 'aaa' }, suspended: true }));
    await world.until('it says so', async () =>
      conditionOf(await world.get('Chain', 'aaa'), 'Accepted').endsWith('NameConflict'),
    );
    expect((await world.configs.getChain(31337))?.config.objectName).toBe('dev');
  });
});

test('a suspended chain holds its paymasters', async () => {
  world = await startWorld();
  await world.apply(aPaymaster());
  await world.until('the paymaster is ready', isReady(world));
  await world.apply(aChain({ suspended: true }));
  await world.until('it says so', async () =>
    conditionOf(await world.get('Paymaster', 'shop'), 'Ready').endsWith('Suspended'),
  );
  await world.until(
    'it is served',
    async () => (await world.configs.getChain(31337))?.config.suspended === true,
  );
});
