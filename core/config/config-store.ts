import type { ChainConfig } from './chain-config.js';
import type { PaymasterConfig } from './paymaster-config.js';

/**
 * Port: where the operator puts what is served, and where every RPC replica reads it.
 *
 * Guarantees (one conformance suite, every implementation):
 * - A put is whole and atomic, and writes only when the content hash differs from the stored one.
 * - `watch` delivers everything present as `put`, resolves `synced`, then each change in order per object.
 * - What was put survives a restart of the store.
 * - An outage is DomainError UNAVAILABLE; a too large config is DomainError INVALID_INPUT and leaves the stored one.
 */
export type ConfigStore = {
  getPaymaster(paymasterId: string): Promise<StoredConfig<PaymasterConfig> | undefined>;
  listPaymasters(): Promise<readonly StoredConfig<PaymasterConfig>[]>;
  /**
   * `configGeneration` of the argument is replaced: kept when the content did not change, else higher than every one
   * that this paymaster had, also before a delete.
   *
   * `read`: what `getPaymaster` answered a moment ago, which saves a remote store asking again. It may be out of date:
   * a store finds that out by writing.
   */
  putPaymaster(config: PaymasterConfig, read?: ReadConfig): Promise<PutResult>;
  deletePaymaster(paymasterId: string): Promise<void>;
  getChain(chainId: number): Promise<StoredConfig<ChainConfig> | undefined>;
  listChains(): Promise<readonly StoredConfig<ChainConfig>[]>;
  putChain(config: ChainConfig): Promise<PutResult>;
  deleteChain(chainId: number): Promise<void>;
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
  | { readonly type: 'delete-paymaster'; readonly paymasterId: string }
  | { readonly type: 'put-chain'; readonly config: ChainConfig }
  | { readonly type: 'delete-chain'; readonly chainId: number };

export type ConfigWatch = {
  readonly synced: Promise<void>;
  /** When the store last confirmed that the delivered state is current (EpochMs); embedded stores answer now. */
  confirmedAt(): number;
  stop(): void;
};
