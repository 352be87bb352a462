import { describe, expect, test } from '@jest/globals';
import type { Reservation } from '../../../core/usage/reservation.js';
import { operationId } from '../../../server/follower/mined.js';
import {
  dueForLook,
  decideNonces,
  decideSpent,
  lookAfterBlocks,
  maxSuspects,
  type Suspect,
} from '../../../server/follower/releaser.js';
import { aMined, aReservation } from './mined-operations.js';

const id = (reservation: Reservation): string => operationId(reservation.key);
const nobody: ReadonlyMap<string, Suspect> = new Map();

describe('a nonce', () => {
  const key = 7n << 64n;
  const reservation = aReservation('a', { nonce: key | 5n });
  test.each([
    { name: 'that comes later is unused', next: key | 4n, isReleased: true },
    { name: 'that is the next one is unused', next: key | 5n, isReleased: true },
    { name: 'that the EntryPoint is past is used', next: key | 6n, isReleased: false },
    { name: 'that cannot be read is taken as used', next: undefined, isReleased: false },
  ])('$name', ({ next, isReleased }) => {
    const { released, spent } = decideNonces([reservation], () => next);
    expect([released, spent]).toEqual(isReleased ? [[reservation], []] : [[], [reservation]]);
  });
});

describe('a reservation with a used nonce and no event', () => {
  const one = aReservation('a');

  /** Decides at each block. Answers the blocks at which it was looked for, and the one at which it was forfeited. */
  function follow(blocks: readonly number[]) {
    let suspects = nobody;
    const looked: number[] = [];
    for (const block of blocks) {
      const due = dueForLook([one], suspects, block);
      if (due.length > 0) looked.push(block);
      const judged = decideSpent([one], due, [], suspects, block);
      if (judged.forfeited.length > 0) return { looked, forfeited: block };
      suspects = judged.suspects;
    }
    return { looked, forfeited: undefined };
  }

  test('is looked for at once and again later, and forfeited 64 blocks after', () => {
    const every = Array.from({ length: 100 }, (_, n) => 1000 + n);
    expect(follow(every)).toEqual({ looked: [1000, 1004, 1016, 1064], forfeited: 1064 });
    expect(follow(every.slice(0, 64)).forfeited).toBeUndefined();
  });

  test('is looked for as often when blocks come in leaps', () => {
    expect(follow([1000, 2000, 2001, 2002, 2003])).toEqual({
      looked: [1000, 2000, 2001, 2002],
      forfeited: 2002,
    });
  });

  test('is not forfeited once its event was found', () => {
    const suspects = new Map([[id(one), { since: 0, looks: lookAfterBlocks.length - 1 }]]);
    const judged = decideSpent([one], [one], [aMined()], suspects, 64);
    expect(judged).toEqual({ forfeited: [], suspects: nobody });
  });

  test('is forgotten once no reservation is due', () => {
    const suspects = new Map([[id(one), { since: 0, looks: 1 }]]);
    expect(decideSpent([], [], [], suspects, 9).suspects).toEqual(nobody);
  });

  test('is forfeited at once where too many wait', () => {
    const many = Array.from({ length: maxSuspects + 3 }, (_, n) => aReservation('a', { nonce: BigInt(n) }));
    const { forfeited, suspects } = decideSpent(many, [], [], nobody, 1);
    expect([forfeited.length, suspects.size]).toEqual([3, maxSuspects]);
  });
});
