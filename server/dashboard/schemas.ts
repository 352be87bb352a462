import { address, displayName } from '../../core/meta/schema-parts.js';
import { documentedTypes, isPolicyType } from '../../core/policy/derived.js';
import type { PolicyRecord } from '../../core/policy/kind.js';
import { policyKinds, type PolicyType } from '../../core/policy/kinds.js';
import { limitFields } from '../../core/policy/spending-limit/record.js';
import { maxAbiLength, methodName } from '../../core/resources/smart-contract.js';
import { readField } from '../../core/schema/json-value.js';
import type { JsonSchema } from '../../core/schema/json-schema.js';
import {
  choice,
  list,
  object,
  text,
  type Infer,
  type SchemaOf,
  type StructuralSchema,
} from '../../core/schema/structural.js';

/** Request bodies of the service document. The resources' own schemas check the result once more when it is stored. */

const whitelistedMethods = list(
  'Methods that are sponsored: a name means all its overloads, a full signature such as mint(address) one.',
  methodName('Name or signature of a method of the ABI.'),
  { maxItems: 1000 },
);

/** Any number has the right shape; whether that chain is offered is checked later. */
const anyNumber: SchemaOf<number> = {
  type: 'number',
  description: 'Chain of the DApp.',
  expected: 'a number',
};

export const createPaymasterSchema = object('A new paymaster.', {
  required: {
    name: displayName('Name of the paymaster, unique per chain.'),
    type: choice('Kind of paymaster.', ['HYBRID']),
    chainId: anyNumber,
    version: text('Version of the paymaster: one of those that the chain offers.', {
      minLength: 1,
      maxLength: 63,
    }),
  },
});

const signature: SchemaOf<string> = {
  type: 'string',
  description: 'EIP-191 signature of the latest funding message by `address`.',
  expected: 'text',
  confidential: true,
};
const fundingWallet = { signature, address: address('The wallet that is to fund the paymaster.') };

export const updatePaymasterSchema = object('A new funding wallet.', {
  required: {
    paymasterId: text('The paymaster.', { minLength: 1, maxLength: 100 }),
    type: choice('What is updated.', ['paymasterFundingId']),
    ...fundingWallet,
  },
});

/** The same where the path names the paymaster. */
export const fundingWalletSchema = object('A new funding wallet.', {
  required: fundingWallet,
});

export const createContractSchema = object('A contract to sponsor.', {
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

/** Names a contract that exists already, also one that was stored with a wrong checksum. */
const known: SchemaOf<string> = text('Address of a registered contract, in any case.', {
  maxLength: 42,
  pattern: '^0x[0-9a-fA-F]{40}$',
  expected: 'an address: 0x and 40 hex digits',
});

export const updateContractSchema = object('The methods that are sponsored from now on.', {
  required: { address: known, whitelistedMethods },
});

export const deleteContractSchema = object('The contract to remove.', {
  required: { address: known },
});

/** One path, one body per policyType. */
export const createPolicySchemas: ReadonlyMap<PolicyType, SchemaOf<CreatePolicy>> = new Map(
  documentedTypes.flatMap((type) => {
    const { body }: PolicyRecord<object, object> = policyKinds[type].record;
    return body === undefined ? [] : [[type, createPolicySchema(body)]];
  }),
);

/** The schema for an unknown policyType, which it refuses. */
export const unknownPolicySchema = createPolicySchema({
  type: 'object',
  description: 'Data by policyType.',
  expected: 'an object',
});

/** The schema for the body's policyType. */
export function schemaOfPolicy(body: unknown): SchemaOf<CreatePolicy> {
  const type = readField(body, 'policyType');
  return (isPolicyType(type) ? createPolicySchemas.get(type) : undefined) ?? unknownPolicySchema;
}

export type CreatePaymaster = Infer<typeof createPaymasterSchema>;
export type FundingWallet = Infer<typeof fundingWalletSchema>;
export type CreateContract = Infer<typeof createContractSchema>;
export type CreatePolicy = Infer<typeof unknownPolicySchema>;

const { type, ...amounts } = limitFields;

export const updateLimitSchema = object(
  'What changes. An update restarts the cycle, also with equal values; a body without any of these fields changes nothing.',
  {
    optional: {
      name: displayName('Name of the policy, unique per paymaster.'),
      ...amounts,
      type,
    },
  },
);

function createPolicySchema(policyData: SchemaOf<object>) {
  return object('A new policy.', {
    required: {
      name: displayName('Name of the policy, unique per paymaster.'),
      policyType: choice('Kind of policy.', documentedTypes),
      policyData,
    },
  });
}

export type UpdateLimit = Infer<typeof updateLimitSchema>;

/** The schema without the members that only our own messages and the API server read. */
export function published(schema: StructuralSchema): JsonSchema {
  const { properties, items, ...rest } = schema;
  const standard = Object.fromEntries(Object.entries(rest).filter(([name]) => !isHint(name)));
  return {
    ...standard,
    ...(properties && {
      properties: Object.fromEntries(
        Object.entries(properties).map(([name, child]) => [name, published(child)]),
      ),
    }),
    ...(items && { items: published(items) }),
  };
}

function isHint(name: string): boolean {
  return name === 'expected' || name === 'confidential' || name === 'eip55' || name.startsWith('x-');
}
