import type { ChainConfig } from './chain-config.js';
import type { AddressList } from '../policy/address-list.js';
import type { ConfigRevisions } from '../reports/config-revisions.js';
import type { EpochMs } from '../units/time.js';
import type { PaymasterConfig } from './paymaster-config.js';

/**
 * Port: where the operator stores what is served, and where every RPC replica reads it.
 *
 * Guarantees (every implementation passes one conformance suite):
 * - A put is whole and atomic. It writes only when the content hash differs from the stored one.
 * - A watch delivers lists of addresses before chains, and chains before paymasters. A list that is put before a config may come
 *   after it all the same: until then it is not known.
 * - `watch` first delivers every stored config as `put` and every tombstone as `delete`, then resolves `synced`, then
 *   delivers each change, in order per object.
 * - Stored configs survive a restart of the store.
 * - During an outage methods throw DomainError UNAVAILABLE. A config that is too large is DomainError INVALID_INPUT,
 *   and the stored one stays.
 */
export type ConfigStore = {
  getPaymaster(paymasterId: string): Promise<StoredConfig<PaymasterConfig> | undefined>;
  /** As `getPaymaster`, but for a deleted paymaster it answers the tombstone, which has `deletedAt`. */
  getLatest(paymasterId: string): Promise<StoredConfig<PaymasterConfig> | undefined>;
  listPaymasters(): Promise<readonly StoredConfig<PaymasterConfig>[]>;
  /**
   * The store replaces the argument's `configGeneration`. It keeps the stored one when the content did not change.
   * Otherwise the new one is higher than every earlier one of this paymaster, also those before a delete: the larger
   * of the current time and the last one plus 1.
   *
   * `read`: what `getLatest` answered a moment ago, so that a remote store need not read again. It may be out of
   * date: the store notices when it writes.
   */
  putPaymaster(config: PaymasterConfig, read?: ReadConfig): Promise<PutResult>;
  /** Leaves a tombstone, which gets a new generation. Does nothing when no config is stored. */
  deletePaymaster(paymasterId: string): Promise<void>;
  getChain(chainId: number): Promise<StoredConfig<ChainConfig> | undefined>;
  listChains(): Promise<readonly StoredConfig<ChainConfig>[]>;
  putChain(config: ChainConfig): Promise<PutResult>;
  deleteChain(chainId: number): Promise<void>;
  /** Stores a list, before a config that names it. */
  putList(list: AddressList): Promise<void>;
  /** Undefined also for a list that somebody has changed since. */
  getList(hash: string): Promise<AddressList | undefined>;
  /**
   * Deletes the lists that are not among `named` and have been neither put nor named since that time; perhaps at the next call only.
   * Resolves with those of `named` that are not there, or no longer as they were put.
   */
  purgeLists(named: ReadonlySet<string>, before: EpochMs): Promise<ReadonlySet<string>>;
  /** Forgets tombstones of objects that were deleted before that time. */
  purge(before: EpochMs): Promise<void>;
  /** One uncached look-up by the SHA-256 of an apiKey, for keys that the watch has not delivered yet. */
  findByKey(sha256: string): Promise<PaymasterConfig | undefined>;
  watch(handler: (event: ConfigEvent) => void): ConfigWatch;
};

export type StoredConfig<C> = { readonly config: C; readonly hash: string };

export type ReadConfig = { readonly stored: StoredConfig<PaymasterConfig> | undefined };

export type PutResult = {
  readonly changed: boolean;
  readonly hash: string;
  readonly configGeneration: number;
  /** Of the stored object, as `ConfigRevisions` counts. Absent where watches see a write at once. */
  readonly revision?: number;
};

export type ConfigEvent =
  | { readonly type: 'put-paymaster'; readonly config: PaymasterConfig }
  | { readonly type: 'delete-paymaster'; readonly paymasterId: string; readonly deletion?: Deletion }
  | { readonly type: 'put-chain'; readonly config: ChainConfig }
  | { readonly type: 'delete-chain'; readonly chainId: number; readonly deletion?: Deletion }
  | { readonly type: 'put-list'; readonly list: AddressList }
  | { readonly type: 'delete-list'; readonly hash: string };

/** What a tombstone says; absent when something other than this product removed the object. */
export type Deletion = { readonly chainId: number; readonly configGeneration: number };

export type ConfigWatch = {
  readonly synced: Promise<void>;
  /**
   * When the store last confirmed that the delivered state is current (EpochMs). Embedded stores answer the current
   * time.
   */
  confirmedAt(): number;
  /** What was delivered. Undefined before all of it was, and where a write is delivered at once. */
  reached?(): ConfigRevisions | undefined;
  stop(): void;
};
