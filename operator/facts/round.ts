import { isDeepStrictEqual } from 'node:util';
import type { ProfileConfig } from '../../core/config/chain-config.js';
import type { Logger } from '../../core/log.js';
import type { Address } from '../../core/units/address.js';
import {
  isGoodProfile,
  codeKey,
  fundingKey,
  fundingLevel,
  mergeProfile,
  smoothFee,
  profileKey,
  unknownProfile,
  type ClockLevel,
  type CodeLevel,
  type FundingLevel,
  type FundingQuestion,
  type PaymasterQuestions,
  type ProfileFacts,
  type Reachability,
} from './facts.js';
import type { EpochMs } from '../../core/units/time.js';
import { wordsPerRequest, type Block } from '../../core/chain/chain.js';
import type { Probe } from './probe.js';
import { note, soonestRecheckMs, decideUsability, type Standing } from './usability.js';

/**
 * The known facts of one chain. The maps keep their keys in the order in which they were last asked. A question that
 * was asked and not yet answered is `Unknown`.
 */
export type FactMemory = {
  reachability: Reachability;
  clock: ClockLevel;
  /** Wei per gas, smoothed; undefined before the first block was read. */
  recentFee: bigint | undefined;
  readonly profiles: Map<string, ProfileFacts>;
  /** Whether operations signed by a profile can be mined, by its key. */
  readonly standings: Map<string, Standing>;
  readonly fundings: Map<string, FundingLevel>;
  readonly codes: Map<string, CodeLevel>;
};

type Questions = {
  readonly profiles: ReadonlyMap<string, ProfileConfig>;
  readonly fundings: ReadonlyMap<string, FundingQuestion>;
  readonly codes: ReadonlyMap<string, Address>;
};

export type Look = {
  readonly isChainChanged: boolean;
  /** Keys of the facts that changed. */
  readonly changed: ReadonlySet<string>;
  /**
   * When an answer should be asked for again at the latest, because it counts only when it is given twice; undefined if
   * every answer counts.
   */
  readonly recheckMs: number | undefined;
};

export type Round = Look & {
  /**
   * True when every question has an answer, from this round or an earlier one, and every answer of this round is good.
   */
  readonly isSettled: boolean;
  /** More questions were new than fit into one round. */
  readonly hasMore: boolean;
};

/** Questions of one kind per round and at once: bounds what a round costs the node, whatever the number of paymasters. */
const perRound = wordsPerRequest;
const atOnce = 16;

export function nothingKnown(): FactMemory {
  return {
    reachability: 'Unknown',
    clock: 'Unknown',
    recentFee: undefined,
    profiles: new Map(),
    standings: new Map(),
    fundings: new Map(),
    codes: new Map(),
  };
}

/** Each question once, however many paymasters ask it. */
export function collectQuestions(
  profiles: readonly ProfileConfig[],
  paymasters: Iterable<PaymasterQuestions>,
): Questions {
  const fundings = new Map<string, FundingQuestion>();
  const codes = new Map<string, Address>();
  for (const { fundings: asked, contracts } of paymasters) {
    for (const funding of asked) fundings.set(fundingKey(funding), funding);
    for (const address of contracts) codes.set(codeKey(address), address);
  }
  return { profiles: new Map(profiles.map((profile) => [profileKey(profile), profile])), fundings, codes };
}

/** Asks a chain once and stores the answers in `known`; facts without an answer stay as they were. */
export async function askRound(
  known: FactMemory,
  questions: Questions,
  probe: Probe,
  { log, now }: { readonly log: Logger; readonly now: () => EpochMs },
): Promise<Round> {
  const changed = new Set<string>();
  const recheck = () => soonestRecheckMs(known.standings, now());
  const before = known.reachability;
  known.reachability = await probe.reachability();
  let isChainChanged = known.reachability !== before;
  if (known.reachability !== 'Reachable') {
    if (known.reachability === 'WrongChain')
      isChainChanged = noteWrongChain(known, questions.profiles, now()) || isChainChanged;
    return { isSettled: false, hasMore: false, isChainChanged, changed, recheckMs: recheck() };
  }
  const head = await readHead(probe, log);
  const clock = head === undefined ? known.clock : probe.clock(head);
  isChainChanged ||= clock !== known.clock;
  known.clock = clock;

  if (head !== undefined) known.recentFee = smoothFee(known.recentFee, await probe.fee(head));

  const ask = <Q, F>(
    entries: readonly (readonly [string, Q])[],
    facts: Map<string, F>,
    unanswered: F,
    answer: (question: Q, key: string) => Promise<F | undefined>,
    isGood: (fact: F) => boolean,
  ): Promise<boolean> =>
    inGroups(entries, async ([key, question]) => {
      const fact = await answer(question, key).catch((error: unknown) => {
        log.warn('reading a fact failed', { fact: key, error });
        return undefined;
      });
      if (fact === undefined) {
        // Added even without an answer: without its place in the order it would come first in every round.
        if (!facts.has(key)) facts.set(key, unanswered);
        return false;
      }
      if (!isDeepStrictEqual(facts.get(key), fact)) changed.add(key);
      facts.set(key, fact);
      return isGood(fact);
    });

  // Code that was there once stays: only addresses without code are asked again.
  const codes = new Map([...questions.codes].filter(([key]) => known.codes.get(key) !== 'CodePresent'));
  const hasMore =
    countNew(questions.fundings, known.fundings) > perRound || countNew(codes, known.codes) > perRound;
  const asked = inTurn(questions.fundings, known.fundings);
  const answered = asked.length === 0 ? [] : await probe.deposits(asked.map(([, question]) => question));
  const deposits = new Map(asked.map(([key], index) => [key, answered[index]]));
  const good = await Promise.all([
    ask(
      [...questions.profiles],
      known.profiles,
      unknownProfile,
      async (profile, key) => {
        const facts = await probe.profile(profile, head === undefined ? 'latest' : { hash: head.hash });
        const merged = mergeProfile(known.profiles.get(key), facts);
        const usability = decideUsability({ ...facts, hash: merged.hash });
        // If no block can be named, the answers may be from different blocks, and decide nothing.
        if (head !== undefined && note(known.standings, key, usability, now())) isChainChanged = true;
        return merged;
      },
      isGoodProfile,
    ),
    ask(
      asked,
      known.fundings,
      'Unknown',
      async (_, key) => {
        const balance = deposits.get(key);
        return balance === undefined
          ? undefined
          : fundingLevel(balance, known.recentFee, known.fundings.get(key));
      },
      (level) => level !== 'Empty',
    ),
    ask(
      inTurn(codes, known.codes),
      known.codes,
      'Unknown',
      async (address) => unlessUnknown(await probe.code(address)),
      (code) => code === 'CodePresent',
    ),
  ]);
  isChainChanged ||= [...changed].some((key) => questions.profiles.has(key));
  forget(known, questions);
  const isSettled = clock === 'InStep' && good.every(Boolean) && !hasUnanswered(known);
  return { isSettled, hasMore, isChainChanged, changed, recheckMs: recheck() };
}

/** All profiles of a node that serves another chain. Returns whether this changes what we sign. */
function noteWrongChain(
  { standings }: Pick<FactMemory, 'standings'>,
  profiles: ReadonlyMap<string, unknown>,
  now: EpochMs,
): boolean {
  return [...profiles.keys()].map((key) => note(standings, key, 'WRONG_CHAIN', now)).includes(true);
}

async function readHead(probe: Probe, log: Logger): Promise<Block | undefined> {
  try {
    return await probe.head();
  } catch (error) {
    log.warn('reading a fact failed', { fact: 'head', error });
    return undefined;
  }
}

/** First the questions that were never asked, then those asked longest ago. Moves them to the end of the order. */
function inTurn<Q, F>(
  questions: ReadonlyMap<string, Q>,
  known: Map<string, F>,
): readonly (readonly [string, Q])[] {
  const fresh = [...questions.keys()].filter((key) => !known.has(key));
  const old = [...known.keys()].filter((key) => questions.has(key));
  const turn = [...fresh, ...old].slice(0, perRound);
  for (const key of turn) {
    const fact = known.get(key);
    if (fact !== undefined && known.delete(key)) known.set(key, fact);
  }
  return turn.flatMap((key) => {
    const question = questions.get(key);
    return question === undefined ? [] : [[key, question] as const];
  });
}

function hasUnanswered({ fundings, codes }: FactMemory): boolean {
  return [...fundings.values(), ...codes.values()].includes('Unknown');
}

function countNew(questions: ReadonlyMap<string, unknown>, known: ReadonlyMap<string, unknown>): number {
  return [...questions.keys()].filter((key) => !known.has(key)).length;
}

/** Returns whether every answer was good. */
async function inGroups<Q>(entries: readonly Q[], ask: (entry: Q) => Promise<boolean>): Promise<boolean> {
  let isGood = true;
  for (let at = 0; at < entries.length; at += atOnce) {
    const answers = await Promise.all(entries.slice(at, at + atOnce).map(ask));
    isGood &&= answers.every(Boolean);
  }
  return isGood;
}

/** Drops facts that nobody asks about any longer. */
function forget(known: FactMemory, questions: Questions): void {
  for (const key of known.profiles.keys()) if (!questions.profiles.has(key)) known.profiles.delete(key);
  for (const key of known.standings.keys()) if (!questions.profiles.has(key)) known.standings.delete(key);
  for (const key of known.fundings.keys()) if (!questions.fundings.has(key)) known.fundings.delete(key);
  for (const key of known.codes.keys()) if (!questions.codes.has(key)) known.codes.delete(key);
}

function unlessUnknown<F extends string>(fact: F): F | undefined {
  return fact === 'Unknown' ? undefined : fact;
}

/**
 * Between two rounds: asks only what stops or resumes signing, or changes the key. Three requests of a node, however many
 * profiles the chain has, as long as all is well: chain id, newest block, and one call at that block. Without an answer
 * nothing changes; a round reports that the chain cannot be reached.
 */
export async function lookAtSigning(
  known: FactMemory,
  profiles: ReadonlyMap<string, ProfileConfig>,
  probe: Pick<Probe, 'reachability' | 'head' | 'acceptances'>,
  now: () => EpochMs,
): Promise<Look> {
  const changed = new Set<string>();
  let isChainChanged = false;
  const reachability = await probe.reachability();
  if (reachability === 'WrongChain') {
    isChainChanged = known.reachability !== reachability;
    known.reachability = reachability;
    if (noteWrongChain(known, profiles, now())) isChainChanged = true;
  }
  const head = reachability === 'Reachable' ? await probe.head() : undefined;
  if (head !== undefined) {
    const acceptances = await probe.acceptances([...profiles.values()], { hash: head.hash });
    for (const [index, key] of [...profiles.keys()].entries()) {
      const facts = { ...unknownProfile, ...acceptances[index] };
      const before = known.profiles.get(key);
      const after = mergeProfile(before, facts);
      // Only a round compares hashes.
      const usability = decideUsability({ ...facts, hash: after.hash });
      if (note(known.standings, key, usability, now())) isChainChanged = true;
      if (!isDeepStrictEqual(before, after)) changed.add(key);
      known.profiles.set(key, after);
    }
  }
  isChainChanged ||= changed.size > 0;
  return { changed, isChainChanged, recheckMs: soonestRecheckMs(known.standings, now()) };
}
