import { isDeepStrictEqual } from 'node:util';
import type { ChainConfig, ProfileConfig } from '../../core/config/chain-config.js';
import type { LimitConfig } from '../../core/policy/spending-limit/spec.js';
import type { PaymasterConfig } from '../../core/config/paymaster-config.js';
import { Wallet } from 'ethers';
import { bothKeys, listedFiles, type KeyWatch } from './key-watch.js';
import { apiKeyHash, NameMemory } from './ownership.js';
import { silentLogger } from '../../core/log.js';
import type { LayoutId } from '../../core/paymaster/layout.js';
import { layouts } from '../../core/paymaster/layouts.js';
import type { OpenZeppelinOptions } from '../../core/paymaster/openzeppelin/options.js';
import { entryPoints } from '../../core/entry-point/address.js';
import { parseAddress, toAddressKey, type AddressKey } from '../../core/units/address.js';
import { devAccounts } from '../../standalone/dev-chain/dev-accounts.js';
import { describeDevChain } from '../../standalone/dev-chain/deployments.js';
import { sponsorSignerKey } from '../chain/support/dev-chain.js';
import { toMs, type EpochMs, type EpochSeconds } from '../../core/units/time.js';
import { serveChain, type ServedChain } from '../../server/view/served-chain.js';
import { servePaymaster, type ServedPaymaster } from '../../server/view/served-paymaster.js';
import { createSharing } from '../../server/view/sharing.js';
import { anAddress, chainId, startMs } from '../conformance/usage-requests.js';
import type { EntryPointVersion } from '../../core/entry-point/version.js';
import { layoutKinds } from './chain/layout-kinds.js';
import type { ContractSpec } from './chain/operations.js';

/** The dev chain's addresses, which are known without starting one, so that the model and a real chain have the same world. */
const deployments = describeDevChain(
  chainId,
  parseAddress(new Wallet(sponsorSignerKey).address),
  devAccounts.deployer.address,
);
const addressOf = (version: string): AddressKey =>
  toAddressKey(deployments.profiles.find((profile) => profile.version === version)!.sponsorship);

/** Three contracts that keep a balance per sponsor, four that pay from their one deposit. */
export const contracts = {
  hybrid06: addressOf('1.1.0'),
  hybrid07: addressOf('2.0.0'),
  plain07: addressOf('singleton-0.7'),
  /** Takes tokens in validation where its profile says so. */
  plain08: addressOf('singleton-0.8'),
  hybrid09: addressOf('hybrid-0.9'),
  verifying09: addressOf('verifying-0.9'),
  /** Compiled from the published package, with a subclass that reads the tail; the test on the real EntryPoints deploys it here. */
  openZeppelin09: toAddressKey('0xa746E3BB92E31D9131ba60eC2BEB5dEAD53b92f1'),
} as const;
export const defaultWallet = toAddressKey(deployments.defaultFunding);
/** Proven by the first organisation. */
export const ownWallet = anAddress(0xf1);
export const treasury = toAddressKey(deployments.treasury);
export const feeToken = toAddressKey(deployments.feeToken.address);
export const callTargets = { feeToken, counter: deployments.sponsoredContract.address };
export const senders = [0xa1, 0xa2, 0xa3, 0xa4].map(anAddress);
export const lossBudgetEther = '0.02';
export const confirmations = 2;

type World = {
  readonly layout: LayoutId;
  readonly contract: AddressKey;
  readonly version: EntryPointVersion;
};
const worlds: readonly World[] = [
  { layout: 'vendor-1.1.0', contract: contracts.hybrid06, version: '0.6' },
  { layout: 'vendor-2.x', contract: contracts.hybrid07, version: '0.7' },
  { layout: 'singleton-0.7', contract: contracts.plain07, version: '0.7' },
  { layout: 'singleton-0.8', contract: contracts.plain08, version: '0.8' },
  { layout: 'hybrid-0.9', contract: contracts.hybrid09, version: '0.9' },
  { layout: 'verifying-0.9', contract: contracts.verifying09, version: '0.9' },
  { layout: 'openzeppelin-0.9', contract: contracts.openZeppelin09, version: '0.9' },
];

export const specs: readonly ContractSpec[] = worlds.map(({ layout, contract, version }) => ({
  address: contract,
  entryPoint: toAddressKey(entryPoints[version]),
  version,
  ...layoutKinds[layout],
  tokenAccount: treasury,
}));

/** Paymasters of three organisations on shared contracts; one organisation has its own wallet. */
export const paymasters = [
  { paymasterId: 'a/one', namespace: 'a', version: 'vendor-2.x' },
  { paymasterId: 'a/two', namespace: 'a', version: 'vendor-2.x', fundingAddress: ownWallet },
  { paymasterId: 'b/one', namespace: 'b', version: 'vendor-2.x' },
  { paymasterId: 'b/two', namespace: 'b', version: 'singleton-0.7' },
  { paymasterId: 'c/one', namespace: 'c', version: 'singleton-0.7' },
  { paymasterId: 'c/two', namespace: 'c', version: 'vendor-1.1.0' },
  { paymasterId: 'a/three', namespace: 'a', version: 'singleton-0.8' },
  { paymasterId: 'c/three', namespace: 'c', version: 'singleton-0.8' },
  { paymasterId: 'b/three', namespace: 'b', version: 'hybrid-0.9' },
  { paymasterId: 'a/four', namespace: 'a', version: 'hybrid-0.9', fundingAddress: ownWallet },
  { paymasterId: 'b/four', namespace: 'b', version: 'verifying-0.9' },
  { paymasterId: 'c/four', namespace: 'c', version: 'verifying-0.9' },
  { paymasterId: 'a/five', namespace: 'a', version: 'openzeppelin-0.9' },
] as const;

/** Those whose contract reads the signature from the tail, so that it can be made last. */
export const twoPhasePaymasters = [8, 9, 10, 11, 12] as const;

/** The contract that pays for a paymaster's operations. */
export function specOf(paymaster: number): ContractSpec {
  const { version } = paymasters[paymaster]!;
  return specs[worlds.findIndex(({ layout }) => layout === version)]!;
}

/** Whether its contract has mode ERC20. */
export function takesTokens(paymaster: number): boolean {
  return layouts[paymasters[paymaster]!.version].token !== undefined;
}

/** One limit of a paymaster as its owner last wrote it. A new start begins a new cycle. */
export type LimitState = { startMs: EpochMs; threshold: number; isActive: boolean };

const kinds = [
  { scope: 'TOTAL', thresholdType: 'NATIVE_ASSET', durationMs: 600_000 },
  { scope: 'SMART_ACCOUNT', thresholdType: 'COUNT', durationMs: 1_800_000 },
] as const;

/** Thresholds as the owner first wrote them. */
const first = [30, 4] as const;

function policyIdOf(index: number, limit: number): string {
  return `${paymasters[index]!.paymasterId}/${limit}`;
}

/** What the platform and the tenants have written, and the configs that the real code compiles from it. */
export class Configs {
  readonly limits: LimitState[][] = paymasters.map(() =>
    first.map((threshold) => ({ startMs, threshold, isActive: true })),
  );
  readonly #removed = new Set<string>();
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
        .map((world) => profilesOf.get(world)!),
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
      Object.assign(limit, { startMs: starts[i]!, threshold: first[i]!, isActive: true });
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
    const { paymasterId, namespace, version, ...rest } = paymasters[index]!;
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
      ...('fundingAddress' in rest ? { fundingAddress: parseAddress(rest.fundingAddress) } : {}),
      defaultContractAction: 'Allow',
      contractsRegistered: false,
      contracts: [],
      limits,
      webhooks: [],
      walletDeployment: false,
      invalidPolicies: [],
      gas: {},
      maxExpirySeconds: 600,
    } as PaymasterConfig;
  }

  #limitsOf(index: number, areActive: boolean): readonly LimitConfig[] {
    return this.limits[index]!.flatMap(({ startMs: start, threshold, isActive }, i): LimitConfig[] => {
      if (isActive !== areActive) return [];
      const policyId = policyIdOf(index, i);
      // Thousandths of a coin, or operations.
      const text = kinds[i]!.thresholdType === 'COUNT' ? String(threshold) : (threshold / 1000).toFixed(3);
      return [{ policyId, name: policyId, ...kinds[i]!, threshold: text, startMs: start } as LimitConfig];
    });
  }
}

/** The counter that a limit of a paymaster bounds now, as the rules count it, independent of `core/usage`. */
export function boundsOf(configs: Configs, index: number, sender: AddressKey, at: EpochMs) {
  return configs.limits[index]!.flatMap(({ startMs: start, threshold, isActive }, i) => {
    if (!isActive) return [];
    const { scope, thresholdType, durationMs } = kinds[i]!;
    const window = Math.max(0, Math.floor((at - start) / durationMs));
    const subject = scope === 'SMART_ACCOUNT' ? sender : '';
    return [
      {
        name: `${paymasters[index]!.paymasterId}/${i}/${start}/${window}/${subject}`,
        unit: thresholdType,
        until: start + (window + 1) * durationMs,
        most: thresholdType === 'COUNT' ? threshold : threshold * 1_000_000,
      },
    ];
  });
}

/** As the test's contract of OpenZeppelin was deployed. */
const openZeppelin: OpenZeppelinOptions = {
  domainName: 'Test Paymaster',
  domainVersion: '1',
  initCodeHash: 'AsGiven',
  readsPaymasterSignature: true,
};

/** Computed once: an address takes a hash. */
const profilesOf = new Map(worlds.map((world) => [world, profileOf(world)]));

function profileOf({ layout, contract, version }: World): ProfileConfig {
  const address = parseAddress(contract);
  const hasTokens = layouts[layout].token !== undefined;
  return {
    version: layout,
    layout,
    entryPoint: entryPoints[version],
    sponsorship: address,
    ...(hasTokens ? { token: address } : {}),
    signerFile: listedFiles[0],
    signerFiles: listedFiles,
    defaultFunding: { address: parseAddress(defaultWallet), organisations: ['*'] },
    options: {
      priceMarkup: 1_000_000,
      unaccountedGas: layout === 'vendor-2.x' ? 10_000 : 0,
      treasury: parseAddress(treasury),
      ...(layout === 'openzeppelin-0.9' ? { openZeppelin } : {}),
    },
    tokenLossBudget: lossBudgetEther,
    tokenSecured: true,
    ...(layout === 'singleton-0.8' ? { tokenPayment: 'preFund' as const } : {}),
  };
}

export function secondsOf(at: EpochMs): EpochSeconds {
  return Math.floor(at / 1000) as EpochSeconds;
}
export const dayOf = (seconds: number): number => Math.floor(toMs(seconds as EpochSeconds) / 86_400_000);
