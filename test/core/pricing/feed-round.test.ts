import { AbiCoder } from 'ethers';
import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { decodeRound, checkRound, checkSequencer, type FeedRound } from '../../../core/pricing/feed-round.js';
import { isHexBytes, type Hex } from '../../../core/units/hex.js';
import type { EpochMs } from '../../../core/units/time.js';

const nowSeconds = 1_700_000_000;
const now = (nowSeconds * 1000) as EpochMs;

function aRound(overrides: Partial<FeedRound> = {}): FeedRound {
  return {
    roundId: 7n,
    answer: 300_000_000_000n,
    startedAt: BigInt(nowSeconds - 7_200),
    updatedAt: BigInt(nowSeconds - 60),
    answeredInRound: 7n,
    ...overrides,
  };
}

describe('a round of a price feed', () => {
  test('that was updated within the greatest age gives a price', () => {
    expect(checkRound('feed', aRound(), 61, now)).toBeUndefined();
  });

  test.each([
    {
      name: 'as old as the greatest age',
      round: {},
      maxAge: 60,
      want: { reason: 'STALE', ageSeconds: 60, maxAgeSeconds: 60 },
    },
    { name: 'without an answer yet', round: { updatedAt: 0n }, maxAge: 3600, want: { reason: 'INCOMPLETE' } },
    {
      name: 'that repeats an earlier answer',
      round: { answeredInRound: 6n },
      maxAge: 3600,
      want: { reason: 'INCOMPLETE' },
    },
    { name: 'that answers zero', round: { answer: 0n }, maxAge: 3600, want: { reason: 'OUT_OF_RANGE' } },
    {
      name: 'that answers a negative price',
      round: { answer: -1n },
      maxAge: 3600,
      want: { reason: 'OUT_OF_RANGE' },
    },
    {
      name: 'from the future',
      round: { updatedAt: BigInt(nowSeconds + 121) },
      maxAge: 3600,
      want: { reason: 'OUT_OF_RANGE' },
    },
    {
      name: 'with a time beyond every clock',
      round: { updatedAt: 2n ** 255n },
      maxAge: 3600,
      want: { reason: 'MALFORMED' },
    },
  ])('$name is refused', ({ round, maxAge, want }) => {
    expect(checkRound('feed', aRound(round), maxAge, now)).toMatchObject({
      ok: false,
      refusal: { source: 'feed', ...want },
    });
  });

  test('of a clock a little ahead of ours is believed', () => {
    expect(checkRound('feed', aRound({ updatedAt: BigInt(nowSeconds + 120) }), 60, now)).toBeUndefined();
  });

  test('is decoded as ethers encodes it, negative answers too', () => {
    const uint80 = fc.bigInt(0n, 2n ** 80n - 1n);
    const int256 = fc.bigInt(-(2n ** 255n), 2n ** 255n - 1n);
    const uint256 = fc.bigInt(0n, 2n ** 256n - 1n);
    fc.assert(
      fc.property(
        uint80,
        int256,
        uint256,
        uint256,
        uint80,
        (roundId, answer, startedAt, updatedAt, answeredInRound) => {
          const values = [roundId, answer, startedAt, updatedAt, answeredInRound];
          expect(decodeRound(encoded(values))).toEqual({
            roundId,
            answer,
            startedAt,
            updatedAt,
            answeredInRound,
          });
        },
      ),
    );
  });

  test.each(['0x', `0x${'00'.repeat(159)}`, `0x${'00'.repeat(161)}`] as const)(
    'is not read from other bytes',
    (bytes) => {
      expect(decodeRound(bytes)).toBeUndefined();
    },
  );
});

function encoded(values: readonly bigint[]): Hex {
  const hex = AbiCoder.defaultAbiCoder().encode(['uint80', 'int256', 'uint256', 'uint256', 'uint80'], values);
  if (!isHexBytes(hex)) throw new Error('not hex');
  return hex;
}

describe("the feed of a roll-up's sequencer", () => {
  const judged = (change: Partial<FeedRound>) =>
    checkSequencer('feed', aRound({ answer: 0n, startedAt: BigInt(nowSeconds - 3_600), ...change }), now);

  test('lets prices be used when it has been up for an hour, however long ago its round was', () => {
    expect(judged({})).toBeUndefined();
    expect(judged({ updatedAt: 1n, answeredInRound: 0n })).toBeUndefined();
  });

  test.each<{ name: string; change: Partial<FeedRound> }>([
    { name: 'down', change: { answer: 1n } },
    { name: 'something else than up', change: { answer: -1n } },
    { name: 'up for less than an hour', change: { startedAt: BigInt(nowSeconds - 3_599) } },
    { name: 'up from a time that is not yet', change: { startedAt: BigInt(nowSeconds + 10) } },
    { name: 'nothing so far', change: { startedAt: 0n } },
  ])('stops them while it says $name', ({ change }) => {
    expect(judged(change)).toMatchObject({ ok: false, refusal: { reason: 'SEQUENCER_DOWN' } });
  });
});
