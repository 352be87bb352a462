import { describe, expect, test } from '@jest/globals';
import type { EpochMs } from '../../core/units/time.js';
import { createKeyBatches } from '../../operator/key-batches.js';
import { createPlatformView } from '../../operator/facts/platform-view.js';
import { unknownProfile, type Reachability } from '../../operator/facts/facts.js';
import { settle, type Steady } from '../../operator/facts/steady.js';
import { createVirtualTime } from './virtual-time.js';

describe('a steady fact', () => {
  const judge = { isSame: (a: string, b: string) => a === b, isGood: (value: string) => value === 'good' };
  const after = (...seen: readonly (readonly [number, string])[]): string =>
    seen.reduce<Steady<string>>(
      (steady, [seconds, value]) => settle(steady, value, (seconds * 1000) as EpochMs, judge),
      { shown: 'good' },
    ).shown;

  test.each<{ name: string; seen: readonly (readonly [number, string])[]; shown: string }>([
    { name: 'stays good through a short trouble', seen: [[0, 'bad'], [59, 'bad'], [60, 'good'], [90, 'bad']], shown: 'good' }, // prettier-ignore
    { name: 'is bad after a minute', seen: [[0, 'bad'], [60, 'bad']], shown: 'bad' }, // prettier-ignore
    { name: 'is bad after a minute of several troubles', seen: [[0, 'bad'], [30, 'worse'], [60, 'worse']], shown: 'worse' }, // prettier-ignore
    { name: 'is bad for another half a minute', seen: [[0, 'bad'], [60, 'bad'], [61, 'good'], [90, 'good']], shown: 'bad' }, // prettier-ignore
    { name: 'is good again after half a minute', seen: [[0, 'bad'], [60, 'bad'], [61, 'good'], [91, 'good']], shown: 'good' }, // prettier-ignore
  ])('$name', ({ seen, shown }) => {
    expect(after(...seen)).toBe(shown);
  });
});

test('with ten thousand Paymasters a node outage of 30 s wakes none, and a longer one wakes 50 a second', () => {
  const time = createVirtualTime();
  const woken: number[] = [];
  const state: { reachability: Reachability } = { reachability: 'Reachable' };
  const keys = Array.from({ length: 10_000 }, (_, index) => `acme/p${index}`);
  const batches = createKeyBatches({ timers: time.timers, handle: (some) => void woken.push(some.length) });
  const view = createPlatformView({
    facts: { profile: () => unknownProfile, reachability: () => state.reachability },
    usage: undefined,
    unpriced: () => '',
    conditions: () => undefined,
    clock: time.clock,
    timers: time.timers,
    onChange: () => batches.add(keys),
  });
  const becomes = (reachability: Reachability) => {
    state.reachability = reachability;
    view.look(1);
  };
  becomes('Unreachable');
  time.advance(30_000);
  becomes('Reachable');
  time.advance(600_000);
  expect(woken).toEqual([]);

  becomes('Unreachable');
  time.advance(60_000);
  expect(woken).toEqual([50]);
  time.advance(100_000);
  expect(woken).toHaveLength(101);
  expect(Math.max(...woken)).toBe(50);
  time.advance(200_000);
  expect(woken.reduce((sum, some) => sum + some, 0)).toBe(10_000);
  view.stop();
  batches.stop();
});
