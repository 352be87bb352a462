import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { createRateLimiter } from '../../operator/runtime/rate-limiter.js';
import { createWorkQueue, type QueueMetrics, type WorkQueue } from '../../operator/runtime/work-queue.js';
import { createVirtualTime, turn, type VirtualTime } from './virtual-time.js';

const uncounted: QueueMetrics = { added: () => {}, taken: () => {}, finished: () => {}, retried: () => {} };

function aQueue(): { readonly queue: WorkQueue; readonly time: VirtualTime } {
  const time = createVirtualTime();
  const { clock, timers } = time;
  return {
    queue: createWorkQueue({ clock, timers, limiter: createRateLimiter(clock), metrics: uncounted }),
    time,
  };
}

/** Hands out and finishes everything that is ready now. */
async function workOff(queue: WorkQueue): Promise<string[]> {
  const keys: string[] = [];
  while (queue.size() > 0) {
    const key = await queue.next();
    if (key === undefined) break;
    keys.push(key);
    queue.done(key);
  }
  return keys;
}

describe('a work queue', () => {
  test('hands keys out in the order in which they became ready', async () => {
    const { queue } = aQueue();
    for (const key of ['b', 'a', 'c']) queue.add(key);
    expect(await workOff(queue)).toEqual(['b', 'a', 'c']);
  });

  test('hands out keys that somebody waits for before those of the background lane', async () => {
    const { queue } = aQueue();
    for (const key of ['x', 'y', 'z']) queue.addBehind(key);
    for (const key of ['a', 'b']) queue.add(key);
    expect(await workOff(queue)).toEqual(['a', 'b', 'x', 'y', 'z']);
  });

  test('takes one key in eight from the background lane, however many other keys come', async () => {
    const { queue } = aQueue();
    queue.addBehind('x');
    queue.addBehind('y');
    for (let count = 0; count < 20; count += 1) queue.add(`a${count}`);
    const keys = await workOff(queue);
    expect([keys.indexOf('x'), keys.indexOf('y')]).toEqual([7, 15]);
  });

  test.each<{ readonly name: string; readonly add: (queue: WorkQueue) => void }>([
    {
      name: 'a key of the lane behind that is added in front comes in front',
      add: (queue) => queue.add('y'),
    },
    {
      name: 'a key in front stays there when it is added behind',
      add(queue) {
        queue.add('y');
        queue.addBehind('y');
      },
    },
  ])('$name, once', async ({ add }) => {
    const { queue } = aQueue();
    for (const key of ['x', 'y']) queue.addBehind(key);
    add(queue);
    expect(await workOff(queue)).toEqual(['y', 'x']);
  });

  test('a key that is added to the background lane during its work waits there afterwards', async () => {
    const { queue } = aQueue();
    queue.add('a');
    await queue.next();
    queue.addBehind('a');
    queue.addBehind('x');
    queue.add('b');
    queue.done('a');
    expect(await workOff(queue)).toEqual(['b', 'x', 'a']);
  });

  test('hands out a key once that was added many times before', async () => {
    const { queue } = aQueue();
    for (const key of ['a', 'b', 'a', 'a']) queue.add(key);
    expect(await workOff(queue)).toEqual(['a', 'b']);
  });

  test('hands a key that changed during its work out again, but not before that work is done', async () => {
    const { queue } = aQueue();
    queue.add('a');
    await queue.next();
    queue.add('a');
    queue.add('a');
    expect(queue.size()).toBe(0);
    queue.done('a');
    expect(await workOff(queue)).toEqual(['a']);
  });

  test('gives a key to a worker that waits for one', async () => {
    const { queue } = aQueue();
    const waiting = queue.next();
    queue.add('a');
    expect(await waiting).toBe('a');
  });

  test('keeps the earliest of several delays of a key', async () => {
    const { queue, time } = aQueue();
    queue.addAfter('a', 1000);
    queue.addAfter('a', 100);
    queue.addAfter('a', 5000);
    time.advance(99);
    expect(queue.size()).toBe(0);
    time.advance(1);
    expect(await workOff(queue)).toEqual(['a']);
    time.advance(10_000);
    expect(queue.size()).toBe(0);
  });

  test('ignores done for a key that nobody works on', () => {
    const { queue } = aQueue();
    queue.done('ghost');
    expect(queue.isIdle()).toBe(true);
  });

  test('when stopped takes in nothing, lets waiting workers go, and waits for running work', async () => {
    const { queue, time } = aQueue();
    queue.add('a');
    queue.add('b');
    queue.addAfter('c', 10);
    await queue.next();
    let isStopped = false;
    const stopped = queue.stop().then(() => (isStopped = true));
    queue.add('d');
    time.advance(100);
    expect(await queue.next()).toBeUndefined();
    await turn();
    expect(isStopped).toBe(false);
    queue.add('a');
    queue.done('a');
    await stopped;
    await queue.stop();
    expect(queue.size()).toBe(0);
    expect(time.pending()).toBe(0);
  });
});

describe('waits between tries', () => {
  test('double per key from 5 ms to 1000 s, and start again once it is forgotten', () => {
    const limiter = createRateLimiter(createVirtualTime().clock);
    const waits = Array.from({ length: 30 }, () => limiter.when('a'));
    expect(waits.slice(0, 4)).toEqual([5, 10, 20, 40]);
    expect(waits.at(-1)).toBe(1_000_000);
    expect(limiter.retries('a')).toBe(30);
    limiter.forget('a');
    expect(limiter.when('a')).toBe(5);
  });

  test('stay bounded however often a key fails', () => {
    const limiter = createRateLimiter(createVirtualTime().clock, {
      firstMs: 5,
      maxMs: 1_000_000,
      perSecond: 1_000_000,
      burst: 10_000,
    });
    for (let count = 0; count < 3000; count += 1) limiter.when('a');
    expect(limiter.when('a')).toBe(1_000_000);
  });

  test('over all keys are 10 per second after a burst of 100', () => {
    const time = createVirtualTime();
    const limiter = createRateLimiter(time.clock);
    const waits = Array.from({ length: 120 }, (_, index) => limiter.when(`k${index}`));
    expect(waits.slice(0, 100).every((wait) => wait === 5)).toBe(true);
    expect(waits[100]).toBeCloseTo(100);
    expect(waits[119]).toBeCloseTo(2000);
    time.advance(2000);
    expect(limiter.when('later')).toBeCloseTo(100);
  });
});

type Step = {
  readonly do: 'add' | 'later' | 'retry' | 'take' | 'done' | 'wait';
  readonly key: number;
  readonly ms: number;
};
const steps = fc.array(
  fc.record<Step>({
    do: fc.constantFrom('add', 'later', 'retry', 'take', 'done', 'wait'),
    key: fc.nat(4),
    ms: fc.nat(50),
  }),
  { maxLength: 80 },
);

test('at any interleaving no key is ever worked on twice at once, and none that was added is lost', async () => {
  await fc.assert(
    fc.asyncProperty(steps, async (plan) => {
      const { queue, time } = aQueue();
      const active = new Set<string>();
      // Keys that were added and not handed out since.
      const owed = new Set<string>();
      const take = async (): Promise<void> => {
        if (queue.size() === 0) return;
        const key = await queue.next();
        if (key === undefined) throw new Error('a queue that runs gave no key');
        expect(active.has(key)).toBe(false);
        active.add(key);
        owed.delete(key);
      };
      for (const step of plan) {
        const key = `k${step.key}`;
        if (step.do === 'add' || step.do === 'later' || step.do === 'retry') owed.add(key);
        if (step.do === 'add') queue.add(key);
        if (step.do === 'later') queue.addAfter(key, step.ms);
        if (step.do === 'retry') queue.addRateLimited(key);
        if (step.do === 'take') await take();
        if (step.do === 'done' && active.delete(key)) queue.done(key);
        if (step.do === 'wait') time.advance(step.ms);
      }
      time.advance(2_000_000);
      for (const key of active) queue.done(key);
      active.clear();
      while (queue.size() > 0) {
        await take();
        for (const key of active) queue.done(key);
        active.clear();
      }
      expect([...owed]).toEqual([]);
      expect(queue.isIdle()).toBe(true);
    }),
  );
});
