import { describe, expect, test } from '@jest/globals';
import { DomainError } from '../../core/errors.js';
import { silentLogger } from '../../core/log.js';
import {
  type Controller,
  createController,
  done,
  type Outcome,
  type Reconcile,
} from '../../operator/runtime/controller.js';
import { createRateLimiter } from '../../operator/runtime/rate-limiter.js';
import { createWorkQueue, type WorkQueue } from '../../operator/runtime/work-queue.js';
import { createVirtualTime, turn, type VirtualTime } from './virtual-time.js';

type World = {
  readonly time: VirtualTime;
  readonly queue: WorkQueue;
  readonly controller: Controller;
  readonly outcomes: Outcome[];
};

function aController(reconcile: Reconcile, workers = 2): World {
  const time = createVirtualTime();
  const outcomes: Outcome[] = [];
  const queue = createWorkQueue({
    ...time,
    limiter: createRateLimiter(time.clock),
    metrics: { added: () => {}, taken: () => {}, finished: () => {}, retried: () => {} },
  });
  const controller = createController({
    queue,
    reconcile,
    workers,
    clock: time.clock,
    log: silentLogger,
    metrics: { started: () => {}, finished: (outcome) => outcomes.push(outcome) },
  });
  controller.start();
  return { time, queue, controller, outcomes };
}

describe('a reconcile', () => {
  test('that fails is retried, and does not delay the others', async () => {
    const failures = new Map([['poison', 3]]);
    const finished: string[] = [];
    const { queue, time, controller, outcomes } = aController((key) => {
      const left = failures.get(key) ?? 0;
      if (left > 0) {
        failures.set(key, left - 1);
        throw new Error('broken');
      }
      finished.push(key);
      return Promise.resolve(done);
    });
    for (const key of ['poison', 'a', 'b']) queue.add(key);
    await turn();
    expect(finished).toEqual(['a', 'b']);
    for (let round = 0; round < 5; round += 1) {
      time.advance(100);
      await turn();
    }
    expect(finished).toEqual(['a', 'b', 'poison']);
    expect(outcomes.filter((outcome) => outcome === 'error')).toHaveLength(3);
    expect(queue.retries('poison')).toBe(0);
    await controller.stop();
  });

  test('that lost a race of writes runs again', async () => {
    let tries = 0;
    const { queue, time, controller, outcomes } = aController(() => {
      tries += 1;
      if (tries === 1) throw new DomainError('WRITE_CONFLICT', 'somebody wrote first');
      return Promise.resolve(done);
    });
    queue.add('a');
    await turn();
    time.advance(10);
    await turn();
    expect(outcomes).toEqual(['requeue', 'success']);
    await controller.stop();
  });

  test('may plan its next visit', async () => {
    const at: number[] = [];
    const { queue, time, controller } = aController(() => {
      at.push(time.clock.now());
      return Promise.resolve({ requeueAfterMs: 1000 });
    });
    queue.add('a');
    await turn();
    time.advance(999);
    await turn();
    expect(at).toHaveLength(1);
    time.advance(1);
    await turn();
    expect(at).toHaveLength(2);
    await controller.stop();
  });
});

test('a controller works on several keys at once and never on one key twice', async () => {
  const active = new Map<string, number>();
  let most = 0;
  const releases: (() => void)[] = [];
  const { queue, controller } = aController(async (key) => {
    active.set(key, (active.get(key) ?? 0) + 1);
    expect(active.get(key)).toBe(1);
    most = Math.max(most, active.size);
    await new Promise<void>((resolve) => releases.push(resolve));
    active.delete(key);
    return done;
  }, 3);
  for (const key of ['a', 'b', 'c', 'd']) queue.add(key);
  await turn();
  for (const key of ['a', 'b', 'c', 'd']) queue.add(key);
  expect(most).toBe(3);
  for (let round = 0; round < 8; round += 1) {
    releases.shift()?.();
    await turn();
  }
  expect(queue.isIdle()).toBe(true);
  await controller.stop();
});

test('stopping waits for running work, and may be done twice and before the start', async () => {
  let release = (): void => {};
  const { queue, controller } = aController(async () => {
    await new Promise<void>((resolve) => (release = resolve));
    return done;
  });
  queue.add('a');
  await turn();
  let isStopped = false;
  const stopped = controller.stop().then(() => (isStopped = true));
  await turn();
  expect(isStopped).toBe(false);
  release();
  await stopped;
  await controller.stop();

  const time = createVirtualTime();
  const never = createWorkQueue({
    ...time,
    limiter: createRateLimiter(time.clock),
    metrics: { added: () => {}, taken: () => {}, finished: () => {}, retried: () => {} },
  });
  never.add('a');
  await createController({
    queue: never,
    reconcile: () => Promise.resolve(done),
    workers: 1,
    clock: time.clock,
    log: silentLogger,
    metrics: { started: () => {}, finished: () => {} },
  }).stop();
});
