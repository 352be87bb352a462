import { pause } from '../../adapters/timers.js';
import type { Ambient } from '../../core/ambient.js';
import type { Chain, Chains } from '../../core/chain/chain.js';
import type { ChainConfig } from '../../core/config/chain-config.js';
import { DomainError, isDomainError } from '../../core/errors.js';
import type { Logger } from '../../core/log.js';
import { type FollowerLease, soleFollower } from '../../core/usage/follower-lease.js';
import type { FollowingTrouble } from '../../core/reports/serving-reports.js';
import { accountName } from '../../core/usage/accounts.js';
import { neverLost, type UsageRecovery } from '../../core/usage/epoch.js';
import type { AccountId } from '../../core/usage/reservation.js';
import type { UsageStore } from '../../core/usage/usage-store.js';
import type { FundsSamples } from '../ledger/funds.js';
import type { Instruments } from '../ops/instruments.js';
import { ChainFollower } from './chain-follower.js';
import type { FundsWatch } from './funds-watch.js';
import type { LossReporter } from './loss-reporter.js';
import { createFollowerMeter } from './meter.js';
import { ReadAllowance } from './new-account.js';
import { Progress, type Stall } from './progress.js';
import type { ChainFollowerDeps, FollowerLedger, Round } from './round.js';

export type FollowerDeps = Pick<Ambient, 'clock' | 'log'> & {
  readonly usage: ChainFollowerDeps['usage'] & Pick<UsageStore, 'dropCommits' | 'liveCount'>;
  /** Decides which replica follows a chain. Default: this one, alone. */
  readonly lease?: FollowerLease;
  /** What to do when the usage store has lost its data. Default: nothing, since it has no way to recover. */
  readonly recovery?: UsageRecovery;
  /** Called after each round of a chain that this replica follows. Default: nothing is called. */
  readonly losses?: Pick<LossReporter, 'followed'>;
  /** The same. */
  readonly fundsWatch?: FundsWatch;
  /** For the ledger: records of settlements, and samples of balances. Default: nothing is recorded. */
  readonly ledger?: FollowerLedger & { readonly funds: Pick<FundsSamples, 'followed'> };
  readonly chains: Pick<Chains, 'get'>;
  /** Chains that are served now; read again before each round. */
  readonly chainConfigs: () => readonly ChainConfig[];
  /** The platform's wallets on a chain, which are followed even without live promises. */
  readonly platformAccounts: (chainId: number) => readonly AccountId[];
  readonly instruments: Instruments;
  /** Called with each look at a chain: why its settled block does not move, or undefined where it does. Default: nothing is called. */
  readonly onFollowing?: (chainId: number, trouble: FollowingTrouble | undefined) => void;
  /** Pause between rounds. Default 500 for a chain without confirmations, 2000 for others. */
  readonly pollMs?: number;
};

export type Follower = ReturnType<typeof createFollower>;

const pausesMs = { withoutConfirmations: 500, withConfirmations: 2_000 } as const;
/** On a chain without a new block the store is asked as often as on chains with confirmations. */
const quietMs = pausesMs.withConfirmations;
const maxPauseMs = 30_000;
/** While the usage data are lost: somebody who accepts the loss waits for this. */
const maxLostPauseMs = 5_000;
const superviseMs = 250;
/** How often a replica asks who follows a chain; the lease lasts ten seconds. */
const leaseCheckMs = 2_000;
/** How often it looks whether the settled block moves, which counts as stalled after minutes. */
const lookMs = 5_000;
const patientFailures = 3;
const rememberMs = 2_000;
const maxRemembered = 10_000;
/** Most URLs that a Chain lists. */
const maxUrls = 16;

type Followed = {
  readonly follower: ChainFollower;
  readonly loop: Promise<void>;
  readonly cancel: AbortController;
  succeeded: boolean;
  failures: number;
  /** By `performance.now()`: what the lease last said, and when the settled block was last looked at. */
  lease: { readonly isMine: boolean; readonly at: number };
  lookedAt: number;
  /** The head of a round that found nothing to do, and until when no other is needed while it is the head. */
  quiet: { readonly head: string | undefined; readonly until: number } | undefined;
};

/**
 * Follows all served chains of this process, each in its own loop, so that a dead chain does not hold up the others. Of
 * the replicas that share a usage store, the one with the lease follows a chain; the others only read its head.
 */
export function createFollower(deps: FollowerDeps) {
  const { usage, chains, clock, lease = soleFollower, recovery = neverLost } = deps;
  const followed = new Map<number, Followed>();
  /** Loops of chains that were taken away, until they have ended. */
  const ending = new Set<Promise<void>>();
  const reads = new Map<string, { readonly at: number; readonly done: Promise<void> }>();
  const readAllowance = new ReadAllowance();
  const meter = createFollowerMeter(deps.instruments, usage, clock);
  const progress = new Progress();
  let supervisor: NodeJS.Timeout | undefined;
  let stopped = false;

  function requireChain(chainId: number) {
    const config = deps.chainConfigs().find((candidate) => candidate.chainId === chainId);
    if (config === undefined)
      throw new DomainError('UNAVAILABLE', `chain ${chainId} is not served`, { reason: 'CHAIN_UNKNOWN' });
    const chain = chains.get(config);
    const { rpc } = config;
    // Uses one URL at a time, in turn: one node may show what another hides.
    const elsewhere = (attempt: number): Chain =>
      rpc.urls?.length === 1 ? chain : chains.get({ chainId, rpc, only: attempt % maxUrls });
    return { config, chain, elsewhere };
  }

  function findAcceptedLoss(chainId: number): string | undefined {
    return deps.chainConfigs().find((candidate) => candidate.chainId === chainId)?.acceptedLoss;
  }

  function choosePause(chainId: number): number {
    if (deps.pollMs !== undefined) return deps.pollMs;
    const config = deps.chainConfigs().find((candidate) => candidate.chainId === chainId);
    return config?.confirmations === 0 ? pausesMs.withoutConfirmations : pausesMs.withConfirmations;
  }

  function follow(chainId: number): Followed {
    const log = deps.log.child({ chainId });
    const follower = new ChainFollower({
      usage,
      chainId,
      current: () => requireChain(chainId),
      platformAccounts: () => deps.platformAccounts(chainId),
      ...(deps.ledger === undefined ? {} : { ledger: deps.ledger }),
      clock,
      log,
    });
    const cancel = new AbortController();
    const state = {
      follower,
      cancel,
      succeeded: false,
      failures: 0,
      lease: { isMine: false, at: -Infinity },
      lookedAt: -Infinity,
      quiet: undefined,
    };
    return Object.assign(state, { loop: run(state, chainId, log) });
  }

  async function run(state: Omit<Followed, 'loop'>, chainId: number, log: Logger): Promise<void> {
    const { signal } = state.cancel;
    while (!signal.aborted) {
      let nextMs = choosePause(chainId);
      let trouble: FollowingTrouble | undefined;
      try {
        const round = await step(state, chainId);
        if (state.failures > 0) log.info('chain is followed again', { failures: state.failures });
        state.succeeded = true;
        state.failures = 0;
        if (round === 'quiet') meter.observed(chainId, state.follower.head, true);
        else if (round === undefined) meter.observed(chainId, state.follower.head, progress.keepsUp(chainId));
        else {
          if (!round.isComplete) nextMs = 0;
          if (round.waitsAt !== undefined) trouble = 'Waiting';
          deps.losses?.followed(chainId, round);
          await deps.fundsWatch?.followed(chainId, state.follower.head);
          deps.ledger?.funds.followed(chainId, state.follower.held);
          await meter.round(chainId, round, state.follower.head);
        }
      } catch (error) {
        state.failures += 1;
        const isNotFinal = isDomainError(error, 'UNAVAILABLE') && error.details.reason === 'FINALITY_UNKNOWN';
        trouble = isNotFinal ? 'NoFinality' : 'Failing';
        meter.failure(chainId, state.follower.head);
        // Logged once; after that the metric and the age of the balances show it.
        if (state.failures === 1) log.warn('chain cannot be followed', { error });
        const maxMs = isOfLoss(error) ? maxLostPauseMs : maxPauseMs;
        nextMs = Math.min(maxMs, nextMs * 2 ** Math.min(state.failures, 10));
      }
      await compareWithHead(chainId, state, trouble);
      await pause(nextMs, signal);
    }
    progress.forget(chainId);
    await giveBack(chainId);
  }

  /** Compares the settled block with the head; without either nothing is known. */
  async function compareWithHead(
    chainId: number,
    state: Pick<Followed, 'follower' | 'failures' | 'lookedAt'>,
    trouble: FollowingTrouble | undefined,
  ): Promise<void> {
    const { failures } = state;
    const { head, confirmed } = state.follower;
    if (head === undefined || (trouble === undefined && performance.now() - state.lookedAt < lookMs)) return;
    state.lookedAt = performance.now();
    try {
      const settled = (await usage.cursor(chainId))?.blockNumber;
      progress.look(chainId, { settled, confirmed: confirmed ?? head.number, trouble }, clock.now());
    } catch {
      // A store that does not answer has other alerts and checks.
      return;
    }
    meter.stalled(chainId, progress.stalledMs(chainId, clock.now()));
    const isStalled = stalls().some((stall) => stall.chainId === chainId);
    // No time makes this better.
    const isCertain = trouble === 'NoFinality' && failures >= patientFailures;
    const isWrong = isStalled || isCertain;
    // A replica that does not follow the chain does not know why it stands still.
    if (!isWrong || trouble !== undefined) deps.onFollowing?.(chainId, isWrong ? trouble : undefined);
  }

  function stalls(): readonly Stall[] {
    return progress.stalls(clock.now());
  }

  /** One round, or undefined if another replica follows the chain. */
  async function step(
    state: Pick<Followed, 'follower' | 'lease' | 'quiet'>,
    chainId: number,
  ): Promise<Round | 'quiet' | undefined> {
    const { follower } = state;
    let isMine = false;
    try {
      isMine = await holds(state, chainId);
    } finally {
      // Requests need fees and times even while the usage store is down.
      if (!isMine) await follower.observe();
    }
    if (!isMine) return undefined;
    try {
      if (await isQuiet(state)) return 'quiet';
      // Before the chain is read: a node that does not answer must not keep amounts for which nothing was signed.
      meter.unfinished(chainId, await dropCommits(follower, chainId));
      const round = await follower.round();
      state.quiet = isIdle(round)
        ? { head: follower.headHash, until: performance.now() + quietMs }
        : undefined;
      return round;
    } catch (error) {
      const isLost = isOfLoss(error);
      if (isLost) await recovery.recover(chainId, findAcceptedLoss(chainId));
      // Another replica may reach a node that this one cannot.
      if (!isLost) {
        state.lease = { isMine: false, at: -Infinity };
        await giveBack(chainId);
      }
      throw error;
    }
  }

  async function isQuiet({ follower, quiet }: Pick<Followed, 'follower' | 'quiet'>): Promise<boolean> {
    if (deps.pollMs !== undefined || quiet === undefined || performance.now() >= quiet.until) return false;
    await follower.observe();
    return follower.headHash === quiet.head;
  }

  async function holds(state: Pick<Followed, 'lease'>, chainId: number): Promise<boolean> {
    const at = performance.now();
    if (at - state.lease.at >= leaseCheckMs) state.lease = { isMine: await lease.hold(chainId), at };
    return state.lease.isMine;
  }

  async function dropCommits(follower: ChainFollower, chainId: number): Promise<number> {
    try {
      return await deps.usage.dropCommits(chainId);
    } catch (error) {
      // Requests need the head to be told that the usage data are lost.
      await follower.observe();
      throw error;
    }
  }

  async function giveBack(chainId: number): Promise<void> {
    // If this fails, the lease expires by itself.
    await lease.release(chainId).catch(() => {});
  }

  function supervise(): void {
    const served = new Set(deps.chainConfigs().map(({ chainId }) => chainId));
    for (const chainId of served) if (!followed.has(chainId)) followed.set(chainId, follow(chainId));
    for (const [chainId, { cancel, loop }] of followed)
      if (!served.has(chainId)) {
        cancel.abort();
        followed.delete(chainId);
        ending.add(loop);
        void loop.then(() => ending.delete(loop));
      }
  }

  return {
    /** Starts to follow every served chain, now and later. */
    start(): void {
      if (stopped || supervisor !== undefined) return;
      supervise();
      supervisor = setInterval(supervise, superviseMs);
      supervisor.unref();
    },
    /** Lets the current rounds finish, and resolves when nothing runs. May be called twice. */
    async stop(): Promise<void> {
      stopped = true;
      clearInterval(supervisor);
      const running = [...followed.values()];
      for (const { cancel } of running) cancel.abort();
      await Promise.all([...ending, ...running.map(({ loop }) => loop)]);
    },
    heads: { get: (chainId: number) => followed.get(chainId)?.follower.head },
    /** Chains whose settled block has not moved for five minutes although the chain has, whichever replica follows them. */
    stalls,
    /** True when each served chain has had a successful round, or has failed so often that the others should not wait for it. */
    ready: (): boolean =>
      deps.chainConfigs().every(({ chainId }) => {
        const state = followed.get(chainId);
        return state !== undefined && (state.succeeded || state.failures >= patientFailures);
      }),
    /**
     * Reads the balance of an account that the usage store does not know yet, so that a new funding wallet is usable at
     * once. A second call within two seconds gets the same answer. Each `organisation` may cause a few reads a second.
     * Throws UNAVAILABLE when the chain cannot be read, or after too many reads.
     */
    async ensureAccount(chainId: number, account: AccountId, organisation: string): Promise<void> {
      const state = followed.get(chainId);
      if (state === undefined) throw new DomainError('UNAVAILABLE', `chain ${chainId} is not followed`);
      const name = `${chainId}/${accountName(account)}`;
      const now = clock.now();
      const last = reads.get(name);
      if (last !== undefined && now - last.at < rememberMs) return last.done;
      readAllowance.take(organisation, now);
      if (reads.size >= maxRemembered) reads.clear();
      const done = state.follower.ensureAccount(account);
      reads.set(name, { at: now, done });
      return done;
    },
  };
}

function isOfLoss(error: unknown): boolean {
  return isDomainError(error, 'UNAVAILABLE') && error.details.reason === 'USAGE_STORE_LOST';
}

/** Nothing to do, and nothing that it waits for. */
function isIdle({ cursor, isComplete, waitsAt }: Round): boolean {
  return cursor === undefined && isComplete && waitsAt === undefined;
}
