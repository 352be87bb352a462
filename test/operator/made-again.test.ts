import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { aLimit, aPaymaster, aPolicy } from '../build/resources.js';
import { startWorld, type World } from './world.js';
import { aReplica, keyHash } from './tenants.js';

// A tenant deletes objects and recreates them under the same names, to get back a rotated key or to count from zero.

let world: World;
beforeEach(async () => {
  world = await startWorld();
});
afterEach(() => world.close());

const served = async () => (await world.config('shop')) !== undefined;
const gone = async () => !(await served());

describe('a Paymaster that is recreated', () => {
  test('does not accept its rotated key, and goes on with the last one', async () => {
    await world.apply(aPaymaster());
    await world.until('it is served', served);
    await world.apply(aPaymaster({ keyGeneration: 2 }));
    const { view, seen } = await aReplica(world);
    await world.until('the key is rotated', () => view.find(keyHash(2)) !== undefined);
    await world.remove('Paymaster', 'shop');
    await world.until('it is gone', gone);
    expect(view.find(keyHash(2))).toBeUndefined();
    const deletion = seen.findLast(({ state }) => state === 'deleted');

    await world.apply(aPaymaster());
    await world.until('it is served again', () => view.find(keyHash(2)) !== undefined);
    expect(view.find(keyHash(1))).toBeUndefined();
    expect(view.find(keyHash(2))?.configGeneration).toBeGreaterThan(deletion?.generation ?? Infinity);
    expect((await world.get('Paymaster', 'shop')).status?.keyGeneration).toBe(2);
  });

  test('can be rotated as usual, and one that was never rotated has its first key', async () => {
    const { view } = await aReplica(world);
    await world.apply(aPaymaster());
    await world.until('it is served', () => view.find(keyHash(1)) !== undefined);
    await world.remove('Paymaster', 'shop');
    await world.until('it is gone', gone);
    await world.apply(aPaymaster());
    await world.until('it is served again', () => view.find(keyHash(1)) !== undefined);
    await world.apply(aPaymaster({ keyGeneration: 2 }));
    await world.until('the key is rotated', () => view.find(keyHash(2)) !== undefined);
    expect(view.find(keyHash(1))).toBeUndefined();
  });
});

describe('a limit that is recreated', () => {
  const startMs = async () => (await world.config('shop'))?.limits[0]?.startMs;

  beforeEach(async () => {
    await world.apply(aPaymaster(), aPolicy());
    await world.until('it counts', async () => (await startMs()) !== undefined);
  });

  test.each([
    { name: 'alone', kinds: ['PaymasterPolicy'] as const },
    { name: 'with its Paymaster', kinds: ['PaymasterPolicy', 'Paymaster'] as const },
  ])('$name goes on in its window', async ({ kinds }) => {
    const start = await startMs();
    for (const kind of kinds) await world.remove(kind, kind === 'Paymaster' ? 'shop' : 'shop-limit');
    await world.until('it is gone', async () => (await startMs()) === undefined);
    world.time.advance(3_600_000);
    const startTime = new Date(world.time.clock.now()).toISOString();
    await world.apply(aPaymaster(), aPolicy({ spendingLimit: { ...aLimit, startTime } }));
    await world.until('it counts again', async () => (await startMs()) !== undefined);
    await world.settle();
    expect(await startMs()).toBe(start);
  });

  test('counts from zero after its window, as the old one would have', async () => {
    const start = (await startMs()) ?? 0;
    await world.remove('PaymasterPolicy', 'shop-limit');
    await world.until('it is gone', async () => (await startMs()) === undefined);
    world.time.advance(25 * 3_600_000);
    await world.apply(aPolicy());
    await world.until('it counts again', async () => (await startMs()) !== undefined);
    expect(await startMs()).toBeGreaterThanOrEqual(start + 25 * 3_600_000);
  });
});
