import { beforeEach, describe, expect, test } from '@jest/globals';
import { gwei, type Gwei } from '../../../core/units/wei.js';
import type { Cursor } from '../../../core/usage/follower-step.js';
import { never } from '../../../core/usage/window.js';
import { History, endedInStep, negated } from '../../../server/follower/history.js';
import { aHash, seconds } from '../../conformance/usage-requests.js';
import { aReservation } from './mined-operations.js';

const at = (blockNumber: number, branch = 0): Cursor => ({
  blockNumber,
  blockHash: aHash(blockNumber * 10 + branch),
  timestamp: seconds(blockNumber),
});
const limits = [
  { counter: 'count', unit: 'COUNT', until: never, cost: 1 },
  { counter: 'spend', unit: 'NATIVE_ASSET', until: never, cost: 100 },
] as const;
const reservation = aReservation('a', { limits });
const amounts = (charges: readonly { readonly counter: string; readonly amount: number }[]) =>
  charges.map(({ counter, amount }) => [counter, amount]);

const released = endedInStep([reservation], { settled: [], released: [reservation] });
const settledAt = (actualCost: Gwei | undefined) =>
  endedInStep([reservation], { settled: [{ reservation, actualCost }], released: [] });

let history: History;
beforeEach(() => {
  history = new History();
});
const add = (from: Cursor | undefined, cursor: Cursor, ended = released) =>
  history.add(from, { cursor, ended, undo: [] });

describe('undoing the end of a reservation', () => {
  test.each([
    {
      name: 'settled below its maximum',
      cost: gwei(40),
      want: [
        ['count', -1],
        ['spend', -40],
      ],
    },
    {
      name: 'settled above its maximum',
      cost: gwei(900),
      want: [
        ['count', -1],
        ['spend', -100],
      ],
    },
    { name: 'settled as a token payment', cost: undefined, want: [] },
  ])('$name', ({ cost, want }) => {
    expect(settledAt(cost).map(({ how, undo }) => [how, amounts(undo)])).toEqual([['settled', want]]);
  });

  test('forfeited: the kept amounts', () => {
    const [forfeited] = endedInStep([reservation], { settled: [], released: [] });
    expect(forfeited?.how).toBe('forfeited');
    expect(amounts(forfeited?.undo ?? [])).toEqual([
      ['count', -1],
      ['spend', -100],
    ]);
  });

  test('decided twice: the first decision', () => {
    const settled = [
      { reservation, actualCost: gwei(40) },
      { reservation, actualCost: gwei(50) },
    ];
    const ended = endedInStep([reservation], { settled, released: [reservation] });
    expect(ended.map(({ undo }) => amounts(undo))).toEqual([
      [
        ['count', -1],
        ['spend', -40],
      ],
    ]);
  });

  test('a loss: the same, reversed', () => {
    const charge = { counter: 'loss', unit: 'NATIVE_ASSET', until: never, amount: 7 } as const;
    expect(amounts(negated([charge]))).toEqual([['loss', -7]]);
  });
});

describe('steps after a common block', () => {
  test('are taken back, those before it are not', () => {
    add(at(1), at(2));
    history.add(at(2), {
      cursor: at(4),
      ended: settledAt(gwei(40)),
      undo: negated([{ counter: 'loss', unit: 'NATIVE_ASSET', until: never, amount: 7 }]),
    });
    const undone = history.after(at(2));
    expect(undone.restored).toEqual([reservation]);
    expect(amounts(undone.charges)).toEqual([
      ['loss', -7],
      ['count', -1],
      ['spend', -40],
    ]);
    expect(undone.givenBack).toBe(60);
    history.rollBack(at(2));
    expect(history.points()).toEqual([at(2), at(1)]);
    expect(history.after(at(2)).restored).toEqual([]);
    expect(history.after(undefined).restored).toEqual([reservation]);
  });

  test('of one block are one', () => {
    add(at(1), at(2));
    add(at(2), at(2));
    expect(history.points()).toEqual([at(2), at(1)]);
    expect(history.after(at(1)).restored).toHaveLength(2);
  });

  test('are forgotten when another follower has taken steps in between', () => {
    add(at(1), at(2));
    add(at(3), at(4));
    expect(history.points()).toEqual([at(4), at(3)]);
    add(at(4, 1), at(5));
    expect(history.points()).toEqual([at(5), at(4, 1)]);
  });

  test('are forgotten, the oldest first, when memory would grow', () => {
    for (let n = 1; n <= 300; n++) add(at(n), at(n + 1));
    expect(history.points()).toHaveLength(256);
    const many = Array.from({ length: 15_000 }, () => released[0]!);
    add(at(301), at(302), many);
    add(at(302), at(303), many);
    expect(history.after(undefined).restored).toHaveLength(15_000);
    expect(history.points()).toEqual([at(303)]);
  });
});
