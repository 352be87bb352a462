import { afterEach, describe, expect, test } from '@jest/globals';
import { DomainError } from '../../core/errors.js';
import { aLimit, aPaymaster, aPolicy } from '../build/resources.js';
import { isReady, startWorld } from './world.js';
import type { World } from './world.js';

let world: World;
afterEach(() => world.close());

describe('the cycle of a limit', () => {
  const cycle = async (): Promise<unknown> =>
    (await world.get('PaymasterPolicy', 'shop-limit')).status?.cycle?.startTime;

  test('goes on over restarts and pauses, and restarts when the threshold changes', async () => {
    world = await startWorld();
    await world.apply(aPaymaster(), aPolicy());
    await world.until('the paymaster is ready', isReady(world));
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
    await world.until('the paymaster is ready', isReady(world));
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
    await world.until('the paymaster is ready', isReady(world));
    await world.settle();
    expect((await world.config('shop'))?.limits[0]?.startMs).toBe(started);
    expect(Date.parse(String(await cycle()))).toBe(started);
  });
});
