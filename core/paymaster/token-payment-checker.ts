import type { TokenCodec, TokenTerms } from './layout.js';
import type { Verdict } from '../refusal.js';
import type { Address, AddressKey } from '../units/address.js';
import type { EntryPointVersion } from '../entry-point/version.js';
import type { FinalUserOperation } from '../entry-point/user-operation.js';

/**
 * Port: would this operation pay for itself in tokens? Asked before its data is signed, because an operation that is mined
 * and pays nothing costs the paymaster. Refusals are TOKEN_BALANCE, TOKEN_ALLOWANCE and TOKEN_PAYMENT_FAILS, the last with
 * the EntryPoint's reason. Throws ESTIMATION_FAILED when the operation cannot be simulated, UNAVAILABLE when nobody answers.
 */
export type TokenPaymentChecker = {
  check(request: TokenPaymentRequest): Promise<Verdict>;
  /** What an account holds now, and allows a contract to take, in base units; 0 of a token that does not answer. UNAVAILABLE. */
  holdings(request: HoldingsRequest): Promise<Holdings>;
};

export type Holdings = { readonly balance: bigint; readonly allowance: bigint };

export type HoldingsRequest = {
  /** Who asks, as in {@link TokenPaymentRequest}. */
  readonly paymasterId: string;
  readonly chainId: number;
  readonly entryPoint: Address;
  readonly entryPointVersion: EntryPointVersion;
  readonly token: AddressKey;
  readonly account: AddressKey;
  readonly contract: AddressKey;
};

export type TokenPaymentRequest = {
  /** Who asks: no paymaster has more than its share of the simulations. */
  readonly paymasterId: string;
  readonly chainId: number;
  readonly entryPoint: Address;
  readonly entryPointVersion: EntryPointVersion;
  readonly codec: TokenCodec;
  /** Exactly as it will be signed. */
  readonly op: FinalUserOperation;
  readonly terms: TokenTerms;
  /**
   * Signs the codec's 32-byte hash as the data will be signed (EIP-191 prefix included): contracts take no payment from
   * data by a stranger. What is signed here has a window that is over, and stays in the process.
   */
  readonly sign: (hash: Uint8Array) => Promise<Uint8Array>;
};
