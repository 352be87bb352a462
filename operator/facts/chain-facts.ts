import { isDeepStrictEqual } from 'node:util';
import type { Timers } from '../../adapters/timers.js';
import type { Ambient } from '../../core/ambient.js';
import type { Chains } from '../../core/chain/chain.js';
import type { ChainConfig, ProfileConfig } from '../../core/config/chain-config.js';
import type { Layout, LayoutId } from '../../core/paymaster/layout.js';
import type { Signers } from '../../core/paymaster/signer.js';
import type { Address } from '../../core/units/address.js';
import { given } from '../../core/units/given.js';
import { plusMs, type EpochMs } from '../../core/units/time.js';
import {
  codeKey,
  fundingKey,
  keysOfQuestions,
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
import { createProbe, type Probe } from './probe.js';
import {
  askRound,
  collectQuestions,
  nothingKnown,
  lookAtSigning,
  type FactMemory,
  type Look,
  type Round,
} from './round.js';
import type { Usability } from './usability.js';

/**
 * Facts about profiles, deposits and addresses, read from the chains.
 *
 * - Each fact is asked once per chain, however many paymasters need it, in rounds: soon after a new question, every 20
 *   s when all is well, with growing waits from 250 ms to 15 s while something is missing or wrong.
 * - What stops or resumes signing, or changes the key that signs, is asked every 5 s, with three requests per chain.
 * - Whether a profile can be used counts only after two equal answers, at least 10 s apart and each read at one block:
 *   signing stops and resumes by this fact.
 * - A chain that does not answer changes only its own reachability: conditions must not flap with a node.
 * - `onChange` names the paymasters that changed facts concern, once per round.
 */
export type ChainFacts = ReturnType<typeof createChainFacts>;

/** How to reach a chain, and which contracts exist there. */
type ChainContracts = Pick<ChainConfig, 'chainId' | 'rpc' | 'profiles'> &
  Partial<Pick<ChainConfig, 'feeTokens' | 'stake'>>;

export type FactChange = {
  readonly chainId: number;
  /** Whether facts of the chain itself changed: reachability or a profile. */
  readonly isChainChanged: boolean;
  readonly paymasters: readonly string[];
};

type ChainFactsDeps = Pick<Ambient, 'clock' | 'log'> & {
  readonly chains: Pick<Chains, 'get'>;
  readonly layouts: Readonly<Record<LayoutId, Layout>>;
  readonly signers: Pick<Signers, 'get'>;
  readonly timers: Timers;
  readonly onChange: (change: FactChange) => void;
};

/** What is wrong shows within half a minute, with the time to write it. */
const settledMs = 20_000;
/** What is signed with a key after the contract has let go of it is void. */
const signingMs = 5_000;
const firstRetryMs = 250;
const maxRetryMs = 15_000;
/** New questions of one burst share a round. */
const soonMs = 20;

type Poll = {
  config: ChainContracts | undefined;
  known: FactMemory;
  readonly paymasters: Map<string, PaymasterQuestions>;
  retryMs: number;
  /** When the next round is due; until then only what concerns signing is asked. */
  roundAt: EpochMs;
  /** Set while a round waits to begin. */
  cancel: (() => void) | undefined;
  running: Promise<void> | undefined;
  /** A new question came during a round. */
  isPoked: boolean;
};

export function createChainFacts(deps: ChainFactsDeps) {
  const polls = new Map<number, Poll>();
  const chainIdByKey = new Map<string, number>();
  let isStopped = false;

  return {
    setChain({ chainId, rpc, profiles, feeTokens = [], stake }: ChainContracts): void {
      const poll = ensurePoll(chainId);
      const config = { chainId, rpc, profiles, feeTokens, ...given({ stake }) };
      if (isDeepStrictEqual(poll.config, config)) return;
      poll.config = config;
      poke(poll);
    },
    removeChain(chainId: number): void {
      const poll = polls.get(chainId);
      if (poll === undefined) return;
      poll.config = undefined;
      poll.known = nothingKnown();
      poll.cancel?.();
      poll.cancel = undefined;
    },
    /** Replaces the questions of a paymaster (`namespace/name`). */
    setPaymaster(key: string, questions: PaymasterQuestions): void {
      removePaymaster(key);
      chainIdByKey.set(key, questions.chainId);
      const poll = ensurePoll(questions.chainId);
      poll.paymasters.set(key, questions);
      if (hasNewQuestion(poll.known, questions)) poke(poll);
    },
    removePaymaster,
    reachability: (chainId: number): Reachability => polls.get(chainId)?.known.reachability ?? 'Unknown',
    clock: (chainId: number): ClockLevel => polls.get(chainId)?.known.clock ?? 'Unknown',
    profile: (chainId: number, profile: ProfileConfig): ProfileFacts =>
      polls.get(chainId)?.known.profiles.get(profileKey(profile)) ?? unknownProfile,
    /**
     * Whether operations signed by the profile can be mined; undefined until the chain has given the same answer twice.
     */
    usability: (chainId: number, profile: ProfileConfig): Usability | undefined =>
      polls.get(chainId)?.known.standings.get(profileKey(profile))?.settled,
    funding: (chainId: number, question: FundingQuestion): FundingLevel =>
      polls.get(chainId)?.known.fundings.get(fundingKey(question)) ?? 'Unknown',
    code: (chainId: number, address: Address): CodeLevel =>
      polls.get(chainId)?.known.codes.get(codeKey(address)) ?? 'Unknown',
    /** Resolves when no question is being asked; may be called twice. */
    async stop(): Promise<void> {
      isStopped = true;
      for (const poll of polls.values()) poll.cancel?.();
      await Promise.all([...polls.values()].map(({ running }) => running ?? Promise.resolve()));
    },
  };

  function removePaymaster(key: string): void {
    const chainId = chainIdByKey.get(key);
    if (chainId === undefined) return;
    chainIdByKey.delete(key);
    polls.get(chainId)?.paymasters.delete(key);
  }

  function ensurePoll(chainId: number): Poll {
    const present = polls.get(chainId);
    if (present !== undefined) return present;
    const poll: Poll = {
      config: undefined,
      known: nothingKnown(),
      paymasters: new Map(),
      retryMs: firstRetryMs,
      roundAt: deps.clock.now(),
      cancel: undefined,
      running: undefined,
      isPoked: false,
    };
    polls.set(chainId, poll);
    return poll;
  }

  function poke(poll: Poll): void {
    poll.retryMs = firstRetryMs;
    poll.roundAt = deps.clock.now();
    if (poll.running === undefined) schedule(poll, soonMs);
    else poll.isPoked = true;
  }

  function schedule(poll: Poll, ms: number): void {
    poll.cancel?.();
    poll.cancel = undefined;
    if (isStopped || poll.config === undefined) return;
    poll.cancel = deps.timers.after(ms, () => {
      poll.cancel = undefined;
      poll.running = run(poll);
    });
  }

  async function run(poll: Poll): Promise<void> {
    poll.isPoked = false;
    const isRound = deps.clock.now() >= poll.roundAt;
    const round = isRound ? await ask(poll, askAll) : undefined;
    const look = isRound ? round : await ask(poll, askSigning);
    // No `await` after this line, so that a new question finds no running round and schedules its own.
    poll.running = undefined;
    if (isStopped) return;
    if (look !== undefined) report(poll, look);
    if (poll.isPoked || round?.hasMore === true) {
      poll.roundAt = deps.clock.now();
      return schedule(poll, soonMs);
    }
    if (isRound) {
      const isSettled = round?.isSettled === true;
      poll.roundAt = plusMs(deps.clock.now(), isSettled ? settledMs : poll.retryMs);
      poll.retryMs = isSettled ? firstRetryMs : Math.min(poll.retryMs * 2, maxRetryMs);
    }
    const untilRound = Math.max(0, poll.roundAt - deps.clock.now());
    // 0: the answer was due in this look, and the chain did not give it.
    const recheckMs = look?.recheckMs || signingMs;
    schedule(poll, Math.min(untilRound, signingMs, recheckMs));
  }

  async function ask<L extends Look>(
    poll: Poll,
    asked: (poll: Poll, config: ChainContracts) => Promise<L>,
  ): Promise<L | undefined> {
    const { config } = poll;
    if (config === undefined) return undefined;
    try {
      return await asked(poll, config);
    } catch (error) {
      deps.log.warn('polling a chain failed', { chainId: config.chainId, error });
      return undefined;
    }
  }

  function askAll({ known, paymasters }: Poll, config: ChainContracts): Promise<Round> {
    const questions = collectQuestions(config.profiles, paymasters.values());
    return askRound(known, questions, createChainProbe(config), {
      log: deps.log,
      now: () => deps.clock.now(),
    });
  }

  function askSigning({ known }: Poll, config: ChainContracts): Promise<Look> {
    const { profiles } = collectQuestions(config.profiles, []);
    return lookAtSigning(known, profiles, createChainProbe(config), () => deps.clock.now());
  }

  function createChainProbe(config: ChainContracts): Probe {
    return createProbe({ ...deps, chain: deps.chains.get(config), config });
  }

  function report({ config, paymasters }: Poll, { changed, isChainChanged }: Look): void {
    if (config === undefined || (changed.size === 0 && !isChainChanged)) return;
    const concerned = [...paymasters].filter(([, questions]) =>
      keysOfQuestions(questions).some((key) => changed.has(key)),
    );
    deps.onChange({ chainId: config.chainId, isChainChanged, paymasters: concerned.map(([key]) => key) });
  }
}

function hasNewQuestion(
  { profiles, fundings, codes }: FactMemory,
  { profile, fundings: asked, contracts }: PaymasterQuestions,
): boolean {
  return (
    (profile !== undefined && !profiles.has(profileKey(profile))) ||
    asked.some((funding) => !fundings.has(fundingKey(funding))) ||
    contracts.some((address) => !codes.has(codeKey(address)))
  );
}
