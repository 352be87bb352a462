import { beforeEach, describe, expect, test } from '@jest/globals';
import { maxTracked } from '../../core/notifications/compare.js';
import { eventNames } from '../../core/resources/notification.js';
import type { EpochMs } from '../../core/units/time.js';
import type { KeptTexts } from '../../core/usage/kept-texts.js';
import { createStates, type States } from '../../server/dashboard/notifications/sender.js';

type Views = {
  readonly one: KeptTexts;
  readonly other: KeptTexts;
  readonly clock: { now(): EpochMs; advance(ms: number): void };
};

/** `open` gives two views of the same store, as two replicas have them, and its clock. */
export function describeNotificationStates(name: string, open: () => Promise<Views>): void {
  describe(`who tells whom, and what was told, in ${name}`, () => {
    let one: ReturnType<typeof createStates>;
    let other: ReturnType<typeof createStates>;
    let clock: Views['clock'];
    beforeEach(async () => {
      const views = await open();
      [one, other, clock] = [createStates(views.one), createStates(views.other), views.clock];
    });

    test('one process leads, for as long as it says so in time, and then the next', async () => {
      const asked = [one.lead('a', clock.now(), 100), other.lead('b', clock.now(), 100)];
      const [first, second] = await Promise.all(asked);
      expect(first).toBe(!second);
      const [leader, follower] = first === true ? (['a', 'b'] as const) : (['b', 'a'] as const);
      clock.advance(60);
      expect(await one.lead(leader, clock.now(), 100)).toBe(true);
      clock.advance(60);
      expect(await other.lead(follower, clock.now(), 100)).toBe(false);
      clock.advance(60);
      expect(await other.lead(follower, clock.now(), 100)).toBe(true);
      expect(await one.lead(leader, clock.now(), 100)).toBe(false);
    });

    test('what one has written the other reads, however much it is; nothing was told to whom it does not name', async () => {
      const at = clock.now();
      const entries = Object.fromEntries(
        Array.from({ length: maxTracked + 1 }, (_, i) => [
          `policies/${i}`,
          { isOpen: true, at, title: 'é"\\'.repeat(25) },
        ]),
      );
      const told = Object.fromEntries(eventNames.map((event) => [event, entries]));
      const failing = { since: at, detail: 'away', tries: 3, at };
      const states: States = Object.fromEntries(
        ['a', 'b', 'c', 'd', 'e'].map((each) => [each, { told, failing }]),
      );
      await one.write('team-a', states, at);
      expect(await other.read('team-a')).toEqual(states);
      await other.write('team-a', {}, at);
      expect(await one.read('team-a')).toEqual({});
      expect(await one.read('team-b')).toEqual({});
    });
  });
}
