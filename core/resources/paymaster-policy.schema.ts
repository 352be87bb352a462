import type { KindDefinition } from '../schema/crd.js';
import {
  boolean,
  choice,
  emptyObject,
  immutable,
  integer,
  number,
  object,
  text,
  type CelRule,
} from '../schema/structural.js';
import { maxCycleValue } from '../units/time.js';
import { kindNames } from './kinds.js';
import type {
  CycleStatus,
  PaymasterPolicySpec,
  PaymasterPolicyStatus,
  PolicyType,
} from './paymaster-policy.js';
import type { SpendingLimitSpec, WebhookSpec } from './paymaster-policy.js';
import {
  activeColumn,
  ageColumn,
  categories,
  conditions,
  cycleUnit,
  displayName,
  httpUrl,
  instant,
  observedGeneration,
  paymasterRef,
  paymasterColumn,
  readyColumn,
  reasonColumn,
} from './schema-parts.js';

/** Zero is allowed: it refuses everything, which is a limit like any other. */
const threshold = text(
  'The limit as decimal text: a number of operations for COUNT, ether for NATIVE_ASSET, e.g. "100" or "0.05". Zero refuses everything.',
  {
    minLength: 1,
    maxLength: 34,
    pattern: '^(0|[1-9][0-9]{0,14})(\\.[0-9]{1,18})?$',
    expected:
      'decimal text in quotes such as "0.05": not negative, at most 15 digits before and 18 after the point',
  },
);

const scopes = ['PAYMASTER', 'SMART_ACCOUNT'] as const;
const thresholdTypes = ['COUNT', 'NATIVE_ASSET'] as const;

const spendingLimit = object<SpendingLimitSpec>(
  'A limit per cycle, for policyType PAYMASTER_SA_LIMIT.',
  {
    required: {
      scope: choice(
        'PAYMASTER counts all users together, SMART_ACCOUNT each sender alone. Never changes.',
        scopes,
        immutable('delete this PaymasterPolicy and create another'),
      ),
      cycleDuration: object<SpendingLimitSpec['cycleDuration']>(
        'Length of a cycle, e.g. {value: 1, unit: day}; the count begins anew with each.',
        {
          required: {
            value: integer('Number of units.', { minimum: 1, maximum: maxCycleValue.hour }),
            unit: cycleUnit('hour or day.'),
          },
          optional: {},
        },
        {
          rule: `self.unit != 'day' || self.value <= ${maxCycleValue.day}`,
          message: `must be at most one year: ${maxCycleValue.day} days or ${maxCycleValue.hour} hours`,
          fieldPath: '.value',
        },
      ),
      threshold,
      thresholdType: choice(
        'COUNT limits the number of user operations, NATIVE_ASSET the gas that is paid for them.',
        thresholdTypes,
      ),
    },
    optional: {
      startTime: instant(
        'When the first cycle begins, e.g. "2026-12-01T00:00:00Z". A new or changed value starts a new cycle then; absent means when the operator first sees the limit.',
      ),
    },
  },
  {
    rule: "self.thresholdType != 'COUNT' || self.threshold.matches('^[0-9]+$')",
    message: 'must be a whole number when thresholdType is COUNT; use NATIVE_ASSET for amounts of ether',
    fieldPath: '.threshold',
  },
);

export const webhookTimeoutSeconds = { minimum: 0.5, maximum: 10 } as const;

const webhook = object<WebhookSpec>(
  'A check by a host of yours, for policyType WEBHOOK.',
  {
    required: {
      url: httpUrl(
        'Address that is asked, e.g. https://shop.example.org/paymaster; it answers {"arePoliciesVerified": true} to pass.',
      ),
    },
    optional: {
      method: choice('POST sends a JSON body, GET sends the data as query parameters. Default POST.', [
        'POST',
        'GET',
      ]),
      onError: choice(
        'What a host that fails means. Default Deny: nothing is sponsored then. Allow means that anyone who can overload your host is sponsored: whatever the other policies pass is sponsored without a check while the host is away, takes longer than timeoutSeconds, or answers HTTP 5xx or a body without a boolean arePoliciesVerified. Only spending limits bound what that costs: have one. HTTP 4xx (but 404, 408, 410, 421, 425, 429) is a "no"; calls that wait in our own queue are never sponsored.',
        ['Deny', 'Allow'],
      ),
      timeoutSeconds: number(
        'How long the host has to answer, one retry included: 0.5 to 10. Default 3. A wallet waits as long for its sponsorship.',
        webhookTimeoutSeconds,
      ),
      keyGeneration: integer(
        'Raise it to rotate the signing key. Default: the highest that a policy of this name ever had, else 1.',
        { minimum: 1, maximum: 1_000_000 },
      ),
      previousKeyUntil: instant(
        'Until then X-Signature is made with the key of the generation before, and X-Signature-Next with the new one.',
      ),
    },
  },
  {
    rule: '!has(oldSelf.keyGeneration) || (has(self.keyGeneration) && self.keyGeneration >= oldSelf.keyGeneration)',
    message: 'must be the same or higher than before: a lower one would bring a rotated key back',
    fieldPath: '.keyGeneration',
  },
  {
    rule: '!has(self.previousKeyUntil) || (has(self.keyGeneration) && self.keyGeneration > 1)',
    message: 'must be left out until keyGeneration is at least 2: before that there is no previous key',
    fieldPath: '.previousKeyUntil',
  },
);

/** `policyType` and the member that goes with it: exactly that one is set. */
const members = {
  PAYMASTER_SA_LIMIT: 'spendingLimit',
  WEBHOOK: 'webhook',
  WALLET_DEPLOYMENT: 'walletDeployment',
} as const satisfies Record<PolicyType, keyof PaymasterPolicySpec>;

const union: readonly CelRule[] = Object.entries(members).map(([type, member]) => ({
  rule: `(self.policyType == '${type}') == has(self.${member})`,
  message: `must be set when policyType is ${type}, and left out otherwise`,
  fieldPath: `.${member}`,
}));

const spec = object<PaymasterPolicySpec>(
  'What the owner wants.',
  {
    required: {
      paymasterRef: paymasterRef('The Paymaster that this policy guards. Never changes.'),
      name: displayName('Name of the policy, unique per Paymaster.'),
      policyType: choice(
        'Kind of the policy; the member of the same kind holds its data. Never changes.',
        ['PAYMASTER_SA_LIMIT', 'WEBHOOK', 'WALLET_DEPLOYMENT'],
        immutable('delete this PaymasterPolicy and create another'),
      ),
    },
    optional: {
      active: boolean(
        'False pauses the policy. Absent means active; leave it out so that the dashboard may pause it.',
      ),
      spendingLimit,
      webhook,
      walletDeployment: emptyObject(
        'Permits operations that only deploy a wallet, for policyType WALLET_DEPLOYMENT.',
      ),
    },
  },
  ...union,
);

const cycle = object<CycleStatus>('The cycle in force, and the fields that it was started for.', {
  required: {
    startTime: instant('When the first window began.'),
    durationMs: integer('Length of a window in milliseconds.', {
      minimum: 1,
      maximum: Number.MAX_SAFE_INTEGER,
    }),
    scope: choice('Scope at that time.', scopes),
    threshold: text('Threshold at that time.', { maxLength: 34 }),
    thresholdType: choice('Kind of threshold at that time.', thresholdTypes),
  },
  optional: { specStartTime: instant('spec.spendingLimit.startTime at that time.') },
});

const status = object<PaymasterPolicyStatus>('What the operator found.', {
  required: {},
  optional: {
    observedGeneration,
    conditions,
    policyId: text('Id of this policy in the dashboard API.', { maxLength: 64 }),
    cycle,
  },
});

export const paymasterPolicyDefinition = {
  kind: 'PaymasterPolicy',
  ...kindNames.PaymasterPolicy,
  categories,
  description: 'A rule that an operation must pass before its Paymaster sponsors it.',
  spec,
  status,
  printerColumns: [
    readyColumn,
    reasonColumn,
    paymasterColumn,
    { name: 'Type', type: 'string', jsonPath: '.spec.policyType', description: 'Kind of policy.' },
    { name: 'Name', type: 'string', jsonPath: '.spec.name', description: 'Name of the policy.' },
    activeColumn,
    {
      name: 'Threshold',
      type: 'string',
      jsonPath: '.spec.spendingLimit.threshold',
      description: 'Limit per cycle.',
      priority: 1,
    },
    ageColumn,
  ],
  selectableFields: ['spec.name', 'spec.paymasterRef.name', 'spec.policyType'],
} as const satisfies KindDefinition;
