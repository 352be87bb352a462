import type { Address, Hex } from 'viem';

/** The call of the operation that was refused. */
export type RefusedCall = {
  /** Its place in a batch, from 0. */
  readonly index: number;
  readonly target: Address;
  /** Absent for a call without data. */
  readonly selector?: Hex;
};

/** What the service says about an error. */
export type ErrorFacts = {
  /** JSON-RPC code. */
  readonly code: number;
  /** A word of the service's published table, e.g. `METHOD_NOT_WHITELISTED`. */
  readonly reason: string;
  /** By which the operator of the service finds the request in the log. */
  readonly requestId?: string;
  /** Whether the same request may succeed later. */
  readonly retryable: boolean;
  readonly retryAfterSeconds?: number;
  readonly call?: RefusedCall;
};

/** Base of all errors of this package: the service did not give what was asked. The message is fit for users. */
export class PaymasterError extends Error implements ErrorFacts {
  readonly code: number;
  readonly reason: string;
  readonly requestId?: string;
  readonly retryable: boolean;
  readonly retryAfterSeconds?: number;
  readonly call?: RefusedCall;

  constructor(message: string, facts: ErrorFacts, options?: { readonly cause: unknown }) {
    super(message, options);
    this.name = new.target.name;
    this.code = facts.code;
    this.reason = facts.reason;
    this.retryable = facts.retryable;
    if (facts.requestId !== undefined) this.requestId = facts.requestId;
    if (facts.retryAfterSeconds !== undefined) this.retryAfterSeconds = facts.retryAfterSeconds;
    if (facts.call !== undefined) this.call = facts.call;
  }
}

/** No answer of the service: not reached, too slow, or not JSON-RPC. */
export class ConnectionError extends PaymasterError {}
/** The request is not one that the service understands; the message names the field. */
export class InvalidRequestError extends PaymasterError {}
/** The apiKey in the URL, or the `authToken`, is unknown. */
export class UnauthorizedError extends PaymasterError {}
/** The operation fails when it is simulated, or the chain could not simulate it. */
export class EstimationError extends PaymasterError {}
/** Too many requests, or too many unmined operations: `retryAfterSeconds` says when to ask again. */
export class RateLimitedError extends PaymasterError {}
/** The service, its chain or the paymaster does not work at the moment. */
export class NotReadyError extends PaymasterError {}
/** The paymaster does not pay for this operation. */
export class SponsorshipRefusedError extends PaymasterError {}
/** It would pay, but a spending limit or a deposit has too little left. */
export class LimitReachedError extends SponsorshipRefusedError {}
/** The account cannot pay for its gas in tokens. */
export class TokenPaymentError extends SponsorshipRefusedError {}

type ErrorClass = new (message: string, facts: ErrorFacts) => PaymasterError;

const byCode: ReadonlyMap<number, ErrorClass> = new Map<number, ErrorClass>([
  [-32_700, InvalidRequestError],
  [-32_600, InvalidRequestError],
  [-32_601, InvalidRequestError],
  [-32_602, InvalidRequestError],
  [-32_001, UnauthorizedError],
  [-32_004, EstimationError],
  [-32_005, RateLimitedError],
  [-32_003, NotReadyError],
  [-32_006, NotReadyError],
  [-32_603, NotReadyError],
  [-32_501, SponsorshipRefusedError],
]);

const byReason: ReadonlyMap<string, ErrorClass> = new Map<string, ErrorClass>([
  ['LIMIT_REACHED', LimitReachedError],
  ['USAGE_LOST', LimitReachedError],
  ['DEPOSIT_TOO_LOW', LimitReachedError],
  ['ORGANISATION_SHARE_FULL', LimitReachedError],
  ['BUDGET_REACHED', LimitReachedError],
  ['TOO_MANY_PROMISES', LimitReachedError],
  ['TOKEN_BALANCE', TokenPaymentError],
  ['TOKEN_ALLOWANCE', TokenPaymentError],
  ['TOKEN_ALLOWANCE_REQUIRED', TokenPaymentError],
  ['TOKEN_AMOUNT_TOO_HIGH', TokenPaymentError],
  ['TOKEN_PAYMENT_FAILS', TokenPaymentError],
  ['SENDER_BARRED', TokenPaymentError],
]);

/** The error of the class that fits: by reason for refusals, otherwise by code; PaymasterError for a code of a later service. */
export function toPaymasterError(message: string, facts: ErrorFacts): PaymasterError {
  const refusal = facts.code === -32_501 ? byReason.get(facts.reason) : undefined;
  const Found = refusal ?? byCode.get(facts.code) ?? PaymasterError;
  return new Found(message, facts);
}

/** The PaymasterError inside an error that viem threw, which wraps those of a paymaster; undefined when it is another error. */
export function findPaymasterError(error: unknown): PaymasterError | undefined {
  for (let each = error; each instanceof Error; each = each.cause)
    if (each instanceof PaymasterError) return each;
  return undefined;
}
