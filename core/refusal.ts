import type { ErrorCode } from './error-codes.js';
import type { RefusedCall } from './errors.js';

/** The result of a decision, and the only form of "no". */
export type Verdict = { readonly pass: true } | Refusal;
export type Refusal = {
  readonly pass: false;
  readonly reason: RefusalReason;
  /** The exact cause, for the person who debugs: which address, limit or figure. No secrets. */
  readonly detail: string;
  /** The policy that refuses, if it is one. */
  readonly policyId?: string;
  /** Set when the usual remedy of the reason would mislead. */
  readonly cause?: RefusalCause;
  /** What would make the operation pass, if the refusing policy knows better than the table. */
  readonly remedy?: string;
  /** The text that a webhook host wants the caller to see: bounded, one line. */
  readonly webhookReason?: string;
  /** The call that was refused, if a single one was. */
  readonly call?: RefusedCall;
};

export const pass: Verdict = { pass: true };

export function refuse(reason: RefusalReason, detail: string, cause?: RefusalCause): Refusal {
  return cause === undefined ? { pass: false, reason, detail } : { pass: false, reason, detail, cause };
}

/** The simulated call fails: `reverted` says why, and `remedy` what to do if that is better known than usual. */
export function refuseReverted(reverted: string, remedy: string | undefined): Refusal {
  const refusal = refuse('EXECUTION_REVERTS', reverted);
  return remedy === undefined ? refusal : { ...refusal, remedy };
}

export type RefusalRow = {
  /** Text for the caller. */
  readonly text: string;
  /** What would make the operation pass. */
  readonly remedy: string;
  /**
   * The detail only repeats what the caller sent, so everyone may read it when a refusal is answered as an error.
   * Absent: it has figures and names of the paymaster, so only its owner and the log get it, and in mode ERC20 also the
   * wallet that pays.
   */
  readonly isForCaller?: true;
  /** The detail names a host of the owner, so the wallet that pays does not get it either. */
  readonly namesHost?: true;
  /** Limit, window, sender, contract or deposit: an account that wants to pay in tokens instead may. */
  readonly leavesTokens?: true;
  /** The error that answers it, in forms that use errors; absent: SPONSORSHIP_REFUSED. */
  readonly error?: { readonly code: ErrorCode; readonly retryAfterSeconds?: number };
};

/**
 * Why an operation is not signed: a closed, published table. The reason is counted in metrics and logged, sent in
 * `X-Sponsorship-Reason`, `result.reason` and `error.data.reason`, and shown by `pm_explainSponsorship` with its
 * remedy.
 */
export const refusals = {
  SUSPENDED: {
    text: 'The paymaster or its chain is suspended.',
    remedy: 'Set spec.suspended of the Paymaster or Chain to false.',
  },
  NOT_FUNDED: {
    text: 'No funding wallet: set one, or ask the platform for a default.',
    remedy:
      'Set and prove a funding wallet, or have the platform list the organisation for its default wallet.',
  },
  POLICY_INVALID: {
    text: 'An active policy has never been valid: correct or pause it.',
    remedy: 'Correct the policies named, or pause them.',
  },
  POLICY_REFUSED: {
    text: 'A policy of the paymaster refuses the operation.',
    remedy: 'Change what the policy named refuses, or pause or change the policy.',
  },
  WINDOW_CLOSED: {
    text: 'The paymaster sponsors at another time.',
    remedy: 'Wait until the window named opens, move it, or pause or delete the policy.',
    leavesTokens: true,
  },
  CAMPAIGN_REQUIRED: {
    text: 'The request names no campaign: send sponsorshipPolicyId.',
    remedy:
      'Send the name of an active campaign as sponsorshipPolicyId, in the context or in the object with the mode; or set withoutCampaign of the Paymaster to Allow.',
  },
  CAMPAIGN_NOT_ACTIVE: {
    text: 'The campaign that the request names is not known, or not active.',
    remedy:
      'Name a campaign that is active: one of its policies is not paused, and its windows have not ended.',
  },
  SENDER_NOT_ALLOWED: {
    text: 'The paymaster does not serve this account.',
    remedy: 'Change the list of the policy named, or pause or delete the policy.',
    leavesTokens: true,
  },
  SENDER_DENIED: {
    text: 'The platform does not serve this account on this chain.',
    remedy: 'Ask the platform: the account is in spec.deniedSenders of the Chain.',
    isForCaller: true,
  },
  SENDERS_UNKNOWN: {
    text: 'A list of accounts is not known yet: try again in a second.',
    remedy:
      'Wait a second. If it lasts, the operator does not run, or somebody deleted the AddressList: the operator writes it again.',
    error: { code: 'UNAVAILABLE', retryAfterSeconds: 1 },
  },
  EXPRESSION_REFUSED: {
    text: 'An expression of the paymaster does not hold for the operation.',
    remedy: 'Change the part of the operation that the detail names, or change, pause or delete the policy.',
  },
  OPEN_SPONSORSHIP_DENIED: {
    text: 'No contract is registered and defaultContractAction is Deny.',
    remedy: 'Register the contract that is called, or set defaultContractAction to Allow.',
    leavesTokens: true,
  },
  CALLDATA_UNDECODABLE: {
    text: 'callData does not decode as the calls of a known account.',
    remedy: 'Send callData that the account encodes as the standard ABI encodes it.',
    isForCaller: true,
  },
  ACCOUNT_UNKNOWN: {
    text: 'The selector of callData belongs to no known account.',
    remedy:
      'Use an account that makes its calls by one of the functions that /openrpc.json lists for callData of a UserOperation, or add the function of this one to spec.accountFunctions of the Paymaster.',
    isForCaller: true,
  },
  VALUE_TRANSFER: {
    text: 'A call without data to an address that is not registered: plain transfers are not sponsored.',
    remedy: 'Call a whitelisted method: a transfer without data is never sponsored.',
    isForCaller: true,
    leavesTokens: true,
  },
  DELEGATE_CALL: {
    text: 'The account would delegate-call, which is not sponsored.',
    remedy: 'Make a plain call; only the known MultiSend contracts may be delegate-called.',
    isForCaller: true,
  },
  CONTRACT_NOT_REGISTERED: {
    text: 'Smart contract data not found: a called address is not registered.',
    remedy: 'Register the contract that is called.',
    isForCaller: true,
    leavesTokens: true,
  },
  CONTRACT_PAUSED: {
    text: 'A called contract is registered and paused.',
    remedy:
      'Resume the contract: set spec.active of the SmartContract to true, or activate it in the dashboard API by its _id.',
    isForCaller: true,
    leavesTokens: true,
  },
  METHOD_NOT_WHITELISTED: {
    text: 'A called method is not whitelisted.',
    remedy: 'Add the method that is called to whitelistedMethods of the contract.',
    isForCaller: true,
    leavesTokens: true,
  },
  DEPLOYMENT_NOT_ALLOWED: {
    text: 'A deploy-only operation needs an active WALLET_DEPLOYMENT policy.',
    remedy: 'Activate a WALLET_DEPLOYMENT policy, or add a whitelisted call to the operation.',
    isForCaller: true,
  },
  FEE_TOO_HIGH: {
    text: 'maxFeePerGas is above the cap.',
    remedy: 'Lower maxFeePerGas, or raise the cap in spec.gas of the Paymaster or Chain.',
  },
  PRIORITY_FEE_TOO_HIGH: {
    text: 'maxPriorityFeePerGas is above maxFeePerGas or the cap.',
    remedy: 'Lower maxPriorityFeePerGas, or raise the cap in spec.gas of the Paymaster or Chain.',
  },
  PRIORITY_FEE_TOO_LOW: {
    text: 'maxPriorityFeePerGas is below what the chain asks for.',
    remedy: 'Raise maxPriorityFeePerGas, or have the platform lower minPriorityFeePerGas of the Chain.',
    isForCaller: true,
  },
  GAS_LIMIT_TOO_HIGH: {
    text: 'A gas limit is above its cap, or far above what the call needs.',
    remedy: 'Lower the gas limit, or raise the cap in spec.gas of the Paymaster or Chain.',
  },
  GAS_LIMIT_TOO_LOW: {
    text: 'verificationGasLimit of the operation is below what the paymaster contract needs.',
    remedy: 'Raise verificationGasLimit, or send calculateGasLimits: true.',
  },
  COST_TOO_HIGH: {
    text: 'The operation may cost more than the paymaster pays for one.',
    remedy:
      'Lower the gas limits or fees, or raise perOperation of the limit named: what counts is the most that the operation can cost.',
    leavesTokens: true,
  },
  LIMIT_REACHED: {
    text: 'A spending limit has too little left in this window.',
    remedy: 'Wait until it resets, or raise the threshold. With cycleDuration any update restarts the count.',
    leavesTokens: true,
  },
  USAGE_LOST: {
    text: 'The count of a spending limit in this window was lost with the store.',
    remedy: 'Wait until it resets, update a limit with cycleDuration, or set restartedAt or assumeUsed.',
    leavesTokens: true,
  },
  DEPOSIT_TOO_LOW: {
    text: 'The deposit does not cover this operation and those already promised.',
    remedy: 'Deposit more for the account named, or wait until its promises are settled.',
    leavesTokens: true,
  },
  WEBHOOK_REFUSED: {
    text: 'A webhook answered that its conditions are not met.',
    remedy: 'Meet the conditions of the webhook that refused.',
  },
  WEBHOOK_FAILED: {
    text: 'A webhook did not answer in time, or not with `{"arePoliciesVerified": true}` or `false`.',
    remedy:
      'Repair the webhook host. With onError: Allow on its policy anyone who can overload the host is sponsored.',
    namesHost: true,
  },
  EXECUTION_REVERTS: {
    text: 'The simulated operation fails.',
    remedy: 'Send an operation that succeeds when it is simulated.',
    isForCaller: true,
  },
  TOKEN_BALANCE: {
    text: 'The account would hold too few tokens to pay for its gas.',
    remedy: 'Send the account as many tokens as the quote says, or lower the gas limits or fees.',
    isForCaller: true,
  },
  TOKEN_ALLOWANCE: {
    text: 'The account would allow the paymaster too few tokens to pay for its gas.',
    remedy: 'Approve the token paymaster for the amount of the quote, in this operation or before.',
    isForCaller: true,
  },
  TOKEN_AMOUNT_TOO_HIGH: {
    text: 'The payment could take more tokens than the request allows.',
    remedy: 'Raise maxTokenAmount of the context, or lower the gas limits or fees.',
    isForCaller: true,
  },
  TOKEN_PAYMENT_FAILS: {
    text: 'The simulated operation does not pay for its gas in tokens.',
    remedy: 'Send an operation whose simulation lets the paymaster take its tokens.',
    isForCaller: true,
  },
  ORGANISATION_SHARE_FULL: {
    text: 'The operations of this organisation that are not mined yet take its share of a deposit that several use.',
    remedy:
      'Wait until operations are mined or expire, use a funding wallet of your own, or have the platform raise organisationShare of the profile.',
    leavesTokens: true,
  },
  BUDGET_REACHED: {
    text: 'The budget of the organisation on this chain is used up.',
    remedy:
      'Wait until the budget begins anew, or have the platform raise it in spec.budgets of the Organisation.',
    leavesTokens: true,
  },
  BUDGET_SHARE_FULL: {
    text: 'Operations of the paymaster that are not mined yet hold a quarter of a budget: try again in a minute.',
    remedy:
      'Wait until operations are mined or expire, lower the gas limits, or have the platform raise the budget.',
    // Signed data are mined or expire within minutes.
    error: { code: 'RATE_LIMITED', retryAfterSeconds: 15 },
    leavesTokens: true,
  },
  TOO_MANY_PROMISES: {
    text: 'The paymaster has too many operations that are signed and not mined yet.',
    remedy: 'Wait until operations are mined or expire.',
  },
  SENDER_BARRED: {
    text: 'An operation of the account was mined and paid no token: wait a day.',
    remedy: 'Wait a day: the account has had an operation mined that paid no token.',
    isForCaller: true,
  },
  TOKEN_ALLOWANCE_REQUIRED: {
    text: 'This version signs token payments only where the contract can take the tokens before the operation runs.',
    remedy:
      'Approve the token paymaster for the amount of the quote in an operation before this one, and hold the tokens.',
    isForCaller: true,
  },
  TOKEN_EXPOSURE_FULL: {
    text: 'Unsecured token payments are full for now: try again in a minute, or allow the token paymaster to take the tokens before this operation, where the contract takes them first.',
    remedy:
      'Wait until token payments are mined or expire, approve the token paymaster in an earlier operation, or raise tokenLossBudget of the profile.',
    // Token payments are mined or expire within minutes.
    error: { code: 'RATE_LIMITED', retryAfterSeconds: 15 },
  },
  TOKEN_LOSS: {
    text: 'Token payments have stopped for today: operations that paid no token cost more than the budget of the day.',
    remedy:
      'Wait for the next day (UTC), or find out why operations did not pay and raise tokenLossBudget of the profile.',
    error: { code: 'PAYMASTER_NOT_READY' },
  },
  DELEGATE_NOT_ALLOWED: {
    text: 'The EIP-7702 delegate is not on the allow-list of the chain.',
    remedy: 'Add the delegate to spec.delegates of the Chain.',
    isForCaller: true,
  },
  AUTHORIZATION_INVALID: {
    text: 'The EIP-7702 authorization is not signed by the sender.',
    remedy:
      'Have the sender sign the authorization before the operation is sent here, and pass it on: viem takes it as `authorization` (only pm_getPaymasterStubData takes placeholders).',
    isForCaller: true,
  },
  FACTORY_NOT_ALLOWED: {
    text: 'The factory of initCode is not in accountFactories of the chain or the paymaster.',
    remedy: 'Use a listed factory, or add this one to spec.accountFactories of Chain and Paymaster.',
    isForCaller: true,
  },
  ACCOUNT_SIGNATURE_REQUIRED: {
    text: 'This paymaster signs only operations that their account has signed: send signingPhase "commit", then "finalize".',
    remedy:
      'Use a client that signs in two phases (context.signingPhase of pm_getPaymasterData), or set requireAccountSignature of the Paymaster to false.',
    isForCaller: true,
  },
  ACCOUNT_VALIDATION_FAILED: {
    text: 'The account does not accept the operation as it is signed.',
    remedy:
      'Have the account sign the operation exactly as the commit answered it, and finalize it with that signature.',
    isForCaller: true,
  },
  COMMIT_NOT_OPEN: {
    text: 'No commit of this operation is open: commit again and finalize the answer within 60 seconds.',
    remedy:
      'Send signingPhase "commit" again, have the account sign exactly that operation, and finalize it within 60 seconds.',
    isForCaller: true,
  },
} as const satisfies Record<string, RefusalRow>;
export type RefusalReason = keyof typeof refusals;

/** Cases of a reason that need a different remedy. */
const remedies = {
  NO_CALL:
    'Put a call of a registered contract into callData. Without one an operation is sponsored only where it deploys its account and a WALLET_DEPLOYMENT policy is active.',
  ABOVE_THRESHOLD:
    'Lower the gas limits or fees, or raise the threshold: this operation alone needs more than the whole limit, in every cycle.',
  ABOVE_SHARE:
    'Lower the gas limits or fees, or have the platform raise the budget: this operation alone needs more than a quarter of it.',
} as const;
type RefusalCause = keyof typeof remedies;

export function refusalRemedy({ reason, cause, remedy }: Refusal): string {
  if (remedy !== undefined) return remedy;
  return cause === undefined ? refusals[reason].remedy : remedies[cause];
}

export function isRefusalReason(text: string): text is RefusalReason {
  return Object.hasOwn(refusals, text);
}

/** Whether a request with `otherwise` that is refused for this reason is then decided in mode ERC20. */
export function leavesTokens({ reason = '' }: { readonly reason?: string }): boolean {
  if (!isRefusalReason(reason)) return false;
  const row: RefusalRow = refusals[reason];
  return row.leavesTokens === true;
}
