import type { Enforcement } from '../meta/schema-parts.js';
import type { AccountFunctionSpec } from '../userop/added-functions.js';
import type { GasCaps } from '../policy/rules/price-guard/gas-caps.js';
import type { ObservedStatus, Resource } from '../meta/meta.js';

export type ContractAction = 'Allow' | 'Deny';

/** Token bucket: `requests` per `perSeconds` seconds, burst = `requests`. */
export type RateLimit = { readonly requests: number; readonly perSeconds: number };

/** `perKey`: all requests with one apiKey. `perClient`: the requests of one client address with that key. */
export type RateLimits = { readonly perKey?: RateLimit; readonly perClient?: RateLimit };

/** Who pays, as wallets show it to their users. */
export type SponsorInfo = {
  readonly name: string;
  /** A data URI (RFC 2397) of a PNG, WebP or SVG image in base64. */
  readonly icon?: string;
};

export type PaymasterSpec = {
  readonly name: string;
  readonly chainId: number;
  readonly type: 'HYBRID';
  /** A profile of the chain, by its `version`. */
  readonly version: string;
  readonly suspended?: boolean;
  /** The funding wallet. `message` and its EIP-191 `signature` prove it unless the Organisation lists the address. */
  readonly funding?: { readonly address: string; readonly message?: string; readonly signature?: string };
  /** Raising it rotates the apiKey. Default 1. */
  readonly keyGeneration?: number;
  /** RFC 3339; until then the key of `keyGeneration - 1` works too. */
  readonly previousKeyUntil?: string;
  /** What happens to calls while no SmartContract is registered. Default: the Organisation's, then the platform's. */
  readonly defaultContractAction?: ContractAction;
  readonly gas?: GasCaps;
  /** Longest validity of signed data in seconds; the Chain's value counts if it is shorter. */
  readonly maxExpirySeconds?: number;
  readonly rateLimit?: RateLimits;
  /** Factories that an initCode may name, among those that the Chain allows. Absent: all of them. */
  readonly accountFactories?: readonly string[];
  /** Functions by which accounts make calls, beside the built-in ones and the Chain's. */
  readonly accountFunctions?: readonly AccountFunctionSpec[];
  /** Sent with ERC-7677 stub data. */
  readonly sponsor?: SponsorInfo;
  /** Sign only in two phases, after the account has signed. Default false. */
  readonly requireAccountSignature?: boolean;
  /** Origins of web pages that may ask, e.g. https://app.example.com. */
  readonly allowedOrigins?: readonly string[];
  /** Absent: Enforce. */
  readonly contractsEnforcement?: Enforcement;
  /** Whether requests without a campaign pass while active policies have one. Absent: Deny. */
  readonly withoutCampaign?: 'Allow' | 'Deny';
  readonly writeConnectionSecretToRef?: { readonly name: string };
};

export type PaymasterStatus = ObservedStatus & {
  readonly paymasterId?: string;
  /** Contract that pays in mode SPONSORED; `tokenAddress` is the one for mode ERC20 (may be equal). */
  readonly address?: string;
  readonly tokenAddress?: string;
  /** First 8 hex digits of the SHA-256 of the current apiKey. */
  readonly apiKeyFingerprint?: string;
  /** Generation of the tenant for which it is served; absent: 1. */
  readonly tenantGeneration?: number;
  /** The key generation in force, if it is higher than the spec's: a rotated key never comes back. */
  readonly keyGeneration?: number;
  readonly contracts?: number;
  readonly policies?: number;
};

export type Paymaster = Resource<'Paymaster', PaymasterSpec, PaymasterStatus>;
