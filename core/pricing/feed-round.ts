import { toMs, type EpochMs, type EpochSeconds } from '../units/time.js';
import type { Hex } from '../units/hex.js';
import { judgeAge } from './age.js';
import { faulty, type RefusedPrice } from './price-source.js';

/** The answer of `latestRoundData()` of an aggregator feed. */
export type FeedRound = {
  readonly roundId: bigint;
  /** Signed; with the feed's own number of decimals. */
  readonly answer: bigint;
  /** Unix seconds; 0 while the round has no answer. */
  readonly updatedAt: bigint;
  /** The round in which the answer was computed: an earlier one if this round only carries it over. */
  readonly answeredInRound: bigint;
};

/** `latestRoundData()`, without arguments. */
export const latestRoundDataCall: Hex = '0xfeaf968c';

/** Words: roundId (uint80), answer (int256), startedAt, updatedAt, answeredInRound (uint80). Undefined for other bytes. */
export function decodeRound(result: Hex): FeedRound | undefined {
  if (!/^0x[0-9a-fA-F]{320}$/.test(result)) return undefined;
  const word = (index: number) => BigInt(`0x${result.slice(2 + 64 * index, 66 + 64 * index)}`);
  return {
    roundId: word(0),
    answer: BigInt.asIntN(256, word(1)),
    updatedAt: word(3),
    answeredInRound: word(4),
  };
}

/** Why a round gives no price; undefined when it does. */
export function judgeRound(
  source: string,
  round: FeedRound,
  maxAgeSeconds: number,
  now: EpochMs,
): RefusedPrice | undefined {
  const { roundId, answer, updatedAt, answeredInRound } = round;
  if (updatedAt === 0n) return faulty(source, 'INCOMPLETE', `has no answer yet in round ${roundId}`);
  if (answeredInRound < roundId)
    return faulty(source, 'INCOMPLETE', `repeats the answer of round ${answeredInRound} in round ${roundId}`);
  if (answer <= 0n)
    return faulty(source, 'OUT_OF_RANGE', `answers ${answer}, which is not a price above zero`);
  if (updatedAt > latestSeconds) return faulty(source, 'MALFORMED', `says it was updated at ${updatedAt}`);
  return judgeAge(source, updatedAtOf(round), maxAgeSeconds, now);
}

/** For rounds that {@link judgeRound} accepts: their time is in the range of our clocks. */
export function updatedAtOf({ updatedAt }: FeedRound): EpochMs {
  return toMs(Number(updatedAt) as EpochSeconds);
}

const latestSeconds = BigInt(Math.floor(Number.MAX_SAFE_INTEGER / 1000));
