import type { Address } from '../units/address.js';
import type { PaymasterMemory } from './memory.js';
import type { NamedKey } from './named-keys.js';
import type { EpochMs } from '../units/time.js';
import type { SponsorInfo } from '../resources/paymaster.js';
import type { RateLimits } from '../resources/schema-parts.js';
import type { RegisteredContracts } from '../policy/rules/allow-list/compile.js';
import type { AddedFunction } from '../userop/added-functions.js';
import type { GasCaps } from '../policy/rules/price-guard/gas-caps.js';
import type { Tenant } from './tenant.js';
import type { PolicyParts } from '../policy/derived.js';

type ServedApiKey = { readonly sha256: string; readonly validUntil?: EpochMs } & Partial<NamedKey>;

/**
 * What is served for one paymaster: the compiled, validated snapshot of its resources, as plain JSON. It holds no
 * secret (keys only as SHA-256), no ABI, and nothing that changes while its sources stay the same. Each policy kind
 * has its own members, see `core/policy/kinds.ts`.
 */
export type PaymasterConfig = {
  readonly paymasterId: string;
  readonly namespace: string;
  /** Who has the namespace, if it is not its first tenant; absent: the namespace. */
  readonly tenant?: Tenant;
  readonly objectName: string;
  readonly name: string;
  readonly chainId: number;
  /** The chain profile that it uses. */
  readonly version: string;
  /** Rises with every change of the content. Usage stores refuse a generation older than the newest they have seen. */
  readonly configGeneration: number;
  /** Set on a tombstone, see tombstone.ts. */
  readonly deletedAt?: EpochMs;
  /** What stays when objects of this name are deleted; absent: nothing to remember. */
  readonly memory?: PaymasterMemory;
  readonly suspended: boolean;
  /** Set when nothing may be signed although the paymaster exists, e.g. FundingNotProven; shown with -32006. */
  readonly notReady?: { readonly reason: string; readonly message: string };
  /** SHA-256 of each apiKey that is accepted, 64 lowercase hex digits; the first is the current one. Those with names come last. */
  readonly keys: readonly ServedApiKey[];
  /** Dashboard tokens of the organisation, as SHA-256: `pm_explainSponsorship` asks for one. */
  readonly tokens: readonly { readonly sha256: string; readonly validUntil?: EpochMs }[];
  /** The proven funding wallet = on-chain paymasterId. Absent: the profile's default, if that serves this namespace. */
  readonly fundingAddress?: Address;
  /**
   * Names of active policies that were never accepted. While there are any, every request is refused with
   * POLICY_INVALID.
   */
  readonly invalidPolicies: readonly string[];
  /** Those of them that judge in mode ERC20, which they refuse too; absent: none. */
  readonly invalidInTokens?: readonly string[];
  readonly gas: GasCaps;
  /** The shorter of the Paymaster's and the Chain's. Always present, because earlier versions rely on it. */
  readonly maxExpirySeconds: number;
  readonly rateLimit?: RateLimits;
  /** Absent: the factories that the chain allows. */
  readonly accountFactories?: readonly Address[];
  /** Functions of accounts, beside the built-in ones and the chain's; absent: none. */
  readonly accountFunctions?: readonly AddedFunction[];
  /** Shown by wallets; absent: they show none. */
  readonly sponsor?: SponsorInfo;
  /** Nothing is signed for an operation that its account has not signed. */
  readonly requireAccountSignature?: boolean;
  /** Web pages of other origins are refused; absent: none is. */
  readonly allowedOrigins?: readonly string[];
  /** The list of contracts judges and never refuses. */
  readonly contractsInShadow?: true;
  /** Campaigns of its policies that are not in Shadow, of paused ones too; absent: none, and no name is refused. */
  readonly campaigns?: readonly string[];
  /** Requests without a campaign are judged by the policies without one; absent: they are refused. */
  readonly withoutCampaign?: true;
} & RegisteredContracts &
  PolicyParts;

export const maxConfigBytes = 512 * 1024;
export const maxContracts = 1000;
