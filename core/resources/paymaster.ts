import type { Condition, Resource } from './meta.js';

export type ContractAction = 'Allow' | 'Deny';

/** Caps against callers who choose gas fields to drain the deposit; absent ones take the chain's, then the defaults. */
export type GasCaps = {
  /** Highest maxFeePerGas in wei, decimal text. */
  readonly maxFeePerGas?: string;
  /** Highest maxPriorityFeePerGas in wei, decimal text. */
  readonly maxPriorityFeePerGas?: string;
  readonly maxCallGasLimit?: number;
  readonly maxVerificationGasLimit?: number;
  readonly maxPreVerificationGas?: number;
};

/** Token bucket: `requests` per `perSeconds` seconds, burst = `requests`. */
export type RateLimit = { readonly requests: number; readonly perSeconds: number };

export type PaymasterSpec = {
  readonly name: string;
  readonly chainId: number;
  readonly type: 'HYBRID';
  /** Name of a profile of the chain. */
  readonly version: string;
  readonly suspended?: boolean;
  /** The funding wallet. `message` and its EIP-191 `signature` prove it unless the Organisation lists the address. */
  readonly funding?: { readonly address: string; readonly message?: string; readonly signature?: string };
  /** Raising it rotates the apiKey. Default 1. */
  readonly keyGeneration?: number;
  /** RFC 3339; until then the key of `keyGeneration - 1` works too. */
  readonly previousKeyUntil?: string;
  /** What happens while no SmartContract is registered. Default Allow. */
  readonly defaultContractAction?: ContractAction;
  readonly gas?: GasCaps;
  /** Upper bound of `expiryDuration` in seconds. Default 7200, at most 86400. */
  readonly maxExpirySeconds?: number;
  readonly rateLimit?: { readonly perKey?: RateLimit; readonly perClient?: RateLimit };
  readonly writeConnectionSecretToRef?: { readonly name: string };
};

export type PaymasterStatus = {
  readonly observedGeneration?: number;
  readonly conditions?: readonly Condition[];
  readonly paymasterId?: string;
  /** Contract that pays in mode SPONSORED; `tokenAddress` in mode ERC20 (may be equal). */
  readonly address?: string;
  readonly tokenAddress?: string;
  /** First 8 hex digits of the SHA-256 of the current apiKey. */
  readonly apiKeyFingerprint?: string;
  readonly contracts?: number;
  readonly policies?: number;
};

export type Paymaster = Resource<'Paymaster', PaymasterSpec, PaymasterStatus>;
