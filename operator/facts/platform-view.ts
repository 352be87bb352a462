import { isDeepStrictEqual } from 'node:util';
import type { ProfileConfig } from '../../core/config/chain-config.js';
import { findCondition, finding, type Finding } from '../../core/meta/conditions.js';
import type { Condition } from '../../core/meta/meta.js';
import { parseInstant, type Clock, type EpochMs } from '../../core/units/time.js';
import type { Timers } from '../../adapters/timers.js';
import type { ChainFacts } from './chain-facts.js';
import { isGoodProfile, type ProfileFacts, profileKey, unknownProfile } from './facts.js';
import { dueInMs, type Comparison, settle, type Steady, troubleMs } from './steady.js';
import type { UsageFacts } from './reported-facts.js';

/**
 * What Paymasters show of their platform: the chain, its profile, the usage store. A Chain shows a change at once, in
 * one write. Ten thousand Paymasters show a trouble once it has lasted for a minute, and its end after half a minute.
 */
export type PlatformView = ReturnType<typeof createPlatformView>;

type PlatformViewDeps = {
  readonly facts: Pick<ChainFacts, 'profile' | 'reachability'>;
  /** Undefined without a source of facts about the usage store. */
  readonly usage: Pick<UsageFacts, 'of'> | undefined;
  /** Names of fee tokens of a chain whose last price was not usable. */
  readonly unpriced: (chainId: number) => string;
  /** The stored conditions of the Chain, which outlive this process. */
  readonly conditions: (chainId: number) => readonly Condition[] | undefined;
  readonly clock: Clock;
  readonly timers: Timers;
  /** Called when what Paymasters of the chain show has changed. */
  readonly onChange: (chainId: number) => void;
};

/** Reason of the condition Ready; undefined: nothing blocks. */
type Blocker = 'ChainNotReady' | 'UsageStoreLost' | undefined;

type Watched = {
  blocker: Steady<Blocker>;
  unpriced: Steady<string>;
  readonly profiles: Map<string, { readonly profile: ProfileConfig; steady: Steady<ProfileFacts> }>;
  cancel: (() => void) | undefined;
};

export function createPlatformView(deps: PlatformViewDeps) {
  const chains = new Map<number, Watched>();
  let isStopped = false;

  function ensureWatched(chainId: number): Watched {
    const present = chains.get(chainId);
    if (present !== undefined) return present;
    const fresh: Watched = {
      blocker: lastingBlocker(deps.conditions(chainId), deps.clock.now()),
      unpriced: { shown: '' },
      profiles: new Map(),
      cancel: undefined,
    };
    chains.set(chainId, fresh);
    return fresh;
  }

  function compareFacts(chainId: number): void {
    if (isStopped) return;
    const chain = ensureWatched(chainId);
    const now = deps.clock.now();
    const before = chain.blocker.shown;
    chain.blocker = settle(chain.blocker, blockerNow(chainId), now, blockers);
    const tokens = chain.unpriced.shown;
    chain.unpriced = settle(chain.unpriced, deps.unpriced(chainId), now, unpricedTokens);
    let isChanged = chain.blocker.shown !== before || chain.unpriced.shown !== tokens;
    for (const [key, entry] of chain.profiles) {
      const shown = entry.steady.shown;
      const seen = deps.facts.profile(chainId, entry.profile);
      // Nobody asks about it any longer.
      if (seen === unknownProfile) chain.profiles.delete(key);
      else entry.steady = settleFacts(entry.steady, seen, now);
      isChanged ||= entry.steady.shown !== shown;
    }
    schedule(chainId, chain);
    if (isChanged) deps.onChange(chainId);
  }

  function schedule(chainId: number, chain: Watched): void {
    chain.cancel?.();
    const now = deps.clock.now();
    const waits = [
      dueInMs(chain.blocker, now, blockers),
      dueInMs(chain.unpriced, now, unpricedTokens),
      ...Array.from(chain.profiles.values(), ({ steady }) => dueInMs(steady, now, profiles)),
    ].filter((ms) => ms !== undefined);
    chain.cancel =
      waits.length === 0 ? undefined : deps.timers.after(Math.min(...waits), () => compareFacts(chainId));
  }

  function blockerNow(chainId: number): Blocker {
    if (deps.usage?.of(chainId)?.level === 'Lost') return 'UsageStoreLost';
    const reachability = deps.facts.reachability(chainId);
    return reachability === 'Unreachable' || reachability === 'WrongChain' ? 'ChainNotReady' : undefined;
  }

  return {
    /** Reads what is known of a chain now. */
    look: compareFacts,
    /** Facts of the profile's contract; unknown until the chain was asked. */
    profile(chainId: number, profile: ProfileConfig): ProfileFacts {
      const chain = ensureWatched(chainId);
      const key = profileKey(profile);
      const known = chain.profiles.get(key);
      const seen = deps.facts.profile(chainId, profile);
      if (known === undefined) chain.profiles.set(key, { profile, steady: { shown: seen } });
      else if (isOpen(known.steady.shown)) known.steady = { shown: seen };
      return chain.profiles.get(key)?.steady.shown ?? unknownProfile;
    },
    /** Names of fee tokens that have no usable price; '' when all have. */
    unpriced: (chainId: number): string => chains.get(chainId)?.unpriced.shown ?? '',
    /** Why nothing can be signed on the chain at all. */
    blocker(chainId: number): Finding | undefined {
      switch (chains.get(chainId)?.blocker.shown) {
        case 'ChainNotReady':
          return finding(
            'Ready',
            'ChainNotReady',
            `Chain ${chainId} cannot be used: see its condition Reachable.`,
          );
        case 'UsageStoreLost':
          return finding(
            'Ready',
            'UsageStoreLost',
            `The usage store has lost its data of chain ${chainId}: see the Chain.`,
          );
        default:
          return undefined;
      }
    },
    stop(): void {
      isStopped = true;
      for (const { cancel } of chains.values()) cancel?.();
    },
  };
}

const blockers: Comparison<Blocker> = {
  isSame: (a, b) => a === b,
  isGood: (blocker) => blocker === undefined,
};
const unpricedTokens: Comparison<string> = { isSame: (a, b) => a === b, isGood: (names) => names === '' };
const profiles: Comparison<ProfileFacts> = { isSame: isDeepStrictEqual, isGood: isGoodProfile };

const troubles = [
  { type: 'UsageStoreLost', status: 'True', blocker: 'UsageStoreLost' },
  { type: 'Reachable', status: 'False', blocker: 'ChainNotReady' },
] as const;

/** Without this, a restart would make all Paymasters ready for a minute while nothing is signed for them. */
function lastingBlocker(conditions: readonly Condition[] | undefined, now: EpochMs): Steady<Blocker> {
  const lasting = troubles.find(({ type, status }) => {
    const known = findCondition(conditions, type);
    const since = parseInstant(known?.lastTransitionTime ?? '') ?? now;
    return known?.status === status && now - since >= troubleMs;
  });
  return { shown: lasting?.blocker };
}

/** The first answer to a question that was open is shown at once. */
function settleFacts(steady: Steady<ProfileFacts>, seen: ProfileFacts, now: ReturnType<Clock['now']>) {
  return isOpen(steady.shown) && !isDeepStrictEqual(steady.shown, seen)
    ? { shown: seen }
    : settle(steady, seen, now, profiles);
}

function isOpen({ code, entryPoint, hash, signer }: ProfileFacts): boolean {
  return [code, entryPoint, hash, signer].includes('Unknown') && code !== 'NoCode';
}
