import { expect, test } from '@jest/globals';
import type { EpochMs } from '../../../core/units/time.js';
import { createRateLimiter } from '../../../server/http/rate-limit.js';
import { growthOf, mostGrowth } from '../../support/work.js';

const limit = { requests: 3, perSeconds: 6 };

function aLimiter() {
  let now = 1_000;
  const limiter = createRateLimiter({ clock: { now: () => now as EpochMs } });
  return { take: (name = 'a') => limiter.take(name, limit), advance: (ms: number) => (now += ms) };
}

test('a burst passes, then the answer is the seconds to wait', () => {
  const { take } = aLimiter();
  expect([take(), take(), take(), take()]).toEqual([0, 0, 0, 2]);
});

test('tokens come back one by one, never more than the burst', () => {
  const { take, advance } = aLimiter();
  for (let i = 0; i < 3; i += 1) take();
  advance(2_000);
  expect([take(), take()]).toEqual([0, 2]);
  advance(3_600_000);
  expect([take(), take(), take(), take()]).toEqual([0, 0, 0, 2]);
});

test('names do not share a bucket', () => {
  const { take } = aLimiter();
  for (let i = 0; i < 3; i += 1) take('a');
  expect([take('a'), take('b')]).toEqual([2, 0]);
});

test('a clock that steps back gives nothing away and locks nobody out', () => {
  const { take, advance } = aLimiter();
  for (let i = 0; i < 3; i += 1) take();
  advance(-10_000);
  expect(take()).toBe(2);
  advance(2_000);
  expect(take()).toBe(0);
});

test('a caller among fifty thousand costs no more than one among a thousand', () => {
  const growth = growthOf((size) => {
    const { take } = aLimiter();
    const names = Array.from({ length: size }, (_, index) => `caller ${index}`);
    return () => names.map((name) => take(name));
  }, 6_000);
  expect(growth).toBeLessThan(mostGrowth);
});
