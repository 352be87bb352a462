import type { LayoutId } from '../paymaster/layout.js';
import type { InitCodeHash, OpenZeppelinOptions } from '../paymaster/openzeppelin/options.js';
import type { NativePriceSpec } from '../pricing/native-price.js';
import type { Confirmations } from '../chain/chain.js';
import type { DataFeeSpec } from '../chain/data-fee/spec.js';
import type { Condition, ObservedStatus, Resource } from '../meta/meta.js';
import type { AccountFunctionSpec } from '../userop/added-functions.js';
import type { GasCaps } from '../policy/rules/price-guard/gas-caps.js';
import type { RateLimits } from './paymaster.js';

/** A signing key: a mounted file in the signer directory that contains it, or says where it is. */
export type SignerSpec = { readonly file: string };

export type OpenZeppelinSpec = Pick<OpenZeppelinOptions, 'domainName' | 'domainVersion'> & {
  /** Default `AsGiven`. */
  readonly initCodeHash?: InitCodeHash;
  /** Default false. */
  readonly readsPaymasterSignature?: boolean;
};

export type ProfileSpec = {
  /** The `version` that a Paymaster names. Several profiles may use the same contract. */
  readonly version: string;
  readonly layout: LayoutId;
  readonly entryPoint: string;
  /**
   * Contracts for mode SPONSORED and for mode ERC20 (may be equal; `token` is absent if the layout has no mode
   * ERC20).
   */
  readonly addresses: { readonly sponsorship: string; readonly token?: string };
  /** The key that signs; the contract must accept its address. Exactly one of `signer` and `signers` is given. */
  readonly signer?: SignerSpec;
  /** For key rotation: the first of these keys that the contract accepts signs. */
  readonly signers?: readonly SignerSpec[];
  /** Hash of the code of its contracts, as condition CodeUnchanged shows it. Absent: the code that was seen first. */
  readonly codeHash?: string;
  /**
   * True: nothing is signed for longer than 30 seconds, so that few signatures become void when the contract's key
   * changes.
   */
  readonly draining?: boolean;
  /** Funding wallet for paymasters that do not name one, for the organisations listed (`*` means all). */
  readonly defaultFunding?: { readonly address: string; readonly organisations: readonly string[] };
  readonly options?: {
    /** Vendor 2.x: 1,000,000 means no premium (default); at most 2,000,000. */
    readonly priceMarkup?: number;
    /** Vendor 2.x: the contract's `unaccountedGas`. Default 50,000. */
    readonly unaccountedGas?: number;
    /** Singleton, mode ERC20: the address that receives the tokens. */
    readonly treasury?: string;
    /** OpenZeppelin layouts, and required there: what the deployer of the contract chose. */
    readonly openZeppelin?: OpenZeppelinSpec;
  };
  /**
   * The most that the pending operations of one organisation may take of an account that the platform pays from, in
   * percent.
   */
  readonly organisationShare?: number;
  /** Singleton, mode ERC20: `preFund` takes the tokens in validation if the account allows them. Default `postOp`. */
  readonly tokenPayment?: 'postOp' | 'preFund';
  /** Mode ERC20: refuses accounts from which the contract cannot take the payment in validation. */
  readonly requireAllowance?: boolean;
  /** What unpaid operations in mode ERC20 may cost in a day (UTC), in coins, as decimal text. Default 0.1. */
  readonly tokenLossBudget?: string;
};

/** What bundlers ask a contract to stake in its EntryPoint: an amount of coins, and for how long it stays locked. */
export type StakeSpec = { readonly amount: string; readonly unstakeDelaySeconds?: number };

export type ChainSpec = {
  readonly chainId: number;
  readonly suspended?: boolean;
  /**
   * `urls` in order of preference, or the name of a mounted file with one URL per line (for URLs with keys); and where the
   * chain has Multicall3.
   */
  readonly rpc: { readonly urls?: readonly string[]; readonly file?: string; readonly multicall3?: string };
  readonly bundlerUrl?: string;
  readonly nativeCurrency: { readonly name: string; readonly symbol: string; readonly decimals: number };
  readonly profiles: readonly ProfileSpec[];
  /** When an event settles a reservation. Default 12. */
  readonly confirmations?: Confirmations;
  /** Delegates that EIP-7702 operations may name (EntryPoint 0.8 and later). */
  readonly delegates?: readonly string[];
  /** Accounts for which nothing is signed, in no mode. */
  readonly deniedSenders?: readonly string[];
  /** Factories that an initCode may name; where it is absent, every factory. */
  readonly accountFactories?: readonly string[];
  /** Functions by which accounts make calls, beside the built-in ones. */
  readonly accountFunctions?: readonly AccountFunctionSpec[];
  /** Modules that the set-up of a new account may install, beside the built-in ones. */
  readonly accountModules?: readonly string[];
  readonly gas?: GasCaps;
  /** The least tip that nodes or bundlers of the chain take, in wei, decimal text. Absent: none. */
  readonly minPriorityFeePerGas?: string;
  /** Absent: every stake will do. */
  readonly stake?: StakeSpec;
  /** How the chain charges for data that it posts to layer 1. Default None. */
  readonly dataFee?: DataFeeSpec;
  /** What the coin costs in US dollars. Default: not known. */
  readonly nativePrice?: NativePriceSpec;
  /** Longest window of signed data in seconds. Default 600. */
  readonly maxExpirySeconds?: number;
  /** The highest request rate for each Paymaster of the chain. Default: no limit. */
  readonly rateLimit?: RateLimits;
};

export type ChainStatus = ObservedStatus & {
  readonly profiles?: readonly {
    readonly version: string;
    readonly conditions: readonly Condition[];
  }[];
};

export type Chain = Resource<'Chain', ChainSpec, ChainStatus>;
