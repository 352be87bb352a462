import { knownKeys } from '../../core/config/memory.js';
import { memberOf } from '../../core/policy/derived.js';
import type { PolicyKind, PolicyRecord } from '../../core/policy/kind.js';
import { policyKinds, type PolicyType } from '../../core/policy/kinds.js';
import { tooManyPolicies } from '../../core/config/ranking.js';
import { DomainError, isDomainError } from '../../core/errors.js';
import { policyObjectName } from '../../core/resources/names.js';
import type { PaymasterPolicy, PaymasterPolicySpec } from '../../core/resources/paymaster-policy.js';
import type { Paymaster } from '../../core/resources/paymaster.js';
import { arrayOf } from '../../core/schema/json-schema.js';
import type { Clock } from '../../core/units/time.js';
import type { Tools } from './deps.js';
import type { PaymasterCall } from './call.js';
import { documentBody, endpoint } from './endpoint.js';
import {
  createPolicySchemas,
  published,
  schemaOfPolicy,
  unknownPolicySchema,
  type CreatePolicy,
} from './schemas.js';
import { pageParameters, readList, section } from './lists.js';
import { ofPaymaster, requireQuota } from './lookups.js';
import { listedPolicySchema, newPolicyExample, newPolicySchema, policyExample } from './policy-record.js';
import { inTurn, nameExists, policiesOf, requireFreeName } from './policy-lookup.js';
import { paymasterIdOfCall, renderContractPolicy, renderPolicy } from './views.js';

/** A value that the kind shows only once (such as a secret) is in this answer and never again. */
export const createPolicy = endpoint({
  operationId: 'createPolicy',
  summary: 'Create a spending limit, a webhook rule or a wallet deployment rule',
  method: 'post',
  path: '/paymaster-policy',
  scope: 'paymaster',
  message: 'Paymaster Policy created successfully',
  body: {
    ...documentBody(unknownPolicySchema, (parse) => parse.createPolicy, newPolicyExample),
    schemas: [...createPolicySchemas.values()].map(published),
    schemaOf: schemaOfPolicy,
  },
  schema: newPolicySchema,
  example: policyExample,

  async handle(tools, call) {
    const { name, policyType } = call.body;
    const policy = await inTurn(tools, call.paymaster, async () => {
      const policies = await policiesOf(tools, call.paymaster);
      requireFreeName(policies, name);
      requireQuota(tools, call.principal, 'policiesPerPaymaster', policies.length);
      requireRoom(policies, policyType);
      return create(tools, call);
    });
    const programmed = await tools.programmed.written('PaymasterPolicy', policy);
    const record = renderPolicy(call.principal.tenant, policy, call.paymaster);
    const { once }: PolicyRecord<object, object> = policyKinds[policyType].record;
    if (once === undefined) return { data: record, programmed, object: policy };
    // A policy that is created again under an earlier name keeps the last key of that name.
    const latest = await tools.configs.getLatest(paymasterIdOfCall(call));
    const shown = once.render({
      webhookMaster: tools.masterKeys.webhook,
      policyId: record._id,
      keyGeneration: knownKeys(latest?.config).get(record._id),
    });
    return {
      data: { ...record, policyData: { ...record.policyData, ...shown } },
      programmed,
      object: policy,
    };
  },
});

/** The rules, oldest first, then one record per registered contract. */
export const listPolicies = endpoint({
  operationId: 'listPolicies',
  summary: 'List the rules and the whitelisted contracts of the paymaster',
  method: 'get',
  path: '/paymaster-policy',
  scope: 'paymaster',
  parameters: pageParameters,
  cost: 'list',
  message: 'Paymaster Policies found!',
  schema: arrayOf(listedPolicySchema),
  example: [policyExample],

  async handle(tools, call) {
    const { principal, paymaster, given } = call;
    const options = ofPaymaster(paymaster);
    const sections = [
      section('PaymasterPolicy', options, (policy) => renderPolicy(principal.tenant, policy, paymaster)),
      section('SmartContract', options, (contract) => renderContractPolicy(tools, call, contract)),
    ];
    return { list: await readList(tools.resources, sections, given) };
  },
});

/** Object names are made from a policy's first name: after renames, a policy with another name may hold the object name. */
const maxOrdinal = 50;

async function create(tools: Tools, call: PaymasterCall<CreatePolicy>): Promise<PaymasterPolicy> {
  const { paymaster, principal, body: input } = call;
  const spec = specOf(input, paymaster, tools.clock);
  for (let ordinal = 1; ordinal <= maxOrdinal; ordinal++) {
    const name = policyObjectName(paymaster.metadata.name, input.name, ordinal);
    try {
      const key = { namespace: principal.namespace, name };
      return await tools.writes.create('PaymasterPolicy', key, spec, principal.tokenName);
    } catch (error) {
      if (!isDomainError(error, 'ALREADY_EXISTS')) throw error;
    }
    // Either another replica created a duplicate first, or the policy with this object name has been renamed since.
    requireFreeName(await policiesOf(tools, paymaster), input.name);
  }
  throw nameExists(input.name);
}

function specOf(input: CreatePolicy, paymaster: Paymaster, clock: Clock): PaymasterPolicySpec {
  const kind: PolicyKind = policyKinds[input.policyType];
  const data = kind.record.specOf?.(input.policyData, clock.now());
  if (data === undefined) throw new RangeError(`${input.policyType} is not created by this endpoint`);
  return {
    paymasterRef: { name: paymaster.metadata.name },
    name: input.name,
    policyType: input.policyType,
    ...memberOf(kind, data),
  };
}

/** An active policy above the maximum would be stored and not take effect. */
export function requireRoom(policies: readonly PaymasterPolicy[], type: PolicyType): void {
  const active = policies.filter(({ spec }) => spec.policyType === type && spec.active !== false);
  if (active.length >= policyKinds[type].most.count)
    throw new DomainError('QUOTA_EXCEEDED', tooManyPolicies(type));
}
