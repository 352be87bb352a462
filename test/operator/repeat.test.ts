import { expect, test } from '@jest/globals';
import { createRepetition } from '../../operator/runtime/repeat.js';
import { createVirtualTime, turn } from './virtual-time.js';

/** Work that ends on command and is to be repeated after as many milliseconds as the command says. */
function someWork() {
  const time = createVirtualTime();
  const running: PromiseWithResolvers<number>[] = [];
  const repetition = createRepetition(time.timers, () => {
    const work = Promise.withResolvers<number>();
    running.push(work);
    return work.promise;
  });
  const end = async (nextMs: number): Promise<void> => {
    running.at(-1)?.resolve(nextMs);
    await turn();
  };
  return { time, repetition, runs: () => running.length, end };
}

test('work is repeated after the time that it asks for, and never runs twice at once', async () => {
  const { time, repetition, runs, end } = someWork();
  repetition.start(10);
  repetition.start(0);
  time.advance(9);
  expect(runs()).toBe(0);
  time.advance(1);
  expect(runs()).toBe(1);
  time.advance(1_000);
  expect(runs()).toBe(1);
  await end(50);
  time.advance(49);
  expect(runs()).toBe(1);
  time.advance(1);
  expect(runs()).toBe(2);
});

test('work that is asked for sooner runs once more, after the present run, and then in its own time again', async () => {
  const { time, repetition, runs, end } = someWork();
  repetition.soon(1);
  time.advance(10);
  expect(runs()).toBe(0);
  repetition.start(0);
  time.advance(0);
  repetition.soon(5);
  repetition.soon(1);
  await end(1_000);
  time.advance(4);
  expect(runs()).toBe(1);
  time.advance(1);
  expect(runs()).toBe(2);
  await end(1_000);
  time.advance(100);
  repetition.soon(5);
  time.advance(5);
  expect(runs()).toBe(3);
  await end(1_000);
  time.advance(999);
  expect(runs()).toBe(3);
});

test('a stop waits for the work that runs, and nothing runs afterwards', async () => {
  const { time, repetition, runs, end } = someWork();
  repetition.start(0);
  time.advance(0);
  let isStopped = false;
  const stopping = repetition.stop().then(() => (isStopped = true));
  await turn();
  expect({ isStopped, knows: repetition.isStopped() }).toEqual({ isStopped: false, knows: true });
  await end(1);
  await Promise.all([stopping, repetition.stop()]);
  time.advance(1_000);
  expect({ runs: runs(), waiting: time.pending() }).toEqual({ runs: 1, waiting: 0 });
});
