import type { PolicyRecord } from '../../core/policy/kind.js';
import { documentedTypes, policyTypes } from '../../core/policy/derived.js';
import { policyKinds } from '../../core/policy/kinds.js';
import type { PaymasterPolicySpec } from '../../core/resources/paymaster-policy.js';
import { arrayOf, record, type JsonSchema } from '../../core/schema/json-schema.js';
import { address, chainId, examplePaymasterId, text, uuid } from './record-schemas.js';

const names = arrayOf(text);
const contracts = record({ address, whitelistedMethods: names, methods: names });

/** A policy of any kind, or a contract as the list of policies shows it. */
export const listedPolicySchema: JsonSchema = {
  oneOf: [
    ...policyTypes.flatMap((type) => {
      const { answer, beyond }: PolicyRecord<object, object> = policyKinds[type].record;
      const listed = [{ type, answer }, ...(beyond === undefined ? [] : [beyond])];
      return listed.map((one) => policy(one.type, record(one.answer.required, one.answer.optional)));
    }),
    policy('SMART_CONTRACT', contracts),
  ],
};

/** With the members that only this answer shows. */
export const newPolicySchema: JsonSchema = {
  oneOf: documentedTypes.map((type) => {
    const { answer, once }: PolicyRecord<object, object> = policyKinds[type].record;
    return policy(type, record({ ...answer.required, ...once?.answer }, answer.optional));
  }),
};

/** Of a body. */
export const newPolicyExample = {
  name: 'gas per user and day',
  policyType: 'PAYMASTER_SA_LIMIT',
  policyData: {
    type: 'SMART_ACCOUNT',
    cycleDuration: { value: 1, unit: 'day' },
    threshold: 0.05,
    thresholdType: 'NATIVE_ASSET',
  },
};

/** As the management API writes it. */
export const policySpecExample: PaymasterPolicySpec = {
  paymasterRef: { name: 'shop' },
  name: 'a thousand a day',
  policyType: 'PAYMASTER_SA_LIMIT',
  spendingLimit: {
    scope: 'PAYMASTER',
    cycleDuration: { value: 1, unit: 'day' },
    threshold: '1000',
    thresholdType: 'COUNT',
  },
};

export const policyExample = {
  _id: '7e0b4a52-6d7f-5d8a-9a51-0f3b1f1f6a11',
  ...newPolicyExample,
  organisationId: 'acme',
  paymasterId: examplePaymasterId,
  createdBy: 'ci',
  chainId: 31337,
  active: true,
  policyData: {
    ...newPolicyExample.policyData,
    startTimeInEpoch: 1_767_225_600_000,
    durationInMs: 86_400_000,
  },
};

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
