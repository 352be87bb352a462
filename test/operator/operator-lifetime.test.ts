import { afterEach, describe, expect, test } from '@jest/globals';
import { createMetrics } from '../../adapters/metrics/prometheus.js';
import { aPaymaster } from '../build/resources.js';
import { isReady, startWorld } from './world.js';
import type { World } from './world.js';

let world: World;
afterEach(() => world.close());

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
    await world.until('the paymaster is ready', isReady(world));
  });

  test('an operator that lost it stops, reports that once, and writes nothing further', async () => {
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
    // Another operator may lead as soon as the lease ran out, before this one is notified.
    mayWrite = false;
    await world.apply(aPaymaster());
    await world.settle();
    expect(await world.config('shop')).toBeUndefined();
    lost.resolve();
    await world.settle();
    expect(told).toBe(1);
    expect(world.operator.ready()).toBe(false);
  });

  test('an operator that lost it in the middle of a reconcile no longer writes a connection secret', async () => {
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

test('an operator that is stopped while its store does not answer ends its start too', async () => {
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
  await world.until('the paymaster is ready', isReady(world));
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
