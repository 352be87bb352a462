import type { PaymasterGas } from '../../core/entry-point/user-operation.js';
import type { FeeQuote } from '../../core/pricing/fee-quote.js';
import type { AddressKey } from '../../core/units/address.js';
import type { Hex } from '../../core/units/hex.js';
import type { FinalUserOperation } from '../../core/entry-point/user-operation.js';
import type { SponsorRequest } from '../sponsorship/request.js';
import type { ServedProfile } from '../view/served-chain.js';

/** A request for data with which the account pays for its gas in a token. */
export type TokenPaymentRequest = SponsorRequest & { readonly feeToken: AddressKey };

/** Signed data of mode ERC20. */
export type TokenPayment = {
  readonly profile: ServedProfile;
  readonly paymasterGas: PaymasterGas;
  /** Exactly what was signed. */
  readonly op: FinalUserOperation;
  readonly paymasterAndData: Hex;
  /** Unix seconds. */
  readonly validUntil: number;
  /** Set where the data end earlier than the caller asked, in seconds. */
  readonly expiryAsked: number | undefined;
};

/** A rate is promised for as long as data are valid: whatever the chain allows sponsorships, no longer than this. */
export const maxTokenExpirySeconds = 600;

/** Answer to a request for quotes. */
export type FeeQuotes = {
  /** Contract that the account has to allow to take its tokens. */
  readonly paymasterAddress: string;
  readonly feeQuotes: readonly FeeQuote[];
  /** Requested tokens without a quote, spelled as they were requested. */
  readonly unsupported: readonly { readonly address: string; readonly why: string }[];
};
