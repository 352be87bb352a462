import type { LayoutId } from '../paymaster/layout.js';
import type { Condition, Resource } from '../meta/meta.js';
import type { GasCaps } from '../policy/rules/price-guard/gas-caps.js';
import type { RateLimits } from './paymaster.js';

/** A key that signs: a mounted file in the signer directory that holds it (0x and 64 hex digits). */
export type SignerSpec = { readonly file: string };

export type ProfileSpec = {
  /** The `version` that a Paymaster names. Several profiles may bind the same contract. */
  readonly version: string;
  readonly layout: LayoutId;
  readonly entryPoint: string;
  /** Contract for mode SPONSORED, and for mode ERC20 (may be equal; absent where the layout has no such mode). */
  readonly addresses: { readonly sponsorship: string; readonly token?: string };
  /** Who signs; the contract must accept its address. Exactly one of `signer` and `signers` is given. */
  readonly signer?: SignerSpec;
  /** While keys are rotated: of these the first one that the contract accepts signs. */
  readonly signers?: readonly SignerSpec[];
  /** True: nothing is signed for longer than 30 seconds, so that little is void when the contract's key changes. */
  readonly draining?: boolean;
  /** Funding wallet for paymasters without one of their own, for the organisations listed (`*` means all). */
  readonly defaultFunding?: { readonly address: string; readonly organisations: readonly string[] };
  readonly options?: {
    /** Vendor 2.x: 1,000,000 is no premium (default); at most 2,000,000. */
    readonly priceMarkup?: number;
    /** Vendor 2.x: the contract's `unaccountedGas`. Default 50,000. */
    readonly unaccountedGas?: number;
    /** Singleton, mode ERC20: who receives the tokens. */
    readonly treasury?: string;
  };
  /** Percent of an account that the platform pays from which one organisation's operations under way may take. */
  readonly organisationShare?: number;
  /** Singleton, mode ERC20: `preFund` takes the tokens in validation where the account allows them. Default `postOp`. */
  readonly tokenPayment?: 'postOp' | 'preFund';
  /** Mode ERC20: refuses accounts whose payment is not taken in validation. */
  readonly requireAllowance?: boolean;
  /** Coins that operations in mode ERC20 may cost without paying in a day (UTC), as decimal text. Default 0.1. */
  readonly tokenLossBudget?: string;
};

export type ChainSpec = {
  readonly chainId: number;
  readonly suspended?: boolean;
  /** `urls` in order of preference, or the name of a mounted file with one URL per line (for URLs with keys). */
  readonly rpc: { readonly urls?: readonly string[]; readonly file?: string };
  readonly bundlerUrl?: string;
  readonly nativeCurrency: { readonly name: string; readonly symbol: string; readonly decimals: number };
  readonly profiles: readonly ProfileSpec[];
  /** Blocks on top of an event before it settles a reservation. Default 12. */
  readonly confirmations?: number;
  /** Delegates that EIP-7702 operations may name (EntryPoint 0.8). */
  readonly delegates?: readonly string[];
  /** Factories that an initCode may name. Absent means any. */
  readonly accountFactories?: readonly string[];
  readonly gas?: GasCaps;
  /** Longest window of signed data in seconds. Default 600. */
  readonly maxExpirySeconds?: number;
  /** What each Paymaster of the chain may be asked at most. None by default. */
  readonly rateLimit?: RateLimits;
};

export type ChainStatus = {
  readonly observedGeneration?: number;
  readonly conditions?: readonly Condition[];
  readonly profiles?: readonly {
    readonly version: string;
    readonly conditions: readonly Condition[];
  }[];
};

export type Chain = Resource<'Chain', ChainSpec, ChainStatus>;
