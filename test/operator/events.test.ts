import { afterEach, describe, expect, test } from '@jest/globals';
import type { ResourceEvent } from '../../core/resources/kubernetes-events.js';
import type { AnyResource } from '../../core/resources/kinds.js';
import { aChain, aPaymaster, aPolicy, aSmartContract, anOrganisation } from '../build/resources.js';
import { conditionOf, startWorld, type World } from './world.js';

// What `kubectl events` shows for objects whose parents arrive after them, as with `kubectl apply -f` of a folder.

let world: World;
let told: ResourceEvent[];
afterEach(() => world.close());

async function start(): Promise<void> {
  told = [];
  world = await startWorld({ isEmpty: true, deps: { events: { record: (event) => void told.push(event) } } });
}

const of = (kind: AnyResource['kind']): string[] =>
  told
    .filter(({ object }) => object.kind === kind)
    .map(({ type, reason }) => `${type} ${reason}`)
    .toSorted();
const conditions = async (): Promise<string> =>
  conditionOf(await world.get('SmartContract', 'shop-nft'), 'ResolvedRefs');

describe('a reference to a missing object', () => {
  test('is a condition at once and not an event while its target may still arrive', async () => {
    await start();
    await world.apply(aSmartContract(), aPolicy());
    await world.until(
      'the condition says so',
      async () => (await conditions()) === 'False/PaymasterNotFound',
    );
    expect(told).toEqual([]);
  });

  test('never causes a warning when everything arrives in the order of the file names', async () => {
    await start();
    for (const object of [aSmartContract(), aPolicy(), aPaymaster(), aChain(), anOrganisation()]) {
      await world.apply(object);
      world.time.advance(500);
    }
    await world.until('the contract is ready', async () => of('SmartContract').includes('Normal Ready'));
    await world.settle();
    for (const kind of ['SmartContract', 'PaymasterPolicy'] as const)
      expect({ kind, told: of(kind) }).toEqual({ kind, told: ['Normal Ready'] });
    expect(
      of('Paymaster').filter((each) => /NotResolved|NotFound|NoOrganisation|NotAccepted/.test(each)),
    ).toEqual([]);
  });

  test('is one warning when it is still broken after the grace period', async () => {
    await start();
    await world.apply(aSmartContract());
    await world.until('it is told', () => told.length > 0);
    await world.settle();
    expect(of('SmartContract')).toEqual(['Warning NotResolved', 'Warning PaymasterNotFound']);
  });

  test('that caused a warning causes an event when it is fixed', async () => {
    await start();
    await world.apply(anOrganisation(), aChain(), aSmartContract());
    await world.until('it is told', () => of('SmartContract').length === 2);
    await world.apply(aPaymaster());
    await world.settle();
    expect(of('SmartContract')).toEqual([
      'Normal Ready',
      'Normal ResolvedRefs',
      'Warning NotResolved',
      'Warning PaymasterNotFound',
    ]);
  });

  test('causes no event for an object that is deleted by then', async () => {
    await start();
    await world.apply(aSmartContract());
    await world.until('the condition is set', async () => (await conditions()) === 'False/PaymasterNotFound');
    await world.remove('SmartContract', 'shop-nft');
    await world.settle();
    expect(told).toEqual([]);
  });

  test('causes no event from an operator that has stopped', async () => {
    await start();
    await world.apply(aSmartContract());
    await world.until('the condition is set', async () => (await conditions()) === 'False/PaymasterNotFound');
    await world.operator.stop();
    await world.settle();
    expect(told).toEqual([]);
  });
});

test('children of a deleted Paymaster report that, in a condition and one event each', async () => {
  await start();
  await world.apply(anOrganisation(), aChain(), aPaymaster(), aSmartContract(), aPolicy());
  await world.until('all are ready', async () => {
    const [contract] = await world.resources.list('SmartContract');
    const [policy] = await world.resources.list('PaymasterPolicy');
    return [contract!, policy!].every((each) => conditionOf(each, 'Ready') === 'True/Ready');
  });
  told.length = 0;
  await world.remove('Paymaster', 'shop');
  await world.until('both are told', () => told.length >= 4);
  await world.settle();
  for (const kind of ['SmartContract', 'PaymasterPolicy'] as const) {
    const [child] = await world.resources.list(kind);
    expect(conditionOf(child!, 'ResolvedRefs')).toBe('False/PaymasterDeleted');
    expect(conditionOf(child!, 'Ready')).toBe('False/NotResolved');
    expect(of(kind)).toEqual(['Warning NotResolved', 'Warning PaymasterDeleted']);
  }
});

test('a mistake inside an object is a warning at once', async () => {
  await start();
  await world.apply(anOrganisation(), aChain(), aPaymaster());
  await world.apply(aSmartContract({ whitelistedMethods: ['noSuchMethod'] }));
  const before = world.time.clock.now();
  await world.until('it is told', () => of('SmartContract').includes('Warning Invalid'));
  expect(world.time.clock.now() - before).toBeLessThan(5_000);
});
