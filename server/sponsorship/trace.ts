import type { RefusalReason, Verdict } from '../../core/policy/verdict.js';

/** One step of a decision, for people. */
export type TraceStep = {
  readonly step: string;
  readonly verdict: 'pass' | 'refuse' | 'skipped' | 'error';
  /** Of a refusal; of an error its `data.reason`. */
  readonly reason?: string;
  /** What exactly: which address, limit, figure. */
  readonly detail?: string;
  /** What would make it pass. */
  readonly remedy?: string;
};

/** Collects the steps of an explanation; the first refusal is what a sponsorship request would be answered with. */
export type Trace = {
  judged(step: string, verdict: Verdict): void;
  skipped(step: string, why: string): void;
  /** A step that could not be decided: a sponsorship request would be answered with an error. */
  failed(step: string, message: string, reason: string): void;
  readonly steps: readonly TraceStep[];
  /** The first step that did not pass. */
  stoppedBy(): TraceStep | undefined;
};

export function createTrace(): Trace {
  const steps: TraceStep[] = [];
  return {
    steps,
    judged(step, verdict) {
      if (verdict.pass) steps.push({ step, verdict: 'pass' });
      else {
        const { reason, detail } = verdict;
        steps.push({ step, verdict: 'refuse', reason, detail, remedy: remedies[reason] });
      }
    },
    skipped: (step, detail) => void steps.push({ step, verdict: 'skipped', detail }),
    failed(step, detail, reason) {
      const remedy = errorRemedies.get(reason);
      steps.push({ step, verdict: 'error', reason, detail, ...(remedy === undefined ? {} : { remedy }) });
    },
    stoppedBy: () => steps.find(({ verdict }) => verdict === 'refuse' || verdict === 'error'),
  };
}

/** What would end an error that is no passing outage. */
const errorRemedies: ReadonlyMap<string, string> = new Map([
  ['SIMULATIONS_BUSY', 'Try again in a second, or send gas limits: then nothing is simulated.'],
  ['WEBHOOK_BUSY', 'Try again in a second; limit the requests of a key with spec.rateLimit if it persists.'],
  ['FEE_TOKEN_REQUIRED', 'Name one of the tokens shown in tokenInfo.feeTokenAddress.'],
  [
    'FEE_TOKEN_UNSUPPORTED',
    'Name a token that is shown with a price, or correct the price source of this one.',
  ],
  [
    'TOKEN_EXPOSURE_FULL',
    'Wait until token payments are mined or expire, approve the token paymaster in an earlier operation, or raise tokenLossBudget of the profile.',
  ],
  [
    'TOKEN_LOSS',
    'Wait for the next day (UTC), or find out why operations did not pay and raise tokenLossBudget of the profile.',
  ],
]);

/** What would make an operation pass that was refused for this reason. */
const remedies = {
  SUSPENDED: 'Set spec.suspended of the Paymaster or Chain to false.',
  NOT_FUNDED:
    'Set and prove a funding wallet, or have the platform list the organisation for its default wallet.',
  POLICY_INVALID: 'Correct the policies named, or pause them.',
  OPEN_SPONSORSHIP_DENIED: 'Register the contract that is called, or set defaultContractAction to Allow.',
  CALLDATA_UNDECODABLE: 'Send callData that the account encodes as the standard ABI encodes it.',
  ACCOUNT_UNKNOWN: 'Use an account whose execute functions are in the table of known accounts.',
  VALUE_TRANSFER: 'Call a whitelisted method; a transfer without data is sponsored to nobody.',
  DELEGATE_CALL: 'Make a plain call; only the known MultiSend contracts may be delegate-called.',
  CONTRACT_NOT_REGISTERED: 'Register the contract that is called.',
  METHOD_NOT_WHITELISTED: 'Add the method that is called to whitelistedMethods of the contract.',
  DEPLOYMENT_NOT_ALLOWED: 'Activate a WALLET_DEPLOYMENT policy, or add a whitelisted call to the operation.',
  FEE_TOO_HIGH: 'Lower maxFeePerGas, or raise the cap in spec.gas of the Paymaster or Chain.',
  PRIORITY_FEE_TOO_HIGH:
    'Lower maxPriorityFeePerGas, or raise the cap in spec.gas of the Paymaster or Chain.',
  GAS_LIMIT_TOO_HIGH: 'Lower the gas limit, or raise the cap in spec.gas of the Paymaster or Chain.',
  GAS_LIMIT_TOO_LOW: 'Raise the gas limit, or send calculateGasLimits: true.',
  LIMIT_REACHED:
    'Wait for the next cycle, raise the threshold, or update the limit, which starts a new cycle.',
  USAGE_LOST: 'Wait for the next cycle, or update the limit, which starts a new cycle.',
  DEPOSIT_TOO_LOW: 'Deposit more for the account named, or wait until what is promised is settled.',
  WEBHOOK_REFUSED: 'Meet the conditions of the webhook that refused.',
  WEBHOOK_FAILED:
    'Repair the webhook host. With onError: Allow on its policy anyone who can overload the host is sponsored.',
  EXECUTION_REVERTS: 'Send an operation that succeeds when it is simulated.',
  TOKEN_BALANCE: 'Send the account as many tokens as the quote says, or lower the gas limits or fees.',
  TOKEN_ALLOWANCE: 'Approve the token paymaster for the amount of the quote, in this operation or before.',
  TOKEN_PAYMENT_FAILS: 'Send an operation whose simulation lets the paymaster take its tokens.',
  SENDER_BARRED: 'Wait a day: the account has had an operation mined that paid no token.',
  ORGANISATION_SHARE_FULL:
    'Wait until operations are mined or expire, use a funding wallet of your own, or have the platform raise organisationShare of the profile.',
  TOO_MANY_PROMISES: 'Wait until operations are mined or expire.',
  TOKEN_ALLOWANCE_REQUIRED:
    'Approve the token paymaster for the amount of the quote in an operation before this one, and hold the tokens.',
  DELEGATE_NOT_ALLOWED: 'Add the delegate to spec.delegates of the Chain.',
  AUTHORIZATION_INVALID:
    'Have the sender sign the authorization before the operation is sent here (placeholders are taken by pm_getPaymasterStubData only).',
  FACTORY_NOT_ALLOWED:
    'Use a listed factory, or add this one to spec.accountFactories of Chain and Paymaster.',
} as const satisfies Record<RefusalReason, string>;
