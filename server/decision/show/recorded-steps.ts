import type { Decision } from '../../../core/ledger/record.js';
import { isRefusalReason, refusalRemedy, type RefusalReason } from '../../../core/refusal.js';
import { asking, decisionsIn } from '../../../core/policy/derived.js';
import type { Mode } from '../../../core/usage/reservation.js';
import type { TraceStep } from '../run.js';

/** A step of a decision that was recorded. `undecided`: it comes after the refusal, so nobody knows. */
type RecordedStep = Omit<TraceStep, 'verdict'> & { readonly verdict: 'pass' | 'refuse' | 'undecided' };

/** Of kinds that decide again when the cost is known, the later step is shown. */
const stepsOfKinds = (mode: Mode, when: 'early' | 'late'): readonly string[] =>
  decisionsIn(mode)
    .filter(({ late }) => (late === undefined) === (when === 'early'))
    .map(({ step }) => step);

/** The steps of each mode in their order, as an explanation shows them. */
export const stepNames = {
  SPONSORED: [
    'suspended',
    'sender',
    'accountSignature',
    'funding',
    'policies',
    'campaign',
    'calls',
    ...stepsOfKinds('SPONSORED', 'early'),
    'factory',
    'delegate',
    'authorization',
    'fees',
    'tip',
    'gas',
    ...stepsOfKinds('SPONSORED', 'late'),
    ...asking.map(({ step }) => step),
    'limitsAndDeposit',
  ],
  ERC20: [
    'suspended',
    'sender',
    'accountSignature',
    'policies',
    'campaign',
    ...stepsOfKinds('ERC20', 'early'),
    'factory',
    'delegate',
    'authorization',
    'fees',
    'tip',
    'token',
    'price',
    'gas',
    ...stepsOfKinds('ERC20', 'late'),
    'charge',
    'lossesAndDeposit',
    'payment',
  ],
} as const satisfies Record<NonNullable<Decision['mode']>, readonly string[]>;

/** Stands for the last step of each mode that looks at the usage store, as does the reservation. */
const store = 'store';
const storeSteps = { SPONSORED: 'limitsAndDeposit', ERC20: 'lossesAndDeposit' } as const;

/** The step that refuses for a reason. */
const stepByReason = {
  SUSPENDED: 'suspended',
  NOT_FUNDED: 'funding',
  POLICY_INVALID: 'policies',
  CAMPAIGN_REQUIRED: 'campaign',
  CAMPAIGN_NOT_ACTIVE: 'campaign',
  POLICY_REFUSED: 'policies',
  WINDOW_CLOSED: 'window',
  EXPRESSION_REFUSED: 'expressions',
  SENDER_NOT_ALLOWED: 'senders',
  SENDER_DENIED: 'sender',
  SENDERS_UNKNOWN: 'senders',
  OPEN_SPONSORSHIP_DENIED: 'calls',
  CALLDATA_UNDECODABLE: 'calls',
  ACCOUNT_UNKNOWN: 'calls',
  VALUE_TRANSFER: 'calls',
  DELEGATE_CALL: 'calls',
  CONTRACT_NOT_REGISTERED: 'calls',
  CONTRACT_PAUSED: 'calls',
  METHOD_NOT_WHITELISTED: 'calls',
  DEPLOYMENT_NOT_ALLOWED: 'deployment',
  FEE_TOO_HIGH: 'fees',
  PRIORITY_FEE_TOO_HIGH: 'fees',
  PRIORITY_FEE_TOO_LOW: 'tip',
  GAS_LIMIT_TOO_HIGH: 'gas',
  GAS_LIMIT_TOO_LOW: 'gas',
  COST_TOO_HIGH: 'costPerOperation',
  LIMIT_REACHED: store,
  USAGE_LOST: store,
  DEPOSIT_TOO_LOW: store,
  WEBHOOK_REFUSED: 'webhooks',
  WEBHOOK_FAILED: 'webhooks',
  EXECUTION_REVERTS: 'gas',
  TOKEN_BALANCE: 'payment',
  TOKEN_ALLOWANCE: 'payment',
  TOKEN_AMOUNT_TOO_HIGH: 'charge',
  TOKEN_PAYMENT_FAILS: 'payment',
  ORGANISATION_SHARE_FULL: store,
  BUDGET_REACHED: store,
  BUDGET_SHARE_FULL: store,
  TOO_MANY_PROMISES: store,
  SENDER_BARRED: store,
  TOKEN_ALLOWANCE_REQUIRED: 'gas',
  TOKEN_EXPOSURE_FULL: store,
  TOKEN_LOSS: store,
  DELEGATE_NOT_ALLOWED: 'delegate',
  AUTHORIZATION_INVALID: 'authorization',
  FACTORY_NOT_ALLOWED: 'factory',
  ACCOUNT_SIGNATURE_REQUIRED: 'accountSignature',
  ACCOUNT_VALIDATION_FAILED: 'accountValidation',
  COMMIT_NOT_OPEN: 'commit',
} as const satisfies Record<RefusalReason, string>;

/** Every step that {@link recordedSteps} may name. */
export const shownSteps: readonly string[] = [
  ...new Set<string>([...stepNames.SPONSORED, ...stepNames.ERC20, 'accountValidation', 'commit']),
];

/** Wallets complete these parts of an operation after they have got a stub. */
const stubMethod = 'pm_getPaymasterStubData';
const notOfStub: readonly string[] = ['authorization', 'tip'];

/**
 * The steps of a recorded decision. Nothing of them is recorded, since a request must not pay for it: what was signed has passed
 * every step of its mode, and a reason names the step that refused. `pass` also stands for a step that had nothing to decide.
 * Empty where the mode is not known.
 */
export function recordedSteps(
  decision: Pick<Decision, 'mode' | 'method' | 'verdict' | 'reason' | 'detail' | 'maxCostWei'>,
): readonly RecordedStep[] {
  const { mode, method, verdict, reason, detail = '', maxCostWei } = decision;
  if (mode === undefined) return [];
  const names: readonly string[] = stepNames[mode];
  if (verdict !== 'refused') return names.map((step) => ({ step, verdict: 'pass' }));
  if (reason === undefined || !isRefusalReason(reason)) return [];
  // The cost is known once there is something to sign: then the reservation refused, after all steps.
  const isReservation = maxCostWei !== undefined;
  const named = mode === 'ERC20' && reason === 'NOT_FUNDED' ? store : stepByReason[reason];
  const refusing = named === store ? storeSteps[mode] : named;
  const others = names.filter((step) => step !== refusing);
  // Before gas is estimated the usage store is looked at for the least that the operation can cost, and policies judge what they
  // can without the cost. Which of their two steps refused is not recorded: what lies between them counts as undecided.
  const firstLook = refusing === storeSteps[mode] ? 'gas' : 'factory';
  const looksTwice = refusing === storeSteps[mode] || stepsOfKinds(mode, 'late').includes(refusing);
  const place = looksTwice ? others.indexOf(firstLook) : names.indexOf(refusing);
  const end = isReservation || place < 0 ? others.length : place;
  const remedy = refusalRemedy({ pass: false, reason, detail });
  return [
    ...others.slice(0, end).map((step): RecordedStep => {
      const isOpen = method === stubMethod && notOfStub.includes(step);
      return { step, verdict: isOpen ? 'undecided' : 'pass' };
    }),
    {
      step: refusing,
      verdict: 'refuse',
      reason,
      ...(detail === '' ? {} : { detail }),
      ...(remedy === undefined ? {} : { remedy }),
    },
    ...others.slice(end).map((step): RecordedStep => ({ step, verdict: 'undecided' })),
  ];
}
