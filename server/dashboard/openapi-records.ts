import type { PolicyRecord } from '../../core/policy/kind.js';
import { documentedTypes, policyTypes } from '../../core/policy/derived.js';
import { policyKinds } from '../../core/policy/kinds.js';
import { arrayOf, record, type JsonSchema } from '../../core/schema/json-schema.js';

const text = { type: 'string' } as const;
const names = arrayOf(text);
const chainId = { type: 'integer', minimum: 1 } as const;
const uuid = {
  type: 'string',
  pattern: '^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$',
} as const;
const address = { type: 'string', pattern: '^0x[0-9a-fA-F]{40}$' } as const;

const paymaster = record({ name: text, chainId, apiKey: text });
const paymasterWithId = record({ name: text, chainId, apiKey: text, paymasterId: uuid });
const contract = record({ name: text, address, abi: text, whitelistedMethods: names, methods: names });

const contractData = record({ address, whitelistedMethods: names, methods: names });

const policies = policyTypes.map((type) => {
  const { answer }: PolicyRecord<object, object> = policyKinds[type].record;
  return policy(type, record(answer.required, answer.optional));
});
/** With the members that only this answer shows. */
const newPolicies = documentedTypes.map((type) => {
  const { answer, once }: PolicyRecord<object, object> = policyKinds[type].record;
  return policy(type, record({ ...answer.required, ...once?.answer }, answer.optional));
});

/** `data` of each operation; operations that answer no data are absent. */
export const dataSchemas: Readonly<Record<string, JsonSchema>> = {
  listPaymasters: arrayOf(paymaster),
  createPaymaster: paymasterWithId,
  listSmartContracts: arrayOf(contract),
  updateSmartContract: contract,
  sendFundingMessage: record({ fundingMessage: text }),
  updatePaymaster: paymasterWithId,
  createPolicy: { oneOf: newPolicies },
  listPolicies: arrayOf({ oneOf: [...policies, policy('SMART_CONTRACT', contractData)] }),
};

export const errorSchema: JsonSchema = record({
  statusCode: { type: 'integer', description: 'The HTTP status, except 400 where a contract is not found.' },
  message: text,
});

function policy(policyType: string, policyData: JsonSchema): JsonSchema {
  return record({
    _id: uuid,
    name: text,
    policyType: { const: policyType },
    organisationId: text,
    paymasterId: uuid,
    createdBy: text,
    chainId,
    active: { type: 'boolean' },
    policyData,
  });
}
