import { expect, test } from '@jest/globals';
import { TurnBatch } from '../../../adapters/usage/redis/turn-batch.js';

/** Answers `a` with `A`, and records which requests came together. */
function shouting() {
  const calls: (readonly string[])[] = [];
  const batch = new TurnBatch(async (requests: readonly string[]) => {
    calls.push(requests);
    if (requests.includes('bad')) throw new Error('refused');
    return requests.map((request) => request.toUpperCase());
  });
  return { calls, batch };
}

test('what is asked in one turn goes together, and each gets the answer to its own', async () => {
  const { calls, batch } = shouting();
  const first = await Promise.all(['a', 'b', 'c'].map((request) => batch.add(request)));
  const second = await batch.add('d');
  expect(first).toEqual(['A', 'B', 'C']);
  expect(second).toBe('D');
  expect(calls).toEqual([['a', 'b', 'c'], ['d']]);
});

test('a turn with many requests sends sixteen at a time, in their order, the last ones at its end', async () => {
  const { calls, batch } = shouting();
  const asked = Array.from({ length: 35 }, (_, index) => `r${index}`);
  const answers = await Promise.all(asked.map((request) => batch.add(request)));
  expect(answers).toEqual(asked.map((request) => request.toUpperCase()));
  expect(calls.map(({ length }) => length)).toEqual([16, 16, 3]);
  expect(calls.flat()).toEqual(asked);
});

test('a call that fails fails for its own requests only', async () => {
  const { batch } = shouting();
  const failed = await Promise.allSettled([batch.add('bad'), batch.add('a')]);
  expect(failed.map(({ status }) => status)).toEqual(['rejected', 'rejected']);
  await expect(batch.add('b')).resolves.toBe('B');
});
