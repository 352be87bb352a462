import { expect, test } from '@jest/globals';
import { DomainError } from '../../../core/errors.js';
import { silentLogger } from '../../../core/log.js';
import type { Fence } from '../../../core/usage/reserve-request.js';
import { createSeenGenerations } from '../../../server/view/seen-generations.js';

const chainId = 31337;

/** A store that records the generations it is given, and fails once on request. */
function aStore() {
  const noted = new Map<string, number>();
  let isDown = false;
  let largest = 0;
  const seen = createSeenGenerations({
    usage: {
      noteGenerations: (chain, fences: readonly Fence[]) => {
        if (isDown) return Promise.reject(new DomainError('UNAVAILABLE', 'down'));
        largest = Math.max(largest, fences.length);
        for (const { id, generation } of fences) noted.set(`${chain} ${id}`, generation);
        return Promise.resolve();
      },
    },
    log: silentLogger,
  });
  return { seen, noted, largest: () => largest, fail: (down: boolean) => (isDown = down) };
}

test('the newest generation of each id is written', async () => {
  const { seen, noted } = aStore();
  seen.note({ chainId, id: 'a', generation: 2 });
  seen.note({ chainId, id: 'a', generation: 1 });
  seen.note({ chainId: 5, id: 'a', generation: 7 });
  await seen.flush();
  seen.stop();
  expect(noted).toEqual(
    new Map([
      [`${chainId} a`, 2],
      ['5 a', 7],
    ]),
  );
});

test('generations that a failed store was given are written again', async () => {
  const { seen, noted, fail } = aStore();
  fail(true);
  seen.note({ chainId, id: 'a', generation: 1 });
  await seen.flush();
  expect(noted.size).toBe(0);
  fail(false);
  await seen.flush();
  seen.stop();
  expect(noted).toEqual(new Map([[`${chainId} a`, 1]]));
});

test('many are written in calls of bounded size', async () => {
  const { seen, noted, largest } = aStore();
  for (let n = 0; n < 2_500; n += 1) seen.note({ chainId, id: `p${n}`, generation: n });
  await seen.flush();
  seen.stop();
  expect(noted.size).toBe(2_500);
  expect(largest()).toBe(1_000);
});
