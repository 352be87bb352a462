import { isDeepStrictEqual } from 'node:util';
import type { ChainConfig, ProfileConfig } from '../../core/config/chain-config.js';
import type { PaymasterConfig } from '../../core/config/paymaster-config.js';
import { silentLogger } from '../../core/log.js';
import type { LimitConfig } from '../../core/policy/spending-limit/schema.js';
import { parseAddress, type AddressKey } from '../../core/units/address.js';
import type { EpochMs } from '../../core/units/time.js';
import { serveChain, type ServedChain } from '../../server/view/served-chain.js';
import { servePaymaster, type ServedPaymaster } from '../../server/view/served-paymaster.js';
import { createSharing } from '../../server/view/sharing.js';
import { chainId, startMs } from '../conformance/usage-requests.js';
import { bothKeys, type KeyWatch } from './key-watch.js';
import {
  budgetConfigOf,
  limitConfigOf,
  limitKinds,
  policyIdOf,
  prices,
  type LimitState,
} from './limit-kinds.js';
import { apiKeyHash, NameMemory } from './ownership.js';
import { profilesOf } from './profiles.js';
import { confirmations, defaultWallet, lossBudgetEther, paymasters, worlds } from './world.js';

/** What the platform and the tenants have written, and the configs that the real code compiles from it. */
export class Configs {
  readonly limits: LimitState[][] = paymasters.map(() =>
    limitKinds.map(({ first }) => ({ startMs, threshold: first, isActive: true })),
  );
  /** Millionths of a dollar per coin; undefined: no price may be used. */
  price: bigint | undefined = prices[0];
  readonly #wallets: (AddressKey | undefined)[] = paymasters.map((one) =>
    'fundingAddress' in one ? one.fundingAddress : undefined,
  );
  readonly #removed = new Set<string>();
  readonly #budgets = new Map<string, string>(worlds.map(({ layout }) => [layout, lossBudgetEther]));
  readonly #names: readonly NameMemory[];
  readonly #served: ServedPaymaster[][] = paymasters.map(() => []);
  /** Generation of each paymaster's config and of the chain's. */
  readonly generations: number[] = paymasters.map(() => 1);
  chainGeneration = 1;
  #config: ChainConfig | undefined;
  #chain: ServedChain | undefined;
  #chainBefore: ServedChain | undefined;

  /** The profiles as they were stored last, with the keys that sign. */
  #profiles: readonly ProfileConfig[] = worlds.map((world) => ({
    ...profilesOf.get(world)!,
    signerFile: 'dev',
  }));
  readonly #watch: KeyWatch;

  constructor(watch: KeyWatch, forgetsNames = false) {
    this.#watch = watch;
    this.#names = paymasters.map(() => new NameMemory(forgetsNames));
    for (const index of paymasters.keys()) this.#publish(index, startMs);
  }

  chainConfig(): ChainConfig {
    return (this.#config ??= { ...this.#asWritten(), profiles: this.#profiles });
  }

  #asWritten(): ChainConfig {
    return {
      chainId,
      objectName: 'dev',
      configGeneration: this.chainGeneration,
      suspended: false,
      rpc: { urls: ['http://127.0.0.1:1'] },
      nativeCurrency: { name: 'Ether', symbol: 'ETH', decimals: 18 },
      confirmations,
      delegates: [],
      gas: {},
      profiles: worlds
        .filter(({ layout }) => !this.#removed.has(layout))
        .map((world) => ({ ...profilesOf.get(world)!, tokenLossBudget: this.#budgets.get(world.layout)! })),
      feeTokens: [],
    };
  }

  /** `isBehind`: as it was before the last change. */
  chain(isBehind = false): ServedChain {
    if (isBehind) return this.#chainBefore ?? this.chain();
    return (this.#chain ??= serveChain(this.chainConfig(), bothKeys, silentLogger));
  }

  /** `generationsBehind`: as it was so many changes ago. */
  paymaster(index: number, generationsBehind = 0): ServedPaymaster {
    return this.#served[index]!.at(-1 - generationsBehind)!;
  }

  /** A limit is changed or paused, a profile removed or offered again. */
  changeLimit(index: number, limit: number, change: Partial<LimitState>, now: EpochMs): void {
    Object.assign(this.limits[index]![limit]!, change);
    this.#change(index, now);
  }

  keyGeneration(index: number): number {
    return this.#names[index]!.keyGeneration;
  }

  /** The wallet that pays for a paymaster: its organisation's, or the platform's. */
  walletOf(index: number): AddressKey {
    return this.#wallets[index] ?? defaultWallet;
  }

  /** The organisation proves another wallet. */
  prove(index: number, wallet: AddressKey, now: EpochMs): void {
    this.#wallets[index] = wallet;
    this.#change(index, now);
  }

  /** The owner asks for another key: the one before ends at once. */
  rotateKey(index: number, now: EpochMs): void {
    this.#names[index]!.rotate();
    this.#change(index, now);
  }

  /**
   * Deletes the object and recreates it as it was written first. Its cycles go on until the window in which it was deleted ends.
   * Answers the limits whose cycle was forgotten.
   */
  makeAgain(index: number, now: EpochMs): readonly string[] {
    const limits = this.limits[index]!;
    const policyIds = limits.map((_, i) => policyIdOf(index, i));
    const starts = this.#names[index]!.makeAgain(this.#paymasterConfig(index, now), policyIds, now);
    const forgotten = policyIds.filter((_, i) => starts[i] !== limits[i]!.startMs);
    for (const [i, limit] of limits.entries())
      Object.assign(limit, { startMs: starts[i]!, threshold: limitKinds[i]!.first, isActive: true });
    this.#change(index, now);
    return forgotten;
  }

  #change(index: number, now: EpochMs): void {
    this.generations[index]! += 1;
    this.#publish(index, now);
  }

  #publish(index: number, now: EpochMs): void {
    this.#served[index]!.push(servePaymaster(this.#paymasterConfig(index, now), createSharing()));
  }

  toggleProfile(index: number): void {
    const { layout } = worlds[index]!;
    if (!this.#removed.delete(layout)) this.#removed.add(layout);
    this.#store(this.#compiled());
  }

  /** `part`: thousandths of the first budget. */
  changeBudget(index: number, part: number): void {
    this.#budgets.set(worlds[index]!.layout, ((Number(lossBudgetEther) * part) / 1_000).toFixed(9));
    this.#store(this.#compiled());
  }

  /** Stores which keys sign now, as the operator has seen it. Answers whether that changed anything. */
  storeSeen(): boolean {
    const profiles = this.#compiled();
    if (isDeepStrictEqual(profiles, this.#profiles)) return false;
    this.#store(profiles);
    return true;
  }

  #compiled(): readonly ProfileConfig[] {
    return this.#watch.seenIn(this.#asWritten(), this.#profiles);
  }

  #store(profiles: readonly ProfileConfig[]): void {
    this.#chainBefore = this.chain();
    this.chainGeneration += 1;
    this.#profiles = profiles;
    this.#config = undefined;
    this.#chain = undefined;
  }

  /** Whether a profile names the contract now. */
  isOffered(contract: AddressKey): boolean {
    return worlds.some((world) => world.contract === contract && !this.#removed.has(world.layout));
  }

  #paymasterConfig(index: number, now: EpochMs): PaymasterConfig {
    const { paymasterId, namespace, version } = paymasters[index]!;
    const fundingAddress = this.#wallets[index];
    const name = this.#names[index]!;
    const limits = this.#limitsOf(index, true);
    const memory = name.remember(limits, this.#limitsOf(index, false), now);
    return {
      paymasterId,
      namespace,
      objectName: paymasterId,
      name: paymasterId,
      chainId,
      version,
      configGeneration: this.generations[index]!,
      suspended: false,
      keys: [{ sha256: apiKeyHash(paymasterId, name.keyGeneration) }],
      ...(memory === undefined ? {} : { memory }),
      tokens: [],
      ...(fundingAddress === undefined ? {} : { fundingAddress: parseAddress(fundingAddress) }),
      defaultContractAction: 'Allow',
      contractsRegistered: false,
      contracts: [],
      limits: [...limits, budgetConfigOf(index)],
      webhooks: [],
      walletDeployment: false,
      invalidPolicies: [],
      gas: {},
      maxExpirySeconds: 600,
    } as PaymasterConfig;
  }

  #limitsOf(index: number, areActive: boolean): readonly LimitConfig[] {
    return this.limits[index]!.flatMap((limit, i) =>
      limit.isActive === areActive ? [limitConfigOf(index, i, limit)] : [],
    );
  }
}
