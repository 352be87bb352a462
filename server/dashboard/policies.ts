import { deriveContractId } from '../../core/config/ids.js';
import { knownKeys } from '../../core/config/memory.js';
import { tooManyPolicies } from '../../core/config/ranking.js';
import { DomainError, isDomainError, quote } from '../../core/errors.js';
import { objectKey } from '../../core/meta/meta.js';
import { toPolicyMember } from '../../core/policy/derived.js';
import type { PolicyKind, PolicyRecord } from '../../core/policy/kind.js';
import { policyKinds, type PolicyType } from '../../core/policy/kinds.js';
import type { Resources } from '../../core/resources/kinds.js';
import { policyObjectName } from '../../core/resources/names.js';
import type { PaymasterPolicy, PaymasterPolicySpec } from '../../core/resources/paymaster-policy.js';
import type { Paymaster } from '../../core/resources/paymaster.js';
import type { SmartContract } from '../../core/resources/smart-contract.js';
import { arrayOf } from '../../core/schema/json-schema.js';
import { given } from '../../core/units/given.js';
import type { Clock } from '../../core/units/time.js';
import type { PaymasterCall, Reply } from './call.js';
import type { Tools } from './deps.js';
import { documentBody, endpoint } from './endpoint.js';
import { pageParameters, readList, section } from './lists.js';
import { ofPaymaster, requireQuota, unlessDeleted } from './lookups.js';
import { listedPolicySchema, newPolicyExample, newPolicySchema, policyExample } from './policy-record.js';
import {
  createPolicySchemas,
  published,
  schemaOfPolicy,
  unknownPolicySchema,
  type CreatePolicy,
} from './schemas.js';
import { listContracts } from './smart-contracts.js';
import { paymasterIdOfCall, renderContractPolicy, renderPolicy, policyIdOfCall } from './views.js';

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
      const policies = await listPaymasterPolicies(tools, call.paymaster);
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
  const spec = composeSpec(input, paymaster, tools.clock);
  for (let ordinal = 1; ordinal <= maxOrdinal; ordinal++) {
    const name = policyObjectName(paymaster.metadata.name, input.name, ordinal);
    try {
      const key = { namespace: principal.namespace, name };
      return await tools.writes.create('PaymasterPolicy', key, spec, principal.tokenName);
    } catch (error) {
      if (!isDomainError(error, 'ALREADY_EXISTS')) throw error;
    }
    // Either another replica created a duplicate first, or the policy with this object name has been renamed since.
    requireFreeName(await listPaymasterPolicies(tools, paymaster), input.name);
  }
  throw nameExists(input.name);
}

function composeSpec(input: CreatePolicy, paymaster: Paymaster, clock: Clock): PaymasterPolicySpec {
  const kind: PolicyKind = policyKinds[input.policyType];
  const data = kind.record.specOf?.(input.policyData, clock.now());
  if (data === undefined) throw new RangeError(`${input.policyType} is not created by this endpoint`);
  return {
    paymasterRef: { name: paymaster.metadata.name },
    name: input.name,
    policyType: input.policyType,
    ...toPolicyMember(kind, data),
  };
}

/** An active policy above the maximum would be stored and not take effect. */
export function requireRoom(policies: readonly PaymasterPolicy[], type: PolicyType): void {
  const active = policies.filter(({ spec }) => spec.policyType === type && spec.active !== false);
  if (active.length >= policyKinds[type].most.count)
    throw new DomainError('QUOTA_EXCEEDED', tooManyPolicies(type));
}

/** Policies of a paymaster, including those that a manifest made. */
export function listPaymasterPolicies(
  { resources }: Pick<Tools, 'resources'>,
  paymaster: Paymaster,
): Promise<readonly PaymasterPolicy[]> {
  return resources.list('PaymasterPolicy', ofPaymaster(paymaster));
}

/** Throws ALREADY_EXISTS when one of the policies, other than `except`, has the name. */
export function requireFreeName(
  policies: readonly PaymasterPolicy[],
  name: string,
  except?: PaymasterPolicy,
): void {
  const taken = policies.some((p) => p.spec.name === name && p.metadata.name !== except?.metadata.name);
  if (taken) throw nameExists(name);
}

/** Runs writes that depend on the paymaster's other policies one after the other. */
export function inTurn<T>({ turns }: Tools, { metadata }: Paymaster, task: () => Promise<T>): Promise<T> {
  return turns.run(`policies of ${metadata.namespace ?? ''}/${metadata.name}`, task);
}

/** The id of a SMART_CONTRACT record; undefined when no contract of the paymaster has it. */
export async function findContract(
  tools: Tools,
  { principal, paymaster }: PaymasterCall,
  id: string,
): Promise<SmartContract | undefined> {
  for await (const contract of listContracts(tools, paymaster))
    if (deriveContractId(principal.tenant, contract.metadata.name) === id) return contract;
  return undefined;
}

export function policyNotFound(): DomainError {
  return new DomainError('POLICY_NOT_FOUND', 'Paymaster Policy not found');
}

export function nameExists(name: string): DomainError {
  return new DomainError('ALREADY_EXISTS', `A policy named ${quote(name)} already exists`);
}

export const deactivatePolicy = endpoint({
  operationId: 'deactivatePolicy',
  summary: 'Pause a policy',
  method: 'patch',
  path: '/paymaster-policy/deactivate/:policyId',
  scope: 'paymaster',
  message: 'Paymaster Policy Deactivated!',
  handle: (tools, call) => setActive(tools, call, false),
});

export const activatePolicy = endpoint({
  operationId: 'activatePolicy',
  summary: 'Resume a policy',
  method: 'patch',
  path: '/paymaster-policy/activate/:policyId',
  scope: 'paymaster',
  message: 'Paymaster Policy Activated!',
  handle: (tools, call) => setActive(tools, call, true),
});

/**
 * A policy that is already in the wanted state is not written, and pausing never moves a limit's cycle. One that would be active beyond
 * the number that counts is refused. The policy list shows contracts too, so a contract can be paused by its id.
 */
async function setActive(tools: Tools, call: PaymasterCall, active: boolean): Promise<Reply> {
  const { paymaster, params } = call;
  const policyId = params['policyId'] ?? '';
  const policy = (await listPaymasterPolicies(tools, paymaster)).find(
    (each) => policyIdOfCall(call, each) === policyId,
  );
  const contract = policy ? undefined : await findContract(tools, call, policyId);
  const programmed = await inTurn(tools, paymaster, async () => {
    if (policy && active && policy.spec.active === false)
      requireRoom(await listPaymasterPolicies(tools, paymaster), policy.spec.policyType);
    if (policy) return change(tools, 'PaymasterPolicy', policy, active);
    if (contract) return change(tools, 'SmartContract', contract, active);
    throw policyNotFound();
  });
  const object = policy ?? contract;
  return { programmed: await programmed(), ...given({ object }) };
}

// Returns the wait for the operator instead of waiting here, so that other writes get their turn meanwhile.
type Written = () => Promise<boolean>;

async function change<K extends 'PaymasterPolicy' | 'SmartContract'>(
  { writes, programmed }: Tools,
  kind: K,
  object: Resources[K],
  active: boolean,
): Promise<Written> {
  const changed = await unlessDeleted(policyNotFound, () =>
    writes.change(kind, objectKey(object), ({ spec }, owned) =>
      (spec.active ?? true) === active ? undefined : { ...owned, active },
    ),
  );
  return () => programmed.written(kind, changed);
}
