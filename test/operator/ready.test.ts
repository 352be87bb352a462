import { afterEach, describe, expect, test } from '@jest/globals';
import { createMemoryEpochMirror, type UsageEpoch } from '../../core/usage/epoch.js';
import { parseAddress } from '../../core/units/address.js';
import type { EpochMs } from '../../core/units/time.js';
import { aPaymaster, aSmartContract } from '../build/resources.js';
import { signerAddress } from './scripted-chain.js';
import { conditionOf, isReady, startWorld, type World } from './world.js';

const other = parseAddress(`0x${'77'.repeat(20)}`);
const kept: UsageEpoch = { id: 'first', since: 0 as EpochMs, sequence: 0, longestExpiryMs: 7_200_000 };

let world: World;
afterEach(() => world.close());

const ready = async (): Promise<string> => conditionOf(await world.get('Paymaster', 'shop'), 'Ready');
const serving = async (): Promise<string> => conditionOf(await world.get('Paymaster', 'shop'), 'Serving');
const version = async (): Promise<string> => (await world.get('Paymaster', 'shop')).metadata.resourceVersion;

async function startReady(deps: Parameters<World['create']>[0] = {}): Promise<void> {
  world = await startWorld({ deps });
  await world.apply(aPaymaster());
  await world.until('the paymaster is ready', isReady(world));
  await world.settle();
}

async function seconds(what: string, holds: () => Promise<boolean>): Promise<number> {
  const began = world.time.clock.now();
  await world.until(what, holds);
  return (world.time.clock.now() - began) / 1000;
}

describe('Ready of a Paymaster follows its platform when a trouble lasts', () => {
  test('a node that is away: the Chain reports it at once, the Paymaster after a minute, and is ready again after half a minute', async () => {
    await startReady();
    world.chain.isReachable = false;
    await world.until(
      'the chain says so',
      async () => conditionOf(await world.get('Chain', 'dev'), 'Ready') === 'False/ChainNotReady',
    );
    const away = await seconds(
      'the paymaster follows',
      async () => (await ready()) === 'False/ChainNotReady',
    );
    expect(away).toBeGreaterThan(55);
    expect(away).toBeLessThan(70);
    expect(await serving()).toBe('False/NotReady');
    world.chain.isReachable = true;
    await world.until(
      'the chain is back',
      async () => conditionOf(await world.get('Chain', 'dev'), 'Ready') === 'True/Ready',
    );
    const back = await seconds('the paymaster is back', isReady(world));
    expect(back).toBeGreaterThan(25);
    expect(back).toBeLessThan(40);
  });

  test('a node that is away for half a minute leaves the status of a Paymaster unwritten', async () => {
    await startReady();
    const before = await version();
    world.chain.isReachable = false;
    await world.until(
      'the chain says so',
      async () => conditionOf(await world.get('Chain', 'dev'), 'Ready') === 'False/ChainNotReady',
    );
    for (let step = 0; step < 300; step += 1) {
      world.time.advance(100);
      await new Promise((resolve) => setImmediate(resolve));
    }
    world.chain.isReachable = true;
    await world.settle();
    await world.settle();
    expect(await version()).toBe(before);
  });

  test('a signer that the contract no longer accepts', async () => {
    await startReady();
    world.chain.signer = other;
    await world.until('the paymaster follows', async () => (await ready()) === 'False/SignerNotAuthorized');
    world.chain.signer = signerAddress;
    await world.until('the paymaster is ready', isReady(world));
  });

  test('a usage store that has lost its data', async () => {
    const epochs = createMemoryEpochMirror();
    await epochs.put(31337, kept, undefined);
    await startReady({ usageEpochs: epochs });
    await epochs.put(31337, { ...kept, lostAt: 1 as EpochMs }, kept);
    const lost = await seconds(
      'the paymaster follows',
      async () => (await ready()) === 'False/UsageStoreLost',
    );
    expect(lost).toBeGreaterThan(60);
    expect(lost).toBeLessThan(80);
  });

  test.each([
    { trouble: 'UsageStoreLost', node: 'answers' },
    { trouble: 'ChainNotReady', node: 'is away' },
  ])('$trouble stays over a restart, and no status is written twice', async ({ trouble, node }) => {
    const epochs = createMemoryEpochMirror();
    await epochs.put(31337, kept, undefined);
    await startReady({ usageEpochs: epochs });
    if (node === 'is away') world.chain.isReachable = false;
    else await epochs.put(31337, { ...kept, lostAt: 1 as EpochMs }, kept);
    await world.until('the paymaster follows', async () => (await ready()) === `False/${trouble}`);
    await world.settle();
    const before = await version();
    await world.restart();
    await world.settle();
    await world.settle();
    expect(await ready()).toBe(`False/${trouble}`);
    expect(await version()).toBe(before);
    await world.operator.stop();
    world.chain.isReachable = true;
    const [copy] = (await epochs.all()).values();
    await epochs.put(31337, { ...kept, id: 'second' }, copy);
    await world.restart();
    await world.until('the paymaster is ready again', isReady(world));
  });
});

test('a connection Secret with another owner, at once', async () => {
  world = await startWorld();
  world.secrets.set('acme/keys', { owner: 'somebody', data: {} });
  await world.apply(aPaymaster({ writeConnectionSecretToRef: { name: 'keys' } }));
  await world.until('it is not ready', async () => (await ready()) === 'False/SecretNotWritten');
  world.secrets.delete('acme/keys');
  const back = await seconds('the paymaster is ready', isReady(world));
  expect(back).toBeLessThanOrEqual(25);
});

test('an empty deposit leaves a Paymaster ready and reports that it does not serve', async () => {
  await startReady();
  world.chain.deposits.set('0x00000000000000000000000000000000000000f1', 0n);
  await world.until('it is seen', async () => (await serving()) === 'False/DepositEmpty');
  expect(await ready()).toBe('True/Ready');
  world.chain.deposits.clear();
  await world.until('it serves', async () => (await serving()) === 'True/Serving');
});

test('a SmartContract without code is not ready itself and leaves its Paymaster ready', async () => {
  await startReady();
  const contract = aSmartContract();
  world.chain.withoutCode.add(contract.spec.address.toLowerCase());
  await world.apply(contract);
  await world.until(
    'the contract is not ready',
    async () =>
      conditionOf(await world.get('SmartContract', contract.metadata.name), 'Ready') === 'False/NoCode',
  );
  expect(await ready()).toBe('True/Ready');
});

test('an Organisation whose namespace is gone for a minute is not ready', async () => {
  let namespace = 'granted' as 'granted' | 'no-namespace';
  const tenantAccess = {
    grant: async () => namespace,
    revoke: async () => undefined,
    granted: async () => [],
  };
  await startReady({ tenantAccess });
  const organisation = async () => conditionOf(await world.get('Organisation', 'acme'), 'Ready');
  await world.until('it is ready', async () => (await organisation()) === 'True/Ready');
  namespace = 'no-namespace';
  await world.restart();
  await world.until('it is not ready', async () => (await organisation()) === 'False/NoAccess');
  namespace = 'granted';
  const access = async () => conditionOf(await world.get('Organisation', 'acme'), 'DashboardAccess');
  await world.until('access is there', async () => (await access()) === 'True/Granted');
  expect(await organisation()).toBe('False/NoAccess');
  const back = await seconds('it is ready', async () => (await organisation()) === 'True/Ready');
  expect(back).toBeGreaterThanOrEqual(29);
  expect(back).toBeLessThanOrEqual(31);
});

test('an Organisation whose namespace loses its label says so within ten minutes, though nothing of ours has changed', async () => {
  let outcome = 'granted' as 'granted' | 'no-label';
  await startReady({
    tenantAccess: {
      grant: async () => outcome,
      revoke: async () => undefined,
      granted: async () => ['acme'],
    },
  });
  const access = async () => conditionOf(await world.get('Organisation', 'acme'), 'DashboardAccess');
  await world.until('it has access', async () => (await access()) === 'True/Granted');
  outcome = 'no-label';
  const after = await seconds('it is said', async () => (await access()) === 'False/NamespaceNotLabelled');
  expect(after).toBeLessThanOrEqual(600);
});

test('the first facts about many deposits reach the statuses at a bounded rate', async () => {
  const many = 120;
  world = await startWorld();
  const names = Array.from({ length: many }, (_, index) => `shop-${index}`);
  world.chain.isReachable = false;
  await world.apply(...names.map((name) => aPaymaster({ meta: { name }, name })));
  await world.settle();
  const known = async (): Promise<number> => {
    const all = await world.resources.list('Paymaster');
    return all.filter((each) => conditionOf(each, 'Funded') === 'True/Ok').length;
  };
  expect(await known()).toBe(0);
  world.chain.isReachable = true;
  await world.until('the first are known', async () => (await known()) > 0);
  const first = await known();
  expect(first).toBeLessThanOrEqual(50);
  const rest = await seconds('all are known', async () => (await known()) === many);
  expect(rest).toBeGreaterThanOrEqual(1.9);
});
