import type { TokenCodec, TokenTerms } from './layout.js';
import type { Holdings, ShownToken } from './token-payment.js';
import type { Verdict } from '../refusal.js';
import type { Address, AddressKey } from '../units/address.js';
import type { FinalUserOperation } from '../entry-point/user-operation.js';
import type { SigningItem } from './signer.js';
import type { SimulationTarget } from '../userop/estimator.js';

/**
 * Port: checks whether an operation would pay for itself in tokens. We ask before signing its data, because the
 * paymaster bears the cost of an operation that is mined and pays nothing. Refusals are TOKEN_BALANCE,
 * TOKEN_ALLOWANCE and TOKEN_PAYMENT_FAILS, the last with the EntryPoint's reason. Throws ESTIMATION_FAILED when the
 * operation cannot be simulated, UNAVAILABLE when no node answers.
 */
export type TokenPaymentChecker = {
  check(request: TokenPaymentRequest): Promise<Verdict>;
  /**
   * What `check` has to know about the chain before it can simulate. It does not depend on the operation, so it can be
   * read while limits are estimated. Throws as `check`.
   */
  ground(request: GroundRequest): Promise<PaymentGround>;
  /**
   * What an account holds now, and what it allows a contract to take, in base units; 0 when the token does not
   * answer. Throws UNAVAILABLE.
   */
  holdings(request: HoldingsRequest): Promise<Holdings>;
};

export type PaymentGround = {
  /** The block from which everything is read: the newest. */
  readonly block: number;
  /** Receivers that the contract itself names. */
  readonly receivers: readonly AddressKey[];
};

export type GroundRequest = SimulationTarget & { readonly codec: TokenCodec; readonly contract: Address };

type HoldingsRequest = SimulationTarget & {
  readonly token: AddressKey;
  readonly account: AddressKey;
  readonly contract: AddressKey;
};

export type TokenPaymentRequest = SimulationTarget & {
  readonly codec: TokenCodec;
  /** The operation exactly as it will be signed. */
  readonly op: FinalUserOperation;
  readonly terms: TokenTerms;
  /** For amounts in messages. Absent: they are in base units. */
  readonly token?: ShownToken;
  /**
   * Signs 32 bytes with the key that will sign the real data, because a contract takes no payment for data signed by
   * another key. The data signed here has a validity window that is over, and stays in the process.
   */
  readonly sign: (item: SigningItem) => Promise<Uint8Array>;
  /** The signature will be in the tail of the data (see `tail.ts`), so it is simulated there. */
  readonly inTail?: true;
  /** Read earlier by `ground`. Absent: `check` reads it. */
  readonly ground?: Promise<PaymentGround>;
};
