import type { ChainConfig } from './chain-config.js';
import type { EpochMs } from '../units/time.js';
import type { PaymasterConfig } from './paymaster-config.js';

/**
 * Port: where the operator puts what is served, and where every RPC replica reads it.
 *
 * Guarantees (one conformance suite, every implementation):
 * - A put is whole and atomic, and writes only when the content hash differs from the stored one.
 * - `watch` delivers everything present as `put` and every tombstone as `delete`, resolves `synced`, then each change in order per object.
 * - What was put survives a restart of the store.
 * - An outage is DomainError UNAVAILABLE; a too large config is DomainError INVALID_INPUT and leaves the stored one.
 */
export type ConfigStore = {
  getPaymaster(paymasterId: string): Promise<StoredConfig<PaymasterConfig> | undefined>;
  /** As `getPaymaster`; of a deleted one its tombstone, which has `deletedAt`. */
  getLatest(paymasterId: string): Promise<StoredConfig<PaymasterConfig> | undefined>;
  listPaymasters(): Promise<readonly StoredConfig<PaymasterConfig>[]>;
  /**
   * `configGeneration` of the argument is replaced: kept when the content did not change, else higher than every one
   * that this paymaster had, also before a delete: the larger of now and one more than that.
   *
   * `read`: what `getLatest` answered a moment ago, which saves a remote store asking again. It may be out of date:
   * a store finds that out by writing.
   */
  putPaymaster(config: PaymasterConfig, read?: ReadConfig): Promise<PutResult>;
  /** Leaves a tombstone with a generation of its own. Nothing happens when there is no config. */
  deletePaymaster(paymasterId: string): Promise<void>;
  getChain(chainId: number): Promise<StoredConfig<ChainConfig> | undefined>;
  listChains(): Promise<readonly StoredConfig<ChainConfig>[]>;
  putChain(config: ChainConfig): Promise<PutResult>;
  deleteChain(chainId: number): Promise<void>;
  /** Forgets what was deleted before that time. */
  purge(before: EpochMs): Promise<void>;
  /** One uncached look-up by SHA-256 of an apiKey, for keys that the watch has not delivered yet. */
  findByKey(sha256: string): Promise<PaymasterConfig | undefined>;
  watch(handler: (event: ConfigEvent) => void): ConfigWatch;
};

export type StoredConfig<C> = { readonly config: C; readonly hash: string };

export type ReadConfig = { readonly stored: StoredConfig<PaymasterConfig> | undefined };

export type PutResult = {
  readonly changed: boolean;
  readonly hash: string;
  readonly configGeneration: number;
};

export type ConfigEvent =
  | { readonly type: 'put-paymaster'; readonly config: PaymasterConfig }
  | { readonly type: 'delete-paymaster'; readonly paymasterId: string; readonly deletion?: Deletion }
  | { readonly type: 'put-chain'; readonly config: ChainConfig }
  | { readonly type: 'delete-chain'; readonly chainId: number; readonly deletion?: Deletion };

/** What a tombstone says; absent where an object was taken away by another hand than ours. */
export type Deletion = { readonly chainId: number; readonly configGeneration: number };

export type ConfigWatch = {
  readonly synced: Promise<void>;
  /** When the store last confirmed that the delivered state is current (EpochMs); embedded stores answer now. */
  confirmedAt(): number;
  stop(): void;
};
