import type { Confirmations } from '../chain/chain.js';
import type { DataFeeSpec } from '../chain/data-fee/spec.js';
import type { LayoutId } from '../paymaster/layout.js';
import type { OpenZeppelinOptions } from '../paymaster/openzeppelin/options.js';
import type { FeeTokenSpec, PriceSpec } from '../pricing/fee-token-spec.js';
import type { AddedFunction } from '../userop/added-functions.js';
import type { GasCaps } from '../policy/rules/price-guard/gas-caps.js';
import type { StakeSpec } from '../resources/chain.js';
import type { RateLimits } from '../resources/schema-parts.js';
import type { Address } from '../units/address.js';
import type { Hex } from '../units/hex.js';
import type { EpochMs } from '../units/time.js';

/** What is served for one chain: profiles and fee tokens, compiled from Chain and FeeToken resources. Plain JSON. */
export type ChainConfig = {
  readonly chainId: number;
  readonly objectName: string;
  readonly configGeneration: number;
  /** Set on a tombstone, see tombstone.ts. */
  readonly deletedAt?: EpochMs;
  readonly suspended: boolean;
  readonly rpc: { readonly urls?: readonly string[]; readonly file?: string; readonly multicall3?: string };
  /** Absent: none is asked. */
  readonly bundlers?: { readonly urls?: readonly string[]; readonly file?: string };
  readonly nativeCurrency: { readonly name: string; readonly symbol: string; readonly decimals: number };
  readonly confirmations: Confirmations;
  readonly delegates: readonly Address[];
  /** Hash of the AddressList of accounts for which nothing is signed; absent: no account is refused. */
  readonly deniedSenders?: string;
  /** Any factory where it is absent. */
  readonly accountFactories?: readonly Address[];
  /** Functions of accounts, beside the built-in ones; absent: none. */
  readonly accountFunctions?: readonly AddedFunction[];
  /** Modules that the set-up of an account may install, beside the built-in ones; absent: none. */
  readonly accountModules?: readonly Address[];
  readonly gas: GasCaps;
  /** Absent: every tip will do. */
  readonly minPriorityFeePerGas?: string;
  /** Absent: every stake will do. */
  readonly stake?: StakeSpec;
  /** Absent: None. */
  readonly dataFee?: DataFeeSpec;
  /** Of the coin in dollars, as the source of `toDollarSpec`. Absent: not known. */
  readonly nativePrice?: PriceSpec;
  /** Absent: `defaultMaxExpirySeconds`. */
  readonly maxExpirySeconds?: number;
  readonly rateLimit?: RateLimits;
  /** The loss of usage data after which the platform does not want to wait; see `findLossId`. */
  readonly acceptedLoss?: string;
  readonly profiles: readonly ProfileConfig[];
  readonly feeTokens: readonly FeeTokenSpec[];
};

/** Why nothing is signed for a profile: what callers get in `data.reason`. */
export const unusableReasons = [
  'WRONG_CHAIN',
  'CONTRACT_NOT_DEPLOYED',
  'ENTRY_POINT_MISMATCH',
  'SIGNER_NOT_AUTHORIZED',
  'SIGNATURE_REFUSED',
  'CODE_CHANGED',
] as const;
export type UnusableReason = (typeof unusableReasons)[number];

/** Longest validity of data signed for a draining profile, in seconds. */
export const drainingExpirySeconds = 30;

export type ProfileConfig = {
  readonly version: string;
  readonly layout: LayoutId;
  readonly entryPoint: Address;
  readonly sponsorship: Address;
  readonly token?: Address;
  /** Key file that signs. If several may sign, it is the first whose key the contract accepts. */
  readonly signerFile: string;
  /** Every key file that may sign, in the order of preference. Absent: `signerFile` alone. */
  readonly signerFiles?: readonly string[];
  /**
   * Files whose keys the contract accepts now. A replica that does not have the first one yet uses another. Absent:
   * `signerFile` alone.
   */
  readonly acceptedSigners?: readonly string[];
  /**
   * True: data are signed for at most {@link drainingExpirySeconds}, so that few signatures become void when the key
   * changes.
   */
  readonly draining?: true;
  /** Why operations of this profile cannot be mined; the chain has confirmed it twice. Nothing is signed. */
  readonly unusable?: { readonly reason: UnusableReason; readonly message: string };
  /** Hash of the code that may be signed for: that of the spec, else what was seen first; see the operator's facts. */
  readonly codeHash?: Hex;
  readonly defaultFunding?: { readonly address: Address; readonly organisations: readonly string[] };
  readonly options: {
    readonly priceMarkup: number;
    readonly unaccountedGas: number;
    readonly treasury?: Address;
    readonly openZeppelin?: OpenZeppelinOptions;
  };
  /**
   * The most that one organisation may take of an account that the platform pays from: 1 to 100 percent. Absent: the
   * default.
   */
  readonly organisationShare?: number;
  /** Absent: tokens are taken after the call, unless the contract takes them in validation without being asked. */
  readonly tokenPayment?: 'preFund';
  /** True: token payments that the contract does not take in validation are refused. */
  readonly requireAllowance?: boolean;
  /**
   * True: a check has shown that the contract takes tokens in validation when its data demand it. Absent: not known.
   */
  readonly tokenSecured?: boolean;
  /**
   * Whether a check has shown that the token contract accepts data that nobody signed. Absent: not known, or no contract of the
   * layout does.
   */
  readonly acceptsUnsigned?: boolean;
  /** Coins, as decimal text; absent: the default. */
  readonly tokenLossBudget?: string;
};
