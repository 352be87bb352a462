import type { ChainConfig } from '../../core/config/chain-config.js';
import { isAhead } from '../../core/config/fences.js';
import type { ConfigEvent, ConfigStore, Deletion } from '../../core/config/config-store.js';
import type { PaymasterConfig } from '../../core/config/paymaster-config.js';
import { DomainError } from '../../core/errors.js';
import type { Logger } from '../../core/log.js';
import type { Signers } from '../../core/paymaster/signer.js';
import { chainFence, type AccountId } from '../../core/usage/usage-store.js';
import type { Clock } from '../../core/units/time.js';
import type { Instruments } from '../ops/instruments.js';
import { createKeyLookup } from './key-lookup.js';
import { serveChain, defaultFundingAccounts, type ServedChain } from './served-chain.js';
import { servePaymaster, type ServedPaymaster } from './served-paymaster.js';
import { createSharing } from './sharing.js';

/**
 * What this replica serves, kept current by the config store's watch.
 *
 * - A request costs one look-up by the hash of its key; nothing is parsed, no text of a config is kept.
 * - A record is compiled once per change and frozen. It names its chain and version rather than holding them, so a change
 *   of a chain swaps one object, however many paymasters use it.
 * - A config that does not compile replaces nothing: the last good record keeps serving, and the log says why.
 */
export type ConfigView = {
  /** The paymaster that accepts this key now, if the watch has delivered it. */
  find(sha256: string): ServedPaymaster | undefined;
  /**
   * Asks the store for a key that `find` does not know (a paymaster made a moment ago), for the client at this address.
   * Throws RATE_LIMITED, UNAVAILABLE.
   */
  load(sha256: string, client: string): Promise<ServedPaymaster | undefined>;
  /** Reads one paymaster and its chain again, past the watch: for a replica that has fallen behind. */
  refresh(paymasterId: string): Promise<ServedPaymaster | undefined>;
  /**
   * False when either was replaced or taken away since it was looked up. For callers that waited in between: what an
   * older record decided must not be signed after a change was answered.
   */
  isCurrent(paymaster: ServedPaymaster, chain: ServedChain): boolean;
  chain(chainId: number): ServedChain | undefined;
  chains(): Iterable<ServedChain>;
  /** Balances inside contracts that the platform lets organisations draw on. */
  defaultFundingAccounts(chainId: number): readonly AccountId[];
  /** Namespace of a paymaster that is served. */
  organisationOf(paymasterId: string): string | undefined;
  /** Milliseconds since the store last confirmed that this is current. */
  staleness(): number;
  /** Whether that is too long ago: what is served may have been revoked since. */
  isStale(): boolean;
  readonly synced: boolean;
  /** Begins to watch; resolves when the state at the start has been delivered. */
  start(): Promise<void>;
  stop(): void;
};

/** The generation of a config that a replica has seen, put, replaced or deleted, for the fence of the usage store. */
export type SeenConfig = {
  readonly chainId: number;
  /** The paymasterId, or `chain` for the config of the chain itself. */
  readonly id: string;
  readonly generation: number;
  readonly state: 'active' | 'suspended' | 'deleted';
};

export type ConfigViewDeps = {
  readonly configs: Pick<ConfigStore, 'watch' | 'findByKey' | 'getPaymaster' | 'getChain'>;
  readonly signers: Signers;
  /** Default 6 h. */
  readonly maxStalenessMs?: number;
  readonly clock: Clock;
  readonly log: Logger;
  readonly instruments: Pick<Instruments, 'configs' | 'configAge' | 'configsAhead' | 'openPaymasters'>;
  /** Told of every config that this replica sees, before it is served. Default: nobody. */
  readonly onSeen?: (seen: SeenConfig) => void;
};

const defaultMaxStalenessMs = 6 * 3_600_000;

export function createConfigView({
  configs,
  signers,
  maxStalenessMs = defaultMaxStalenessMs,
  clock,
  log,
  instruments,
  onSeen = () => {},
}: ConfigViewDeps): ConfigView {
  const byKey = new Map<string, ServedPaymaster>();
  const byId = new Map<string, ServedPaymaster>();
  const chains = new Map<number, ServedChain>();
  /** Records that were listed and are no longer. */
  const replaced = new WeakSet<ServedPaymaster>();
  const sharing = createSharing();
  const lookup = createKeyLookup({ configs, clock });
  const counts = {
    paymasters: instruments.configs.with({ kind: 'paymaster' }),
    chains: instruments.configs.with({ kind: 'chain' }),
    open: instruments.openPaymasters.with({}),
  };
  let open = 0;
  let watch: ReturnType<ConfigStore['watch']> | undefined;
  let synced = false;

  /**
   * A generation is a time. One that is far ahead of our clock would shut out every config that is written in the
   * meantime: it is reported, and no fence is to know it.
   */
  function see(seen: SeenConfig): void {
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
    if (isOpen(known)) open -= 1;
    replaced.add(known);
    for (const key of known.keys) if (byKey.get(key) === known) byKey.delete(key);
  }

  function remember(paymaster: ServedPaymaster): void {
    forget(paymaster.paymasterId);
    byId.set(paymaster.paymasterId, paymaster);
    if (isOpen(paymaster)) open += 1;
    for (const key of paymaster.keys) byKey.set(key, paymaster);
  }

  function seeDeletion(id: string, deletion: Deletion | undefined): void {
    if (deletion === undefined) return;
    see({ chainId: deletion.chainId, id, generation: deletion.configGeneration, state: 'deleted' });
  }

  function compile(config: PaymasterConfig): ServedPaymaster | undefined {
    try {
      const compiled = servePaymaster(config, sharing);
      const { chainId, paymasterId: id, configGeneration: generation, suspended } = config;
      // Not before it has compiled: a fence for what no replica can serve would stop the last good record.
      const before = byId.get(id)?.chainId ?? chainId;
      // On the chain that it has left, its older configs must not be signed either.
      if (before !== chainId) see({ chainId: before, id, generation, state: 'deleted' });
      see({ chainId, id, generation, state: suspended ? 'suspended' : 'active' });
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
      see({ chainId, id: chainFence, generation, state: suspended ? 'suspended' : 'active' });
      chains.set(chainId, compiled);
    } catch (error) {
      log.error('config of a chain cannot be served', { chainId: config.chainId, error });
    }
  }

  /** A chain that another replica has served a newer config of. */
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
        if (compiled !== undefined) remember(compiled);
        break;
      }
      case 'delete-paymaster':
        lookup.noteChange(event.paymasterId);
        seeDeletion(event.paymasterId, event.deletion ?? deletionOf(byId.get(event.paymasterId)));
        forget(event.paymasterId);
        break;
      case 'put-chain':
        putChain(event.config);
        break;
      case 'delete-chain':
        seeDeletion(chainFence, event.deletion ?? deletionOf(chains.get(event.chainId)?.config));
        chains.delete(event.chainId);
        break;
    }
    counts.paymasters.set(byId.size);
    counts.chains.set(chains.size);
    counts.open.set(open);
  }

  function staleness(): number {
    return watch === undefined ? Number.POSITIVE_INFINITY : clock.now() - watch.confirmedAt();
  }

  function ifAccepted(paymaster: ServedPaymaster | undefined, sha256: string): ServedPaymaster | undefined {
    return paymaster !== undefined && acceptsKey(paymaster, sha256, clock.now()) ? paymaster : undefined;
  }

  return {
    find: (sha256) => ifAccepted(byKey.get(sha256), sha256),

    async load(sha256, client) {
      const found = await lookup.find(sha256, client, compile);
      // The watch may have been faster: then the look-up does not say what it read, or has read too early.
      return ifAccepted(byKey.get(sha256) ?? found, sha256);
    },

    async refresh(paymasterId) {
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

    isCurrent(paymaster, chain) {
      const { paymasterId, configGeneration, chainId } = paymaster;
      if (replaced.has(paymaster) || chains.get(chainId) !== chain) return false;
      const listed = byId.get(paymasterId);
      // A record that a look-up read before the watch is not listed, and current all the same.
      return listed === undefined || listed === paymaster || listed.configGeneration <= configGeneration;
    },
    chain: (chainId) => chains.get(chainId),
    chains: () => chains.values(),
    organisationOf: (paymasterId) => byId.get(paymasterId)?.namespace,
    defaultFundingAccounts(chainId) {
      const chain = chains.get(chainId);
      return chain === undefined ? [] : defaultFundingAccounts(chain);
    },
    staleness,
    isStale: () => staleness() > maxStalenessMs,
    get synced() {
      return synced;
    },

    async start() {
      if (watch !== undefined) throw new DomainError('INTERNAL', 'the config view is started already');
      watch = configs.watch(apply);
      await watch.synced;
      synced = true;
    },
    stop() {
      watch?.stop();
      synced = false;
    },
  };
}

function isOpen({ allowList, suspended }: ServedPaymaster): boolean {
  return allowList.kind === 'open' && !suspended;
}

function acceptsKey(paymaster: ServedPaymaster, sha256: string, now: number): boolean {
  const end = paymaster.keyEnds?.get(sha256);
  return end === undefined || now < end;
}

/** For a config that was deleted without a tombstone: one that is made again has a higher generation than this. */
function deletionOf(
  known: Pick<ServedPaymaster, 'chainId' | 'configGeneration'> | undefined,
): Deletion | undefined {
  return known && { chainId: known.chainId, configGeneration: known.configGeneration + 1 };
}
