import type { Chain } from '../../core/chain/chain.js';
import type { ReservationKey } from '../../core/usage/reservation.js';
import type { UsageStore } from '../../core/usage/usage-store.js';
import type { AccountValidator } from '../../core/userop/account-validation.js';
import type { aClock } from '../adapters/usage/clock.js';
import type { ModelChain } from './chain/model-chain.js';
import { Commits } from './commits.js';
import { Forgeries } from './forgeries.js';
import type { Ground } from './ground.js';
import { KeyRule, KeyWatch, type KeyFacts } from './key-watch.js';
import type { Stores } from './stores.js';
import type { Grant } from './grant.js';
import { Truth } from './truth.js';
import { Configs } from './configs.js';
import { unlessUnavailable } from './unless-unavailable.js';
import { paymasters, secondsOf } from './world.js';

/** Seams at which a test turns a rule off. An absent one leaves the code as it is. */
export type Switches = {
  /** Wraps the store that replicas and follower get. */
  readonly usage?: (store: UsageStore) => UsageStore;
  /** Wraps the chain that the follower reads. */
  readonly chain?: (chain: Chain) => Chain;
  /** Whether a recreated paymaster counts as a new one. */
  readonly forgetsNames?: boolean;
  /** Wraps what the operator knows of the contracts' signers. */
  readonly keyFacts?: (facts: KeyFacts) => KeyFacts;
  /** Called when the signer has failed for a request that was reserved. */
  readonly onUnsigned?: (store: UsageStore, key: ReservationKey) => Promise<void>;
  /** How the service takes it when a signer's answer is lost. Default `unknown`. */
  readonly lostAnswer?: 'unsigned';
  /** Wraps the simulation of an account's signature. */
  readonly accounts?: (accounts: AccountValidator) => AccountValidator;
};

/** What all parts of a run share: the service under test, the world around it, and what is true. */
export class Scene {
  readonly clock: ReturnType<typeof aClock>;
  readonly stores: Stores;
  readonly switches: Switches;
  readonly ground: Ground;
  readonly chain: ModelChain;
  readonly configs: Configs;
  readonly truth: Truth;
  readonly forgeries: Forgeries;
  /** The operator. */
  readonly watch: KeyWatch;
  readonly keyRule = new KeyRule();
  readonly commits = new Commits();
  /** Reservations of requests to which the store has not answered. */
  readonly unclear = new Set<string>();
  /** How often each thing happened, so that a test can check that the run was meaningful. */
  readonly seen = new Map<string, number>();
  /** The highest key that each paymaster has ever had. */
  readonly keyGenerations = paymasters.map(() => 1);
  /** The replica that follows the chain. */
  followedBy = 0;
  isCrashing = false;
  /** Whether data were replaced by older ones. */
  wereOlder = false;
  /** Signatures that the current data do not contain. */
  lostGrants: readonly Grant[] = [];
  /** Whether a node has hidden logs. */
  wereLogsHidden = false;
  /** Some transaction could not be read for a while: promises wait, and then settle without. */
  wasUnreadable = false;
  /** Whether an attacker has mined with a leaked key what the service had promised to pay for in another way. */
  wasForged = false;
  /** False once data were lost or attribution became impossible: counters may then hold more than was spent. */
  isExact = true;

  constructor(clock: ReturnType<typeof aClock>, stores: Stores, switches: Switches, ground: Ground) {
    this.clock = clock;
    this.stores = stores;
    this.switches = switches;
    this.ground = ground;
    this.chain = ground.model;
    this.watch = new KeyWatch(clock, switches.keyFacts);
    this.configs = new Configs(this.watch, switches.forgetsNames);
    this.truth = new Truth(this.chain);
    this.forgeries = new Forgeries(this.chain);
  }

  /** Unix seconds. */
  now(): number {
    return secondsOf(this.clock.now());
  }

  count(name: string, by = 1): void {
    this.seen.set(name, (this.seen.get(name) ?? 0) + by);
  }

  /** Undefined where the service does not answer for a reason that this run has caused. */
  unlessUnavailable<T>(
    call: () => Promise<T>,
    told: (reason: string) => void = () => {},
  ): Promise<T | undefined> {
    const { isCrashing, wereOlder, configs } = this;
    return unlessUnavailable({ isCrashing, wereOlder, hasPrice: configs.price !== undefined }, call, told);
  }

  /** Crashes the server that holds the data during this call. */
  async crash(during: () => Promise<void>): Promise<void> {
    this.isCrashing = true;
    await this.stores.crash(during);
    this.isCrashing = false;
  }

  /** What a replica uses. Defaults to the one that follows the chain. */
  store(index = this.followedBy): UsageStore {
    const store = this.data(index);
    return this.switches.usage?.(store) ?? store;
  }

  /** The same without switches. */
  data(index = this.followedBy): UsageStore {
    const { replicas } = this.stores;
    return replicas[index % replicas.length]!;
  }
}
