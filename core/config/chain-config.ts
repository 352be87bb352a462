import type { LayoutId } from '../paymaster/layout.js';
import type { FeeTokenSpec } from '../pricing/fee-token-spec.js';
import type { GasCaps } from '../policy/rules/price-guard/gas-caps.js';
import type { RateLimits } from '../resources/paymaster.js';
import type { Address } from '../units/address.js';
import type { EpochMs } from '../units/time.js';

/** What is served for one chain: profiles and fee tokens, compiled from Chain and FeeToken resources. Plain JSON. */
export type ChainConfig = {
  readonly chainId: number;
  readonly objectName: string;
  readonly configGeneration: number;
  /** Set on a tombstone, see tombstone.ts. */
  readonly deletedAt?: EpochMs;
  readonly suspended: boolean;
  readonly rpc: { readonly urls?: readonly string[]; readonly file?: string };
  readonly bundlerUrl?: string;
  readonly nativeCurrency: { readonly name: string; readonly symbol: string; readonly decimals: number };
  readonly confirmations: number;
  readonly delegates: readonly Address[];
  /** Absent means any. */
  readonly accountFactories?: readonly Address[];
  readonly gas: GasCaps;
  /** Absent: the default. */
  readonly maxExpirySeconds?: number;
  readonly rateLimit?: RateLimits;
  /** The loss of usage data that the platform does not want to wait for, see `lossIdOf`. */
  readonly acceptedLoss?: string;
  readonly profiles: readonly ProfileConfig[];
  readonly feeTokens: readonly FeeTokenSpec[];
};

export const unusableReasons = [
  'WRONG_CHAIN',
  'CONTRACT_NOT_DEPLOYED',
  'ENTRY_POINT_MISMATCH',
  'SIGNER_NOT_AUTHORIZED',
] as const;
/** As callers see it in `data.reason`. */
export type UnusableReason = (typeof unusableReasons)[number];

/** Longest window of what a draining profile signs. */
export const drainingExpirySeconds = 30;

export type ProfileConfig = {
  readonly version: string;
  readonly layout: LayoutId;
  readonly entryPoint: Address;
  readonly sponsorship: Address;
  readonly token?: Address;
  /** Key file that signs: where several may, the first one whose key the contract accepts. */
  readonly signerFile: string;
  /** Every key file that may sign, in the order of preference. Absent: `signerFile` alone. */
  readonly signerFiles?: readonly string[];
  /** Files whose keys the contract accepts now, for replicas that do not have the first one yet. Absent: `signerFile` alone. */
  readonly acceptedSigners?: readonly string[];
  /** True: data are signed for {@link drainingExpirySeconds} at most, so that little is void when the key changes. */
  readonly draining?: true;
  /** Why operations of this profile cannot be mined, as its chain has said twice: nothing is signed. */
  readonly unusable?: { readonly reason: UnusableReason; readonly message: string };
  readonly defaultFunding?: { readonly address: Address; readonly organisations: readonly string[] };
  readonly options: {
    readonly priceMarkup: number;
    readonly unaccountedGas: number;
    readonly treasury?: Address;
  };
  /** Percent, 1 to 100, of an account that the platform pays from which one organisation may take; absent: the default. */
  readonly organisationShare?: number;
  /** Absent: after the call, unless the contract is one that takes tokens in validation by itself. */
  readonly tokenPayment?: 'preFund';
  /** True: token payments that are not taken in validation are refused. */
  readonly requireAllowance?: boolean;
  /** True: the contract was seen to take tokens in validation when its data demand it. Absent: it is not known to. */
  readonly tokenSecured?: boolean;
  /** Coins as decimal text; absent: the default. */
  readonly tokenLossBudget?: string;
};
