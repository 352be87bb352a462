import { afterEach, describe, expect, test } from '@jest/globals';
import { createMetrics } from '../../core/adapters/metrics/prometheus.js';
import { DomainError } from '../../core/errors.js';
import { deriveApiKey, deriveWebhookKey } from '../../core/config/api-key.js';
import { policyIdOf } from '../../core/config/ids.js';
import type { AnyResource } from '../../core/resources/kinds.js';
import {
  aChain,
  aFeeToken,
  aLimit,
  aPaymaster,
  aPolicy,
  aProfile,
  aSmartContract,
  anOrganisation,
} from '../build/resources.js';
import { parseAddress } from '../../core/units/address.js';
import { signerAddress } from './scripted-chain.js';
import { conditionOf, startWorld } from './world.js';
import type { World } from './world.js';
import { turn } from './virtual-time.js';

let world: World;
afterEach(() => world.close());

const isReady =
  (name = 'shop') =>
  async (): Promise<boolean> =>
    conditionOf(await world.get('Paymaster', name), 'Ready') === 'True/Ready';

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
    await world.until('the paymaster is ready', isReady());
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

  test('whether they were there before the operator or came after', async () => {
    world = await startWorld();
    await world.operator.stop();
    await world.apply(aPaymaster(), aSmartContract());
    await world.restart();
    await world.until('the paymaster is ready', isReady());
    expect((await world.config('shop'))?.contracts).toHaveLength(1);
  });
});

describe('a paymaster that is ready', () => {
  test('shows its id, address, key fingerprint and counts', async () => {
    world = await startWorld();
    await world.apply(aPaymaster(), aSmartContract(), aPolicy());
    await world.until('the paymaster is ready', isReady());
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

  test('is left alone when nothing changes: not one write, over restarts and a day', async () => {
    world = await startWorld();
    await world.apply(aPaymaster(), aSmartContract(), aPolicy(), aFeeToken());
    await world.until('the paymaster is ready', isReady());
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
    await world.until('the paymaster is ready', isReady());
    const after = await world.get('Paymaster', 'shop');
    expect(after).toMatchObject({
      spec,
      metadata: { generation: 1, labels: { team: 'a' }, annotations: { note: 'b' } },
    });
    expect(after.metadata.managedFields?.map(({ manager }) => manager)).toEqual(['manifests']);
  });
});

describe('what is deleted is not served any more', () => {
  test('on the event', async () => {
    world = await startWorld();
    await world.apply(aPaymaster(), aSmartContract(), aPolicy());
    await world.until('the paymaster is ready', isReady());
    await world.remove('Paymaster', 'shop');
    await world.until('the config is gone', async () => (await world.config('shop')) === undefined);
    await world.settle();
    const contract = await world.get('SmartContract', 'shop-nft');
    expect(conditionOf(contract, 'ResolvedRefs')).toBe('False/PaymasterNotFound');
    expect(conditionOf(contract, 'Ready')).toBe('False/NotResolved');
    expect(conditionOf(await world.get('PaymasterPolicy', 'shop-limit'), 'ResolvedRefs')).toBe(
      'False/PaymasterNotFound',
    );
  });

  test('when it was deleted while no operator ran', async () => {
    world = await startWorld();
    await world.apply(aPaymaster());
    await world.until('the paymaster is ready', isReady());
    await world.operator.stop();
    await world.remove('Paymaster', 'shop');
    await world.remove('Chain', 'dev');
    await world.restart();
    await world.until('the config is gone', async () => (await world.config('shop')) === undefined);
    await world.until('the chain is gone', async () => (await world.configs.getChain(31337)) === undefined);
  });

  test('and what was lost from the config store is served again within ten minutes', async () => {
    world = await startWorld();
    await world.apply(aPaymaster());
    await world.until('the paymaster is ready', isReady());
    await world.configs.deletePaymaster((await world.config('shop'))?.paymasterId ?? '');
    await world.configs.deleteChain(31337);
    await world.until('it is back', async () => (await world.config('shop')) !== undefined);
    await world.until('the chain is back', async () => (await world.configs.getChain(31337)) !== undefined);
  });

  test('a contract that goes is taken out, and the last one leaves the paymaster as its default says', async () => {
    world = await startWorld();
    await world.apply(aPaymaster({ defaultContractAction: 'Deny' }), aSmartContract());
    await world.until('the paymaster is ready', isReady());
    await world.remove('SmartContract', 'shop-nft');
    await world.until(
      'none is registered',
      async () => (await world.config('shop'))?.contractsRegistered === false,
    );
    await world.settle();
    expect(conditionOf(await world.get('Paymaster', 'shop'), 'OpenSponsorship')).toBe('False/Denied');
  });
});

describe('a paymaster waits for what it needs, says for what, and goes on by itself', () => {
  test('an Organisation', async () => {
    world = await startWorld({ isEmpty: true });
    await world.apply(aChain(), aPaymaster());
    await world.until('it says so', async () =>
      conditionOf(await world.get('Paymaster', 'shop'), 'Accepted').endsWith('NoOrganisation'),
    );
    expect((await world.config('shop'))?.notReady?.reason).toBe('NoOrganisation');
    await world.apply(anOrganisation());
    await world.until('the paymaster is ready', isReady());
    expect((await world.config('shop'))?.notReady).toBeUndefined();
  });

  test('a version of its chain', async () => {
    world = await startWorld();
    await world.apply(aPaymaster({ version: '2.0.0' }));
    await world.until('it says so', async () =>
      conditionOf(await world.get('Paymaster', 'shop'), 'ResolvedRefs').endsWith('VersionNotFound'),
    );
    await world.apply(aChain({ profiles: [aProfile, { ...aProfile, version: '2.0.0' }] }));
    await world.until('the paymaster is ready', isReady());
  });

  test('a name that another one has, until that one goes', async () => {
    world = await startWorld();
    await world.apply(aPaymaster());
    await world.until('the first is ready', isReady());
    world.time.advance(1000);
    await world.apply(aPaymaster({ meta: { name: 'late' } }));
    await world.until('the second says so', async () =>
      conditionOf(await world.get('Paymaster', 'late'), 'Accepted').endsWith('NameConflict'),
    );
    expect((await world.config('late'))?.notReady?.reason).toBe('NameConflict');
    expect(conditionOf(await world.get('Paymaster', 'shop'), 'Ready')).toBe('True/Ready');
    await world.remove('Paymaster', 'shop');
    await world.until('the second is ready', isReady('late'));
  });

  test('room in the quota, until another one goes', async () => {
    world = await startWorld();
    await world.apply(anOrganisation({ quotas: { paymasters: 1 } }), aPaymaster());
    await world.until('the first is ready', isReady());
    world.time.advance(1000);
    await world.apply(aPaymaster({ meta: { name: 'b' }, name: 'B' }));
    await world.until('the second says so', async () =>
      conditionOf(await world.get('Paymaster', 'b'), 'Accepted').endsWith('QuotaExceeded'),
    );
    await world.remove('Paymaster', 'shop');
    await world.until('the second is ready', isReady('b'));
  });
});

test('a place in the quota that becomes free while another paymaster is being refused is noticed', async () => {
  world = await startWorld();
  await world.apply(anOrganisation({ quotas: { paymasters: 1 } }), aPaymaster());
  await world.until('the first is ready', isReady());
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
  await world.until('the second is ready', isReady('b'));
});

test('a rename to a taken policy name is refused, keeps the last form, and heals when the name is free', async () => {
  world = await startWorld();
  await world.apply(aPaymaster(), aPolicy(), aPolicy({ meta: { name: 'other' }, name: 'Other' }));
  await world.until('the paymaster is ready', isReady());
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
  test('a contract with a broken ABI says so, the others are served', async () => {
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
    await world.until('the paymaster is ready', isReady());
    await world.settle();
    expect(conditionOf(await world.get('SmartContract', 'bad'), 'Accepted')).toBe('False/Invalid');
    expect((await world.config('shop'))?.contracts.map(({ name }) => name)).toEqual(['NFT']);
  });

  test('a contract of the wrong ABI says so, however many of its methods that ABI lacks', async () => {
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

  test('hundreds of bad policies are said too, in a message that a condition can hold', async () => {
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
    expect(ready?.message.endsWith('…')).toBe(true);
  });

  test('a paymaster whose store write always fails is tried again alone', async () => {
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
    await world.until('the other is ready', isReady());
    expect(await world.config('poison')).toBeUndefined();
    expect(world.operator.ready()).toBe(true);
  });

  test('a config that the store refuses is a condition, and the last one stays', async () => {
    world = await startWorld();
    await world.apply(aPaymaster());
    await world.until('the paymaster is ready', isReady());
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

test('an outage of the config store is waited out, and everything written meanwhile is served after it', async () => {
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
  await world.until('the paymaster is ready', isReady());
});

describe('the cycle of a limit', () => {
  const cycle = async (): Promise<unknown> =>
    (await world.get('PaymasterPolicy', 'shop-limit')).status?.cycle?.startTime;

  test('goes on over restarts and pauses, and restarts when the threshold changes', async () => {
    world = await startWorld();
    await world.apply(aPaymaster(), aPolicy());
    await world.until('the paymaster is ready', isReady());
    await world.settle();
    const first = await cycle();
    expect(first).toBeDefined();

    await world.apply(aPolicy({ active: false }));
    await world.until('it is paused', async () => (await world.config('shop'))?.limits.length === 0);
    await world.restart();
    await world.apply(aPolicy());
    await world.until('it is active', async () => (await world.config('shop'))?.limits.length === 1);
    expect(await cycle()).toBe(first);

    await world.apply(aPolicy({ spendingLimit: { ...aLimit, threshold: '20' } }));
    await world.until(
      'it is changed',
      async () => (await world.config('shop'))?.limits[0]?.threshold === '20',
    );
    await world.settle();
    expect(await cycle()).not.toBe(first);
    expect(Date.parse(String(await cycle()))).toBe((await world.config('shop'))?.limits[0]?.startMs);
  });

  test('starts at startTime when the dashboard writes one', async () => {
    world = await startWorld();
    const startTime = '2026-01-20T10:00:00.123Z';
    await world.apply(aPaymaster(), aPolicy({ spendingLimit: { ...aLimit, startTime } }));
    await world.until('the paymaster is ready', isReady());
    await world.settle();
    expect((await world.config('shop'))?.limits[0]?.startMs).toBe(Date.parse(startTime));
    expect((await world.get('PaymasterPolicy', 'shop-limit')).status?.cycle).toMatchObject({
      startTime,
      specStartTime: startTime,
    });
  });

  test('does not restart when the operator is stopped before it could write the status', async () => {
    world = await startWorld();
    const { resources } = world;
    await world.restart({
      resources: {
        watch: (kind, handler) => resources.watch(kind, handler),
        applyStatus: () => Promise.reject(new DomainError('UNAVAILABLE', 'down')),
      },
    });
    await world.apply(aPaymaster(), aPolicy());
    await world.until('it is served', async () => (await world.config('shop'))?.limits.length === 1);
    const started = (await world.config('shop'))?.limits[0]?.startMs;
    world.time.advance(3_600_000);
    await world.restart();
    await world.until('the paymaster is ready', isReady());
    await world.settle();
    expect((await world.config('shop'))?.limits[0]?.startMs).toBe(started);
    expect(Date.parse(String(await cycle()))).toBe(started);
  });
});

describe('what the chain says becomes conditions', () => {
  const entryPoint = parseAddress(aProfile.entryPoint);
  test.each<{ name: string; break: () => void; mend: () => void; type: string; bad: string; ready: string }>([
    {
      name: 'an empty deposit',
      break: () => world.chain.deposits.set('0x00000000000000000000000000000000000000f1', 0n),
      mend: () => world.chain.deposits.clear(),
      type: 'Funded',
      bad: 'False/Empty',
      ready: 'False/NotFunded',
    },
    {
      name: 'a signer that the contract does not accept',
      break: () => (world.chain.signer = world.chain.entryPoint),
      mend: () => (world.chain.signer = signerAddress),
      type: 'SignerAuthorized',
      bad: 'False/NotAuthorized',
      ready: 'False/SignerNotAuthorized',
    },
    {
      name: 'a contract that hashes differently',
      break: () => (world.chain.hashesLikeUs = false),
      mend: () => (world.chain.hashesLikeUs = true),
      type: 'Ready',
      bad: 'False/ChainNotReady',
      ready: 'False/ChainNotReady',
    },
    {
      name: 'a contract for another EntryPoint',
      break: () => (world.chain.entryPoint = signerAddress),
      mend: () => (world.chain.entryPoint = entryPoint),
      type: 'Ready',
      bad: 'False/ChainNotReady',
      ready: 'False/ChainNotReady',
    },
    {
      name: 'a contract that is not deployed',
      break: () => world.chain.withoutCode.add(aProfile.addresses.sponsorship.toLowerCase()),
      mend: () => world.chain.withoutCode.clear(),
      type: 'Ready',
      bad: 'False/ChainNotReady',
      ready: 'False/ChainNotReady',
    },
  ])('$name, until it is mended', async ({ break: breakIt, mend, type, bad, ready }) => {
    world = await startWorld();
    breakIt();
    await world.apply(aPaymaster());
    await world.until(
      'it is seen',
      async () => conditionOf(await world.get('Paymaster', 'shop'), type) === bad,
    );
    expect(conditionOf(await world.get('Paymaster', 'shop'), 'Ready')).toBe(ready);
    mend();
    await world.until('the paymaster is ready', isReady());
    await world.until(
      'the chain is ready',
      async () => conditionOf(await world.get('Chain', 'dev'), 'Ready') === 'True/Ready',
    );
  });

  test('a low deposit is said and keeps it ready', async () => {
    world = await startWorld();
    world.chain.deposits.set('0x00000000000000000000000000000000000000f1', 1n);
    await world.apply(aPaymaster());
    await world.until('the paymaster is ready', isReady());
    expect(conditionOf(await world.get('Paymaster', 'shop'), 'Funded')).toBe('True/Low');
  });

  test('an address without code is a warning until code is there', async () => {
    world = await startWorld();
    world.chain.withoutCode.add(aSmartContract().spec.address);
    await world.apply(aPaymaster(), aSmartContract());
    await world.until('it is seen', async () =>
      conditionOf(await world.get('SmartContract', 'shop-nft'), 'ContractCode').endsWith('NoCode'),
    );
    expect(conditionOf(await world.get('SmartContract', 'shop-nft'), 'Ready')).toBe('True/Ready');
    world.chain.withoutCode.clear();
    await world.until('code is seen', async () =>
      conditionOf(await world.get('SmartContract', 'shop-nft'), 'ContractCode').endsWith('CodePresent'),
    );
  });

  test('a node that goes away is said of the chain only; nothing else flaps', async () => {
    world = await startWorld();
    await world.apply(aPaymaster());
    await world.until('the paymaster is ready', isReady());
    await world.settle();
    const before = (await world.get('Paymaster', 'shop')).metadata.resourceVersion;
    world.chain.isReachable = false;
    await world.until('it is seen', async () =>
      conditionOf(await world.get('Chain', 'dev'), 'Reachable').endsWith('Unreachable'),
    );
    await world.settle();
    expect((await world.get('Paymaster', 'shop')).metadata.resourceVersion).toBe(before);
    world.chain.isReachable = true;
    await world.until(
      'it is back',
      async () => conditionOf(await world.get('Chain', 'dev'), 'Ready') === 'True/Ready',
    );
  });

  test('a chain whose clock is ahead is said, in two degrees, and taken back', async () => {
    world = await startWorld();
    await world.apply(aPaymaster());
    const becomes = (expected: string) =>
      world.until(`it says ${expected}`, async () => {
        world.chain.timestamp = world.time.clock.now() / 1000 + ahead;
        return conditionOf(await world.get('Chain', 'dev'), 'ClockSkew') === expected;
      });
    let ahead = 0;
    await becomes('False/InStep');
    ahead = 60;
    await becomes('True/Ahead');
    ahead = 600;
    await becomes('True/FarAhead');
    ahead = 0;
    await becomes('False/InStep');
  });

  test('a URL of another chain is said, and nothing it answers is believed', async () => {
    world = await startWorld();
    world.chain.chainId = 1;
    await world.apply(aPaymaster());
    await world.until('it is seen', async () =>
      conditionOf(await world.get('Chain', 'dev'), 'Reachable').endsWith('WrongChain'),
    );
    expect(conditionOf(await world.get('Paymaster', 'shop'), 'Funded')).toBe('Unknown/Unknown');
  });

  test('without any funding wallet it says how to get one', async () => {
    world = await startWorld();
    const { defaultFunding: _, ...profile } = aProfile;
    await world.apply(aChain({ profiles: [profile] }), aPaymaster());
    await world.until('it is seen', async () =>
      conditionOf(await world.get('Paymaster', 'shop'), 'Funded').endsWith('NoFundingWallet'),
    );
  });

  test.each([
    { name: 'everybody may draw on it', organisations: undefined, funded: 'Ok' },
    { name: 'an organisation that is listed may', organisations: ['acme'], funded: 'Ok' },
    { name: 'one that is not listed may not', organisations: ['other'], funded: 'NoFundingWallet' },
  ])('where a contract keeps one deposit for all, $name', async ({ organisations, funded }) => {
    world = await startWorld();
    const { defaultFunding: _, ...profile } = aProfile;
    const shared = {
      ...profile,
      layout: 'verifying-0.7' as const,
      entryPoint: '0x0000000071727De22E5E9d8BAf0edAc6f37da032',
    };
    const listed = organisations && { defaultFunding: { address: `0x${'1'.repeat(40)}`, organisations } };
    await world.apply(aChain({ profiles: [{ ...shared, ...listed }] }), aPaymaster());
    await world.until('it is seen', async () =>
      conditionOf(await world.get('Paymaster', 'shop'), 'Funded').endsWith(funded),
    );
  });

  test('a signer file that is not mounted is named', async () => {
    world = await startWorld();
    await world.apply(aChain({ profiles: [{ ...aProfile, signer: { file: 'gone' } }] }), aPaymaster());
    await world.until('it is seen', async () =>
      conditionOf(await world.get('Paymaster', 'shop'), 'SignerAuthorized').endsWith('SignerNotFound'),
    );
    expect(conditionOf(await world.get('Chain', 'dev'), 'ResolvedRefs')).toBe('False/SignerNotFound');
  });
});

describe('connection secrets', () => {
  const withSecret = aPaymaster({ writeConnectionSecretToRef: { name: 'shop-connection' } });
  const hook = aPolicy({
    meta: { name: 'hook' },
    name: 'Hook',
    policyType: 'WEBHOOK',
    webhook: { url: 'https://rules.example.com/check' },
  });

  test('hold what a client needs', async () => {
    world = await startWorld();
    await world.apply(withSecret, hook);
    await world.until(
      'it is written',
      () => world.secrets.get('acme/shop-connection')?.data['webhookKey'] !== undefined,
    );
    const apiKey = deriveApiKey(new Uint8Array(32).fill(1), {
      namespace: 'acme',
      name: 'shop',
      keyGeneration: 1,
    });
    const webhookKey = deriveWebhookKey(new Uint8Array(32).fill(2), policyIdOf('acme', 'hook'));
    expect(world.secrets.get('acme/shop-connection')).toEqual({
      owner: 'shop',
      data: {
        apiKey,
        rpcUrl: `http://rpc.test/api/v1/31337/${apiKey}`,
        paymasterId: (await world.config('shop'))?.paymasterId,
        chainId: '31337',
        webhookKey,
        'webhookKey.hook': webhookKey,
      },
    });
    await world.until('it is said', async () =>
      conditionOf(await world.get('Paymaster', 'shop'), 'ConnectionSecret').endsWith('Written'),
    );
    // The status never repeats what the secret holds.
    expect(JSON.stringify(await world.get('Paymaster', 'shop'))).not.toContain(apiKey);
  });

  test('of somebody else are left alone, and that is said', async () => {
    world = await startWorld();
    world.secrets.set('acme/shop-connection', { owner: 'database', data: { password: 'x' } });
    await world.apply(withSecret);
    await world.until('it is said', async () =>
      conditionOf(await world.get('Paymaster', 'shop'), 'ConnectionSecret').endsWith('NotOurs'),
    );
    expect(world.secrets.get('acme/shop-connection')?.data).toEqual({ password: 'x' });
  });
});

describe('two of one kind', () => {
  test('Organisations of one namespace: the first counts, and the second takes over when it goes', async () => {
    world = await startWorld();
    await world.apply(aPaymaster());
    await world.until('the paymaster is ready', isReady());
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
  await world.until('the paymaster is ready', isReady());
  await world.apply(aChain({ suspended: true }));
  await world.until('it says so', async () =>
    conditionOf(await world.get('Paymaster', 'shop'), 'Ready').endsWith('Suspended'),
  );
  await world.until(
    'it is served',
    async () => (await world.configs.getChain(31337))?.config.suspended === true,
  );
});

describe('leadership', () => {
  test('a standby is ready, writes nothing, and takes over when it is elected', async () => {
    world = await startWorld();
    const elected = Promise.withResolvers<void>();
    await world.restart({
      leader: {
        start: () => {},
        elected: elected.promise,
        lost: new Promise(() => {}),
        mayWrite: () => true,
        stop: () => Promise.resolve(),
      },
    });
    await world.apply(aPaymaster());
    await world.settle();
    expect(world.operator.ready()).toBe(true);
    expect(await world.config('shop')).toBeUndefined();
    elected.resolve();
    await world.until('the paymaster is ready', isReady());
  });

  test('one that lost it stops, says so once, and writes nothing more', async () => {
    world = await startWorld();
    const lost = Promise.withResolvers<void>();
    let told = 0;
    let mayWrite = true;
    await world.restart({
      onLost: () => (told += 1),
      leader: {
        start: () => {},
        elected: Promise.resolve(),
        lost: lost.promise,
        mayWrite: () => mayWrite,
        stop: () => Promise.resolve(),
      },
    });
    // Somebody else may lead as soon as the lease ran out, before anybody is told.
    mayWrite = false;
    await world.apply(aPaymaster());
    await world.settle();
    expect(await world.config('shop')).toBeUndefined();
    lost.resolve();
    await world.settle();
    expect(told).toBe(1);
    expect(world.operator.ready()).toBe(false);
  });

  test('one that lost it in the middle of a reconcile writes no connection secret any more', async () => {
    world = await startWorld();
    const { configs } = world;
    let mayWrite = true;
    await world.restart({
      configs: {
        ...configs,
        async putPaymaster(...args) {
          const result = await configs.putPaymaster(...args);
          mayWrite = false;
          return result;
        },
      },
      leader: {
        start: () => {},
        elected: Promise.resolve(),
        lost: new Promise(() => {}),
        mayWrite: () => mayWrite,
        stop: () => Promise.resolve(),
      },
    });
    await world.apply(aPaymaster({ writeConnectionSecretToRef: { name: 'shop-connection' } }));
    await world.settle();
    expect(await world.config('shop')).toBeDefined();
    expect(world.secrets.size).toBe(0);
  });
});

test('one that is stopped while its store does not answer ends its start too', async () => {
  world = await startWorld();
  await world.operator.stop();
  const silent = { synced: new Promise<void>(() => {}), stop: () => {} };
  world.operator = world.create({
    resources: { watch: () => silent, applyStatus: (...args) => world.resources.applyStatus(...args) },
  });
  const started = world.operator.start();
  expect(world.operator.ready()).toBe(false);
  await world.operator.stop();
  await started;
});

test('metrics carry the names of controller-runtime and client-go, and start at zero', async () => {
  world = await startWorld();
  const metrics = createMetrics({ process: false });
  await world.restart({ metrics });
  const zero = (await metrics.render()).body;
  expect(zero).toContain('controller_runtime_reconcile_errors_total{controller="organisation"} 0');
  expect(zero).toContain('workqueue_retries_total{name="chain"} 0');
  await world.apply(aPaymaster());
  await world.until('the paymaster is ready', isReady());
  const { body } = await metrics.render();
  expect(body).toMatch(/controller_runtime_reconcile_total\{controller="paymaster",result="success"\} [1-9]/);
  expect(body).toContain('controller_runtime_active_workers{controller="paymaster"} 0');
  expect(body).toContain('controller_runtime_max_concurrent_reconciles{controller="paymaster"} 8');
  expect(body).toContain('workqueue_depth{name="paymaster"} 0');
  expect(body).toMatch(/workqueue_adds_total\{name="paymaster"\} [1-9]/);
});

test('stopping twice, and before the start is done, ends cleanly', async () => {
  world = await startWorld();
  await world.apply(aPaymaster());
  await Promise.all([world.operator.stop(), world.operator.stop()]);
  const pending = world.time.pending();
  await world.settle();
  expect(pending).toBe(0);
  expect(world.operator.ready()).toBe(false);
});
