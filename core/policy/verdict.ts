/**
 * Why an operation is not sponsored: a closed, published table. The reason is counted in metrics, sent in
 * `X-Sponsorship-Reason` and `result.reason`, and shown by `pm_explainSponsorship`. Texts say what would help.
 */
export const refusals = {
  SUSPENDED: 'The paymaster or its chain is suspended.',
  NOT_FUNDED: 'No funding wallet: set one, or ask the platform for a default.',
  POLICY_INVALID: 'An active policy has never been valid: correct or pause it.',
  OPEN_SPONSORSHIP_DENIED: 'No contract is registered and defaultContractAction is Deny.',
  CALLDATA_UNDECODABLE: 'callData does not decode as the calls of a known account.',
  ACCOUNT_UNKNOWN: 'The selector of callData belongs to no known account.',
  VALUE_TRANSFER:
    'A call without data to an address that is not registered: plain transfers are not sponsored.',
  DELEGATE_CALL: 'The account would delegate-call, which is not sponsored.',
  CONTRACT_NOT_REGISTERED: 'Smart contract data not found: a called address is not registered.',
  METHOD_NOT_WHITELISTED: 'A called method is not whitelisted.',
  DEPLOYMENT_NOT_ALLOWED: 'A deploy-only operation needs an active WALLET_DEPLOYMENT policy.',
  FEE_TOO_HIGH: 'maxFeePerGas is above the cap.',
  PRIORITY_FEE_TOO_HIGH: 'maxPriorityFeePerGas is above maxFeePerGas or the cap.',
  GAS_LIMIT_TOO_HIGH: 'A gas limit is above its cap, or far above what the call needs.',
  GAS_LIMIT_TOO_LOW: 'A gas limit is below the least that the paymaster contract needs.',
  LIMIT_REACHED: 'A spending limit has too little left in this cycle.',
  USAGE_LOST: 'Usage of this cycle was lost with the store: wait for the next cycle or update the limit.',
  DEPOSIT_TOO_LOW: 'The deposit does not cover this operation and those already promised.',
  WEBHOOK_REFUSED: 'A webhook answered that its conditions are not met.',
  WEBHOOK_FAILED: 'A webhook did not answer as specified in time.',
  EXECUTION_REVERTS: 'The simulated operation fails.',
  TOKEN_BALANCE: 'The account would hold too few tokens to pay for its gas.',
  TOKEN_ALLOWANCE: 'The account would allow the paymaster too few tokens to pay for its gas.',
  TOKEN_PAYMENT_FAILS: 'The simulated operation does not pay for its gas in tokens.',
  ORGANISATION_SHARE_FULL:
    'The operations of this organisation that are not mined yet take its share of a deposit that several use.',
  TOO_MANY_PROMISES: 'The paymaster has too many operations under way that are not mined yet.',
  SENDER_BARRED: 'An operation of the account was mined and paid no token: wait a day.',
  TOKEN_ALLOWANCE_REQUIRED:
    'This version signs token payments only where the contract can take the tokens before the operation runs.',
  DELEGATE_NOT_ALLOWED: 'The EIP-7702 delegate is not on the allow-list of the chain.',
  AUTHORIZATION_INVALID: 'The EIP-7702 authorization is not signed by the sender.',
  FACTORY_NOT_ALLOWED: 'The factory of initCode is not in accountFactories of the chain or the paymaster.',
} as const;
export type RefusalReason = keyof typeof refusals;

export type Verdict = { readonly pass: true } | Refusal;
export type Refusal = {
  readonly pass: false;
  readonly reason: RefusalReason;
  /** What exactly, for the person who debugs: which address, limit, figure. No secrets. */
  readonly detail: string;
  /** What a webhook host wants the caller to be told: bounded, one line. */
  readonly hostReason?: string;
};

export const pass: Verdict = { pass: true };

export function refuse(reason: RefusalReason, detail: string): Refusal {
  return { pass: false, reason, detail };
}
