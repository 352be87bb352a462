import type { Ambient } from '../../core/ambient.js';
import type { Tenant } from '../../core/config/tenant.js';
import type { ChainConfig } from '../../core/config/chain-config.js';
import { isAhead } from '../../core/config/generation.js';
import type { ConfigEvent, ConfigStore, Deletion } from '../../core/config/config-store.js';
import type { PaymasterConfig } from '../../core/config/paymaster-config.js';
import { DomainError } from '../../core/errors.js';
import { isWhole } from '../../core/policy/address-list.js';
import type { AddressKey } from '../../core/units/address.js';
import type { Signers } from '../../core/paymaster/signer.js';
import type { AccountId } from '../../core/usage/reservation.js';
import { chainFence } from '../../core/usage/reserve-request.js';
import type { Instruments } from '../ops/instruments.js';
import { createKeyLookup } from './key-lookup.js';
import { forKey } from './served-keys.js';
import { serveChain, defaultFundingAccounts, type ServedChain } from './served-chain.js';
import { isOpen, servePaymaster, type ServedPaymaster } from './served-paymaster.js';
import { createSharing } from './sharing.js';

/**
 * What this replica serves, kept current by the config store's watch.
 *
 * - A request costs one look-up by the hash of its key; nothing is parsed, and no config text is kept.
 * - A record is compiled once per change and frozen. It holds the names of its chain and version instead of the objects, so
 *   a change of a chain replaces one object, however many paymasters use it.
 * - A config that does not compile replaces nothing: the last good record keeps serving, and the log says why.
 */
export type ConfigView = ReturnType<typeof createConfigView>;

/** The generation of a config that this replica has seen (created, changed or deleted), for the usage store's fence. */
export type SeenConfig = {
  readonly chainId: number;
  /** The paymasterId, or `chain` for the config of the chain itself. */
  readonly id: string;
  readonly generation: number;
  readonly state: 'active' | 'suspended' | 'deleted';
};

type ConfigViewDeps = Pick<Ambient, 'clock' | 'log'> & {
  readonly configs: Pick<ConfigStore, 'watch' | 'findByKey' | 'getPaymaster' | 'getChain'>;
  readonly signers: Signers;
  /** Default 6 h. */
  readonly maxStalenessMs?: number;
  readonly instruments: Pick<Instruments, 'configs' | 'configAge' | 'configsAhead' | 'openPaymasters'>;
  /** Called with every config that this replica sees, before it is served. Default: nothing is called. */
  readonly onSeen?: (seen: SeenConfig) => void;
  /** Called with every config of a paymaster that it serves. Default: nothing is called. */
  readonly onServed?: (config: PaymasterConfig) => void;
};

const defaultMaxStalenessMs = 6 * 3_600_000;

export function createConfigView(deps: ConfigViewDeps) {
  const {
    configs,
    signers,
    maxStalenessMs = defaultMaxStalenessMs,
    clock,
    log,
    instruments,
    onSeen = () => {},
    onServed = () => {},
  } = deps;
  const byKey = new Map<string, ServedPaymaster>();
  const byId = new Map<string, ServedPaymaster>();
  const chains = new Map<number, ServedChain>();
  /** Addresses by the hash of their list: held once, however many paymasters name it. */
  const lists = new Map<string, ReadonlySet<AddressKey>>();
  /** Records that were replaced or removed, by their lists of keys: key and campaign of a request may have narrowed a record. */
  const replaced = new WeakSet<ServedPaymaster['keys']>();
  const sharing = createSharing();
  const lookup = createKeyLookup({ configs, clock });
  const counts = {
    paymasters: instruments.configs.with({ kind: 'paymaster' }),
    chains: instruments.configs.with({ kind: 'chain' }),
    lists: instruments.configs.with({ kind: 'address-list' }),
    open: instruments.openPaymasters.with({}),
  };
  let open = 0;
  let watch: ReturnType<ConfigStore['watch']> | undefined;
  let synced = false;

  /**
   * A generation is a time. If it is far ahead of our clock, a fence with it would shut out every config that is written
   * until then. So it is reported, and not given to a fence.
   */
  function fenceGeneration(seen: SeenConfig): void {
    if (isAhead(seen.generation, clock.now())) {
      instruments.configsAhead.with({ kind: seen.id === chainFence ? 'chain' : 'paymaster' }).inc();
      log.error('generation of a config is ahead of the clock', {
        chainId: seen.chainId,
        id: seen.id,
        aheadSeconds: Math.round((seen.generation - clock.now()) / 1000),
      });
      return;
    }
    onSeen(seen);
  }

  function forget(paymasterId: string): void {
    const known = byId.get(paymasterId);
    if (known === undefined) return;
    byId.delete(paymasterId);
    if (isOpenNow(known)) open -= 1;
    replaced.add(known.keys);
    for (const key of known.keys) if (byKey.get(key) === known) byKey.delete(key);
  }

  function remember(paymaster: ServedPaymaster): void {
    forget(paymaster.paymasterId);
    byId.set(paymaster.paymasterId, paymaster);
    if (isOpenNow(paymaster)) open += 1;
    for (const key of paymaster.keys) byKey.set(key, paymaster);
  }

  function seeDeletion(id: string, deletion: Deletion | undefined): void {
    if (deletion === undefined) return;
    fenceGeneration({
      chainId: deletion.chainId,
      id,
      generation: deletion.configGeneration,
      state: 'deleted',
    });
  }

  function compile(config: PaymasterConfig): ServedPaymaster | undefined {
    try {
      const compiled = servePaymaster(config, sharing);
      const { chainId, paymasterId: id, configGeneration: generation, suspended } = config;
      // Only after it has compiled: a fence for a config that no replica can serve would stop the last good record.
      const before = byId.get(id)?.chainId ?? chainId;
      // Its older configs must not be signed on its former chain either.
      if (before !== chainId) fenceGeneration({ chainId: before, id, generation, state: 'deleted' });
      fenceGeneration({ chainId, id, generation, state: suspended ? 'suspended' : 'active' });
      return compiled;
    } catch (error) {
      log.error('config of a paymaster cannot be served', { paymasterId: config.paymasterId, error });
      return undefined;
    }
  }

  function putChain(config: ChainConfig): void {
    try {
      const compiled = serveChain(config, signers, log);
      const { chainId, configGeneration: generation, suspended } = config;
      fenceGeneration({ chainId, id: chainFence, generation, state: suspended ? 'suspended' : 'active' });
      chains.set(chainId, compiled);
    } catch (error) {
      log.error('config of a chain cannot be served', { chainId: config.chainId, error });
    }
  }

  /** Reads a chain again after another replica has served a newer config of it. */
  async function refreshChain(chainId: number): Promise<void> {
    const stored = await configs.getChain(chainId);
    const known = chains.get(chainId);
    if (stored === undefined || known === undefined) return;
    if (stored.config.configGeneration > known.config.configGeneration) putChain(stored.config);
  }

  function apply(event: ConfigEvent): void {
    switch (event.type) {
      case 'put-paymaster': {
        lookup.noteChange(event.config.paymasterId);
        const compiled = compile(event.config);
        if (compiled === undefined) break;
        remember(compiled);
        onServed(event.config);
        break;
      }
      case 'delete-paymaster':
        lookup.noteChange(event.paymasterId);
        seeDeletion(event.paymasterId, event.deletion ?? toDeletion(byId.get(event.paymasterId)));
        forget(event.paymasterId);
        break;
      case 'put-chain':
        putChain(event.config);
        break;
      case 'delete-chain':
        seeDeletion(chainFence, event.deletion ?? toDeletion(chains.get(event.chainId)?.config));
        chains.delete(event.chainId);
        break;
      case 'put-list':
        if (isWhole(event.list)) lists.set(event.list.hash, new Set(event.list.addresses));
        break;
      case 'delete-list':
        lists.delete(event.hash);
        break;
    }
    counts.paymasters.set(byId.size);
    counts.chains.set(chains.size);
    counts.lists.set(lists.size);
    counts.open.set(open);
  }

  function staleness(): number {
    return watch === undefined ? Number.POSITIVE_INFINITY : clock.now() - watch.confirmedAt();
  }

  function ifAccepted(paymaster: ServedPaymaster | undefined, sha256: string): ServedPaymaster | undefined {
    if (paymaster === undefined || !acceptsKey(paymaster, sha256, clock.now())) return undefined;
    return forKey(paymaster, sha256);
  }

  return {
    /** The paymaster that accepts this key now, if the watch has delivered the paymaster. */
    find: (sha256: string): ServedPaymaster | undefined => ifAccepted(byKey.get(sha256), sha256),

    /**
     * Asks the store for a key that `find` does not know (e.g. of a new paymaster), for the client at this address.
     * Throws RATE_LIMITED, UNAVAILABLE.
     */
    async load(sha256: string, client: string): Promise<ServedPaymaster | undefined> {
      const found = await lookup.find(sha256, client, compile);
      // The watch may have been faster. Then its record counts: the look-up returned nothing, or may have read an older one.
      return ifAccepted(byKey.get(sha256) ?? found, sha256);
    },

    /** Reads one paymaster and its chain again without the watch, for a replica that has fallen behind. */
    async refresh(paymasterId: string): Promise<ServedPaymaster | undefined> {
      const stored = await configs.getPaymaster(paymasterId);
      if (stored === undefined) return undefined;
      await refreshChain(stored.config.chainId);
      const known = byId.get(paymasterId);
      // The watch may have been faster; a read that began earlier must not undo it.
      if (known !== undefined && known.configGeneration >= stored.config.configGeneration) return known;
      const compiled = compile(stored.config);
      if (compiled !== undefined && known !== undefined) remember(compiled);
      return compiled;
    },

    /**
     * False when either was replaced or removed since it was looked up. For callers that waited in between: once a change
     * has been answered, nothing may be signed on a decision from an older record.
     */
    isCurrent(paymaster: ServedPaymaster, chain: ServedChain): boolean {
      const { paymasterId, configGeneration, chainId } = paymaster;
      if (replaced.has(paymaster.keys) || chains.get(chainId) !== chain) return false;
      const listed = byId.get(paymasterId);
      // A record that a look-up read before the watch is not listed, but it is current.
      return listed === undefined || listed === paymaster || listed.configGeneration <= configGeneration;
    },
    chain: (chainId: number): ServedChain | undefined => chains.get(chainId),
    chains: (): Iterable<ServedChain> => chains.values(),
    /** A list of addresses by its hash; undefined while it is not known. */
    addressList: (hash: string): ReadonlySet<AddressKey> | undefined => lists.get(hash),
    /** A served paymaster. */
    served: (paymasterId: string): ServedPaymaster | undefined => byId.get(paymasterId),
    /** The organisations of the paymasters that are served on a chain, by version. */
    organisationsOn(chainId: number): ReadonlyMap<string, ReadonlySet<string>> {
      const byVersion = new Map<string, Set<string>>();
      for (const { chainId: on, version, namespace } of byId.values()) {
        if (on !== chainId) continue;
        const known = byVersion.get(version);
        if (known === undefined) byVersion.set(version, new Set([namespace]));
        else known.add(namespace);
      }
      return byVersion;
    },
    /** Whether there is a paymaster that can be signed for: nothing that its config says keeps it from that. */
    canSign(): boolean {
      for (const { notReady, chainId, version } of byId.values()) {
        const profile = chains.get(chainId)?.profiles.get(version);
        if (notReady === undefined && profile !== undefined && profile.unusable === undefined) return true;
      }
      return false;
    },
    /** Namespace of a served paymaster. */
    organisationOf: (paymasterId: string): string | undefined => byId.get(paymasterId)?.namespace,
    /** Under which the ledger keeps records of a served paymaster. */
    tenantOf: (paymasterId: string): Tenant | undefined => byId.get(paymasterId)?.tenant,
    /** Balances inside contracts that the platform lets organisations draw on. */
    defaultFundingAccounts(chainId: number): readonly AccountId[] {
      const chain = chains.get(chainId);
      return chain === undefined ? [] : defaultFundingAccounts(chain);
    },
    /** Balances inside contracts that served paymasters of a chain draw on. */
    fundingAccounts(chainId: number): readonly AccountId[] {
      const chain = chains.get(chainId);
      if (chain === undefined) return [];
      const accounts = [...byId.values()].flatMap(({ chainId: of, version, fundingAddress }) => {
        const profile = of === chainId ? chain.profiles.get(version) : undefined;
        if (profile?.keepsBalances !== true || fundingAddress === undefined) return [];
        return [{ contract: profile.contractKey, fundingAddress }];
      });
      return [...defaultFundingAccounts(chain), ...accounts];
    },
    /** Milliseconds since the store last confirmed that this view is current. */
    staleness,
    /** How far this view has followed the store. */
    reached: () => watch?.reached?.(),
    /** Whether that was too long ago: the served configs may have been revoked since. */
    isStale: (): boolean => staleness() > maxStalenessMs,
    get synced() {
      return synced;
    },

    /** Starts to watch; resolves when the initial state has been delivered. */
    async start(): Promise<void> {
      if (watch !== undefined) throw new DomainError('INTERNAL', 'the config view is started already');
      watch = configs.watch(apply);
      await watch.synced;
      synced = true;
    },
    stop(): void {
      watch?.stop();
      synced = false;
    },
  };
}

function isOpenNow(paymaster: ServedPaymaster): boolean {
  return isOpen(paymaster) && !paymaster.suspended;
}

function acceptsKey(paymaster: ServedPaymaster, sha256: string, now: number): boolean {
  const end = paymaster.keyEnds?.get(sha256);
  return end === undefined || now < end;
}

/** The generation for a config that was deleted without a tombstone: a config that is created again has a higher one. */
function toDeletion(
  known: Pick<ServedPaymaster, 'chainId' | 'configGeneration'> | undefined,
): Deletion | undefined {
  return known && { chainId: known.chainId, configGeneration: known.configGeneration + 1 };
}
