import type {
  PaymasterGas,
  FinalUserOperation,
  GasLimits,
  UserOperation,
} from '../../core/entry-point/user-operation.js';
import type { TokenChoice } from '../../core/pricing/token-list.js';
import type { SigningPhase } from '../../core/policy/rules/served.js';
import type { Refusal } from '../../core/refusal.js';
import type { AddressKey } from '../../core/units/address.js';
import type { WorkLeft } from '../../core/policy/steps-left.js';
import type { Hex } from '../../core/units/hex.js';
import type { ServedProfile } from '../view/served-chain.js';

/** A request to sponsor one operation, parsed; it says nothing about how it arrived. */
export type SponsorRequest = {
  readonly op: UserOperation;
  /**
   * Undefined: we calculate the limits unless the caller gave all of them. `missing`: we calculate those that the caller
   * did not give, and sign the others as given. `larger`: we calculate all, and sign the larger of found and given.
   */
  readonly calculateGasLimits: boolean | 'missing' | 'larger' | undefined;
  /** Percent of each found gas limit that is signed, where we calculate limits. Absent: 100. */
  readonly margins?: Readonly<Partial<Record<keyof GasLimits, number>>>;
  /** Undefined: the default. */
  readonly expirySeconds: number | undefined;
  /** As the caller sent it; `{}` when absent. */
  readonly webhookData: unknown;
  readonly requestId: string;
  /** The caller's own id of the request, cleaned; see {@link cleanRequestId}. Undefined: it has none. */
  readonly callerRequestId?: string | undefined;
  /** The JSON-RPC method. */
  readonly method: string;
  /** Set in a request of two phases; see two-phase.ts. */
  readonly phase?: SigningPhase;
  /**
   * True: paymaster gas limits of the operation that cannot be signed are an error, since the caller keeps them. Absent: others are
   * signed, which the answer has.
   */
  readonly keepsPaymasterGas?: true;
  /** What expressions may still take, where one request is decided several times. Absent: all that a request may. */
  readonly workLeft?: WorkLeft;
  /** Recorded with the promise: what it is made instead of. Absent: it is what was asked for first. */
  readonly insteadOf?: string;
  /** What the caller names as `sponsorshipPolicyId`; "" for a text that cannot be a name. Absent: nothing. */
  readonly campaign?: string;
};

/** The second phase: `committed` is what the commit answered, `paymasterAndData` with a placeholder in its tail. */
export type FinalizeRequest = SponsorRequest & { readonly committed: Hex };

/** A request for data with which the account pays for its gas in a token. */
export type TokenPaymentRequest = SponsorRequest & TokenMaximum & { readonly feeToken: AddressKey };

/** The most that the payment may take, in token base units. Absent: whatever the operation can cost. */
export type TokenMaximum = { readonly maxTokenAmount?: bigint };

/** A request to explain a payment in mode ERC20. The token may be missing; then the explanation says so. */
export type ExplainedPayment = SponsorRequest & {
  readonly feeToken: AddressKey | undefined;
  /** The tokens that a quote request would name. */
  readonly choice: TokenChoice;
};

/** The answer, in either mode. A refusal carries limits too, because the vendor's clients have no other source of limits. */
export type Sponsorship = Sponsored | RefusedSponsorship;

export type Sponsored = {
  readonly outcome: 'sponsored';
  readonly profile: ServedProfile;
  readonly paymasterGas: PaymasterGas;
  /** Exactly what was signed. */
  readonly op: FinalUserOperation;
  readonly paymasterAndData: Hex;
  /** Mode SPONSORED: no contract is registered, and defaultContractAction lets calls to any of them pass. */
  readonly isOpen: boolean;
  /** Unix seconds. */
  readonly validUntil: number;
  readonly validAfter: number;
  /** The expiry that the caller asked for, in seconds; set when the data expire earlier than that. */
  readonly expiryAsked: number | undefined;
};

export type RefusedSponsorship = {
  readonly outcome: 'refused';
  readonly profile: ServedProfile;
  readonly refusal: Refusal;
  readonly limits: GasLimits;
};

/** How long sponsorship data is valid, in seconds, when the caller does not say: the service document's figure. */
export const defaultExpirySeconds = 300;
