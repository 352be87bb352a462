import { silentLogger, type Logger } from '../../core/log.js';
import type { AccountId } from '../../core/usage/reservation.js';
import { contractFence } from '../../core/usage/counter-names.js';
import { ChainFollower } from '../../server/follower/chain-follower.js';
import { chainId } from '../conformance/usage-requests.js';
import { BrokenRule } from './broken-rule.js';
import { checkRound } from './check-counters.js';
import { checkFreed } from './commits.js';
import type { Mining } from './mining.js';
import type { Scene } from './scene.js';
import { wallets } from './wallets.js';

/** The follower's log message for a reorganisation below the settled block. */
const reorganised = 'chain was reorganised or replaced below the settled block';

/** The replica that follows the chain, by the service's own code. */
export class Following {
  readonly #scene: Scene;
  readonly #mining: Mining;
  #follower!: ChainFollower;
  /** Highest block that a follower has seen. */
  seenHeight = 0;
  /** The first block that the current follower remembers, once it has taken a step. */
  remembersFrom: number | undefined;
  /** A reorganisation below the settled block that the follower has not noticed yet. */
  isReorganised = false;
  /** Errors that the follower has reported since then. */
  #reports: string[] = [];

  constructor(scene: Scene, mining: Mining) {
    this.#scene = scene;
    this.#mining = mining;
  }

  /** Another process follows. */
  begin(replica: number): void {
    const scene = this.#scene;
    const { configs, ground, switches } = scene;
    this.remembersFrom = undefined;
    scene.followedBy = replica;
    const chain = switches.chain?.(ground.port) ?? ground.port;
    this.#follower = new ChainFollower({
      usage: scene.store(replica),
      chainId,
      current: () => ({ config: configs.chainConfig(), chain }),
      platformAccounts: () =>
        wallets.map(({ contract, wallet }) => ({
          contract,
          ...(wallet === undefined ? {} : { fundingAddress: wallet }),
        })),
      clock: scene.clock,
      log: this.#log(),
    });
  }

  /** As when a replica is asked for a wallet that the store does not know. */
  async ensure(account: AccountId): Promise<void> {
    await this.#scene.unlessUnavailable(() => this.#follower.ensureAccount(account));
  }

  /** False when it had no effect. */
  async round(): Promise<boolean> {
    const { chain, configs, forgeries, ground, stores, followedBy } = this.#scene;
    this.seenHeight = Math.max(this.seenHeight, chain.height);
    if (!(await this.#freeCommits())) {
      await this.#scene.unlessUnavailable(() => stores.recovery(followedBy).recover(chainId));
      return false;
    }
    for (let i = 0; i < 4; i++) {
      if (chain.faults.emptyLogs > 0) forgeries.mayBeHidden();
      const round = await this.#scene.unlessUnavailable(
        () => this.#follower.round(),
        (reason) => this.#scene.count(`round: ${reason}`),
      );
      if (round === undefined) {
        await this.#scene.unlessUnavailable(() => stores.recovery(followedBy).recover(chainId));
        return false;
      }
      for (const name of ['settled', 'released', 'forfeited', 'unpaid', 'unattributed', 'restored'] as const)
        this.#scene.count(name, round[name]);
      const settled = round.cursor === undefined ? undefined : await ground.heightOf(round.cursor);
      const forged =
        settled === undefined ? 0 : forgeries.settle(settled, (contract) => configs.isOffered(contract));
      if (round.unattributed > forged) await this.#resumeAfterLoss();
      this.remembersFrom ??= settled;
      if (!round.isComplete) continue;
      await this.#scene.unlessUnavailable(() => this.#notice());
      return true;
    }
    return false;
  }

  /** Rounds until nothing is left to do; false while the data count as lost. */
  async settle(): Promise<boolean> {
    for (let i = 0; i < 5; i++) {
      // For a head that it knows, the follower reads nothing again for a while.
      await this.#mining.mineEmpty(1);
      await this.round();
    }
    const cursor = await this.#scene.unlessUnavailable(() => this.#scene.store().cursor(chainId));
    return cursor !== undefined;
  }

  /** The platform resumes suspended contracts. */
  async resume(): Promise<void> {
    const store = this.#scene.store();
    for (const id of await store.suspended(chainId)) await store.setSuspended(chainId, id, false);
    this.#scene.forgeries.stopped.clear();
  }

  /** The model's height of the block that is settled; undefined where the store does not answer, or the block was removed. */
  async settledHeight(): Promise<number | undefined> {
    const cursor = await this.#scene.unlessUnavailable(() => this.#scene.store().cursor(chainId));
    return cursor && this.#scene.ground.heightOf(cursor);
  }

  /** Settled blocks were removed, down to this height. */
  reorganisedTo(height: number): void {
    this.seenHeight = height;
    this.isReorganised = true;
    this.#reports = [];
  }

  /** True once a follower knows the last reorganisation: data that are lost before that cannot tell what was removed. */
  async hasNoticed(): Promise<boolean> {
    for (let i = 0; i < 5 && this.isReorganised; i++) {
      this.#scene.chain.heal();
      await this.#mining.mineEmpty(5);
      await this.round();
    }
    return !this.isReorganised;
  }

  /** As before every round of the service: whether or not the chain can be read. False when the store does not answer. */
  async #freeCommits(): Promise<boolean> {
    const { clock, commits, truth, unclear } = this.#scene;
    const now = clock.now();
    const unfinished = await this.#scene.unlessUnavailable(() => this.#scene.store().dropCommits(chainId));
    if (unfinished === undefined) return false;
    this.#scene.count('never finalized', unfinished);
    if (!commits.haveEnded(now)) return true;
    const held = await this.#scene.unlessUnavailable(() => this.#scene.data().reservations(chainId));
    if (held !== undefined) checkFreed(held, truth.grants, { now, isUnclear: (name) => unclear.has(name) });
    return held !== undefined;
  }

  /** After a complete round the service must have acted on everything that it now knows. */
  async #notice(): Promise<void> {
    const { chain, forgeries, ground, truth } = this.#scene;
    const store = this.#scene.store();
    const cursor = await store.cursor(chainId);
    const settled = cursor === undefined ? undefined : await ground.heightOf(cursor);
    if (settled === undefined) return;
    truth.knownFrom = settled;
    if (this.isReorganised && !this.#reports.includes(reorganised))
      throw new BrokenRule(1, 'a reorganisation below the settled block was not reported');
    this.isReorganised = false;
    const suspended = await store.suspended(chainId);
    forgeries.check((contract) => suspended.includes(contractFence(contract)));
    await checkRound(this.#scene, settled);
    if (chain.faults.lag === 0 && !forgeries.hasUnsettled()) truth.excess.mayGrow = false;
  }

  /** A contract is suspended when an operation of it was mined that the data do not contain. Only lost data explain that. */
  async #resumeAfterLoss(): Promise<void> {
    if (this.#scene.lostGrants.length === 0)
      throw new BrokenRule(6, 'an operation that was promised was not recognised');
    await this.resume();
  }

  #log(): Logger {
    const log: Logger = {
      ...silentLogger,
      error: (message: string) => void this.#reports.push(message),
      child: () => log,
    };
    return log;
  }
}
