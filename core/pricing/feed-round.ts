import { toMs, type EpochMs, type EpochSeconds } from '../units/time.js';
import type { Hex } from '../units/hex.js';
import { checkAge, faulty, type RefusedPrice } from './price-source.js';

/** The answer of `latestRoundData()` of an aggregator feed. */
export type FeedRound = {
  readonly roundId: bigint;
  /** Signed; with the feed's own number of decimals. */
  readonly answer: bigint;
  /** Unix seconds. Of a sequencer's feed: when its state last changed. */
  readonly startedAt: bigint;
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
    startedAt: word(2),
    updatedAt: word(3),
    answeredInRound: word(4),
  };
}

/** Why a round gives no price; undefined when it does. */
export function checkRound(
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
  return checkAge(source, toUpdatedAt(round), maxAgeSeconds, now);
}

/** After an outage, so long: feeds catch up, and transactions that waited are mined at prices of before. */
const sequencerGraceSeconds = 3_600n;

/** Why prices of a roll-up are not used, by the feed that says whether its sequencer is up (0) and since when. */
export function checkSequencer(
  source: string,
  { answer, startedAt }: FeedRound,
  now: EpochMs,
): RefusedPrice | undefined {
  if (answer !== 0n || startedAt === 0n)
    return faulty(source, 'SEQUENCER_DOWN', 'does not say that the sequencer is up');
  const upFor = BigInt(Math.floor(now / 1000)) - startedAt;
  if (upFor >= sequencerGraceSeconds) return undefined;
  return faulty(source, 'SEQUENCER_DOWN', 'says that the sequencer is up for less than an hour');
}

/** For rounds that {@link checkRound} accepts: their time is in the range of our clocks. */
export function toUpdatedAt({ updatedAt }: FeedRound): EpochMs {
  return toMs(Number(updatedAt) as EpochSeconds);
}

const latestSeconds = BigInt(Math.floor(Number.MAX_SAFE_INTEGER / 1000));
