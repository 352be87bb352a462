import { address, cycleUnit, displayName } from '../../core/resources/schema-parts.js';
import { webhookTimeoutSeconds } from '../../core/resources/paymaster-policy.schema.js';
import { maxAbiLength, methodName } from '../../core/resources/smart-contract.schema.js';
import { choice, list, number, object, text } from '../../core/schema/structural.js';
import type { SchemaOf, StructuralSchema } from '../../core/schema/structural.js';
import type {
  LimitScope,
  PolicyType,
  ThresholdType,
  WebhookSpec,
} from '../../core/resources/paymaster-policy.js';
import type { CycleUnit } from '../../core/units/time.js';

/** Request bodies of the service document. The resources' own schemas judge the result once more when it is stored. */

/** Keys are rotated in the resource itself. */
export type WebhookData = Omit<WebhookSpec, 'keyGeneration' | 'previousKeyUntil'>;

export type CreatePaymaster = {
  readonly name: string;
  readonly type: 'HYBRID';
  readonly chainId: number;
  readonly version: string;
};
export type UpdatePaymaster = {
  readonly paymasterId: string;
  readonly type: 'paymasterFundingId';
  readonly signature: string;
  readonly address: string;
};
export type CreateContract = {
  readonly name: string;
  readonly address: string;
  readonly abi: string;
  readonly whitelistedMethods?: readonly string[];
};
export type UpdateContract = { readonly address: string; readonly whitelistedMethods: readonly string[] };
export type DeleteContract = { readonly address: string };
export type CycleDuration = { readonly value: number; readonly unit: CycleUnit };
export type LimitData = {
  readonly type: LimitScope;
  readonly cycleDuration: CycleDuration;
  readonly threshold: number;
  readonly thresholdType: ThresholdType;
};
export type CreatePolicy<D extends object> = {
  readonly name: string;
  readonly policyType: PolicyType;
  readonly policyData: D;
};
export type UpdateLimit = Partial<LimitData> & { readonly name?: string };

const whitelistedMethods = list(
  'Methods that are sponsored: a name means all its overloads, a full signature such as mint(address) one.',
  methodName('Name or signature of a method of the ABI.'),
  { maxItems: 1000 },
);

export const createPaymasterSchema: SchemaOf<CreatePaymaster> = object('A new paymaster.', {
  required: {
    name: displayName('Name of the paymaster, unique per chain.'),
    type: choice('Kind of paymaster.', ['HYBRID']),
    // Any number may be asked for; which chains are offered is not a matter of shape.
    chainId: { type: 'number', description: 'Chain of the DApp.', expected: 'a number' },
    version: text('Version of the paymaster: one of those that the chain offers.', {
      minLength: 1,
      maxLength: 63,
    }),
  },
  optional: {},
});

export const updatePaymasterSchema: SchemaOf<UpdatePaymaster> = object('A new funding wallet.', {
  required: {
    paymasterId: text('The paymaster.', { minLength: 1, maxLength: 100 }),
    type: choice('What is updated.', ['paymasterFundingId']),
    signature: {
      type: 'string',
      description: 'EIP-191 signature of the latest funding message by `address`.',
      expected: 'text',
      confidential: true,
    },
    address: address('The wallet that is to fund the paymaster.'),
  },
  optional: {},
});

export const createContractSchema: SchemaOf<CreateContract> = object('A contract to sponsor.', {
  required: {
    name: displayName('Name of the contract, unique per paymaster.'),
    address: address('Address of the contract, unique per paymaster.'),
    abi: text('ABI of the contract as JSON text.', {
      minLength: 2,
      maxLength: maxAbiLength,
      expected: `the ABI as JSON text of 2 to ${maxAbiLength} characters`,
    }),
  },
  optional: { whitelistedMethods },
});

/** Names what is there already, also where it was stored with a wrong checksum. */
const known: SchemaOf<string> = text('Address of a registered contract, in any case.', {
  maxLength: 42,
  pattern: '^0x[0-9a-fA-F]{40}$',
  expected: 'an address: 0x and 40 hex digits',
});

export const updateContractSchema: SchemaOf<UpdateContract> = object(
  'The methods that are sponsored from now on.',
  {
    required: { address: known, whitelistedMethods },
    optional: {},
  },
);

export const deleteContractSchema: SchemaOf<DeleteContract> = object('The contract to remove.', {
  required: { address: known },
  optional: {},
});

const cycleDuration: SchemaOf<CycleDuration> = object('Length of the cycle.', {
  required: {
    value: {
      type: 'integer',
      description: 'Number of units: at most 8,760 hours or 365 days.',
      minimum: 1,
      maximum: 8760,
      expected: 'a whole number from 1 to 8760 (hour) or 365 (day)',
    },
    unit: cycleUnit('Unit of the cycle.'),
  },
  optional: {},
});
const threshold: SchemaOf<number> = {
  type: 'number',
  description: 'COUNT: user operations per cycle. NATIVE_ASSET: gas spend per cycle in the native token.',
  minimum: 0,
  expected: 'a number of 0 or more',
};
const thresholdType = choice<ThresholdType>('What is counted.', ['COUNT', 'NATIVE_ASSET']);
const scope = choice<LimitScope>('PAYMASTER: all users together. SMART_ACCOUNT: each user for itself.', [
  'PAYMASTER',
  'SMART_ACCOUNT',
]);

const limitDataSchema: SchemaOf<LimitData> = object('Data of a spending limit.', {
  required: { type: scope, cycleDuration, threshold, thresholdType },
  optional: {},
});

const webhookDataSchema: SchemaOf<WebhookData> = object('Data of a webhook rule.', {
  required: {
    url: text('Address that is asked for each operation.', { minLength: 1, maxLength: 2048 }),
  },
  optional: {
    method: choice('How it is asked; POST when absent.', ['POST', 'GET']),
    timeoutSeconds: number(
      'Time for the host to answer, one retry included; 3 when absent.',
      webhookTimeoutSeconds,
    ),
    onError: choice(
      'What a failing webhook means; Deny when absent. Allow means that anyone who can overload your host is sponsored: only spending limits bound what that costs.',
      ['Deny', 'Allow'],
    ),
  },
});

const anyObject: SchemaOf<object> = {
  type: 'object',
  description: 'Data by policyType.',
  expected: 'an object',
};

/** One path, one body per policyType; this one is for what has no data, and for a policyType that is none. */
export const createPolicySchema = createPolicy(anyObject);
export const createLimitSchema = createPolicy(limitDataSchema);
export const createWebhookSchema = createPolicy(webhookDataSchema);

/** The schema that the policyType of a body asks for. */
export function schemaOfPolicy(body: unknown): StructuralSchema {
  const isObject = typeof body === 'object' && body !== null && 'policyType' in body;
  const policyType = isObject ? body.policyType : undefined;
  if (policyType === 'PAYMASTER_SA_LIMIT') return createLimitSchema;
  return policyType === 'WEBHOOK' ? createWebhookSchema : createPolicySchema;
}

export const updateLimitSchema: SchemaOf<UpdateLimit> = object(
  'What changes; any update restarts the cycle, also with equal or without values.',
  {
    required: {},
    optional: {
      name: displayName('Name of the policy, unique per paymaster.'),
      cycleDuration,
      threshold,
      thresholdType,
      type: scope,
    },
  },
);

function createPolicy<D extends object>(policyData: SchemaOf<D>): SchemaOf<CreatePolicy<D>> {
  return object<CreatePolicy<D>>('A new policy.', {
    required: {
      name: displayName('Name of the policy, unique per paymaster.'),
      policyType: choice('Kind of policy.', ['PAYMASTER_SA_LIMIT', 'WEBHOOK', 'WALLET_DEPLOYMENT']),
      policyData,
    },
    optional: {},
  });
}
