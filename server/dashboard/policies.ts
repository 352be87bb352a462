import { deriveWebhookKey } from '../../core/config/api-key.js';
import { DomainError, isDomainError, quote, unreachable } from '../../core/errors.js';
import { keyOf } from '../../core/resources/meta.js';
import { policyObjectName } from '../../core/resources/names.js';
import type { PaymasterPolicy, PaymasterPolicySpec } from '../../core/resources/paymaster-policy.js';
import type { Paymaster } from '../../core/resources/paymaster.js';
import type { SmartContract } from '../../core/resources/smart-contract.js';
import type { Clock } from '../../core/units/time.js';
import { decimalText } from '../http/json.js';
import type { Principal } from '../http/auth.js';
import type { Tools } from './deps.js';
import type { PaymasterCall, Reply } from './endpoint.js';
import type { NewPolicy } from './parse.js';
import { contractsOf } from './smart-contracts.js';
import { byAge, contractIdOfObject, policyIdOfObject, renderContractPolicy, renderPolicy } from './views.js';

/** Endpoint 9. A webhook's signing key is derived, shown in this answer and never again. */
export async function createPolicy(tools: Tools, call: PaymasterCall): Promise<Reply> {
  const input = tools.parse.createPolicy(call.body);
  const policy = await inTurn(tools, call.paymaster, async () => {
    const policies = await policiesOf(tools, call.paymaster);
    requireFreeName(policies, input.name);
    requireQuota(call.principal, policies.length);
    return create(tools, call, input);
  });
  const programmed = await tools.programmed.written('PaymasterPolicy', policy);
  const record = renderPolicy(policy, call.paymaster);
  if (input.policyType !== 'WEBHOOK') return { data: record, programmed };
  const signingKey = deriveWebhookKey(tools.masterKeys.webhook, record._id);
  return { data: { ...record, policyData: { ...record.policyData, signingKey } }, programmed };
}

/** Endpoint 10: the rules, oldest first, then one record per registered contract. */
export async function listPolicies(tools: Tools, { paymaster }: PaymasterCall): Promise<Reply> {
  const [policies, contracts] = await Promise.all([
    policiesOf(tools, paymaster),
    contractsOf(tools, paymaster),
  ]);
  return {
    data: [
      ...byAge(policies).map((policy) => renderPolicy(policy, paymaster)),
      ...byAge(contracts).map((contract) => renderContractPolicy(contract, paymaster)),
    ],
  };
}

/** Endpoints 12 and 13. The list shows contracts as policies, so one of them can be paused by its id too. */
export async function setActive(
  tools: Tools,
  { paymaster, params }: PaymasterCall,
  active: boolean,
): Promise<Reply> {
  const policyId = params['policyId'] ?? '';
  const policy = (await policiesOf(tools, paymaster)).find((p) => policyIdOfObject(p) === policyId);
  if (policy) {
    const changed = await withPolicyNotFound(() =>
      tools.writes.change('PaymasterPolicy', keyOf(policy), ({ spec }, owned) =>
        (spec.active ?? true) === active ? undefined : { ...owned, active },
      ),
    );
    return { programmed: await tools.programmed.written('PaymasterPolicy', changed) };
  }
  const contract = await findContract(tools, paymaster, policyId);
  if (!contract) throw policyNotFound();
  const changed = await withPolicyNotFound(() =>
    tools.writes.change('SmartContract', keyOf(contract), ({ spec }, owned) =>
      (spec.active ?? true) === active ? undefined : { ...owned, active },
    ),
  );
  return { programmed: await tools.programmed.written('SmartContract', changed) };
}

/** Policies of a paymaster, those that a manifest made included. */
export async function policiesOf(
  { resources }: Pick<Tools, 'resources'>,
  { metadata }: Paymaster,
): Promise<readonly PaymasterPolicy[]> {
  return resources.list('PaymasterPolicy', {
    ...(metadata.namespace === undefined ? {} : { namespace: metadata.namespace }),
    fields: { 'spec.paymasterRef.name': metadata.name },
  });
}

/** Of the policies given, none but `except` may have the name. Throws ALREADY_EXISTS. */
export function requireFreeName(
  policies: readonly PaymasterPolicy[],
  name: string,
  except?: PaymasterPolicy,
): void {
  const taken = policies.some((p) => p.spec.name === name && p.metadata.name !== except?.metadata.name);
  if (taken) throw nameExists(name);
}

/** Writes that depend on the other policies of the paymaster, one after the other. */
export function inTurn<T>({ turns }: Tools, { metadata }: Paymaster, task: () => Promise<T>): Promise<T> {
  return turns.run(`policies of ${metadata.namespace ?? ''}/${metadata.name}`, task);
}

/** The id of a SMART_CONTRACT record; undefined when no contract of the paymaster has it. */
export async function findContract(
  tools: Tools,
  paymaster: Paymaster,
  id: string,
): Promise<SmartContract | undefined> {
  return (await contractsOf(tools, paymaster)).find((contract) => contractIdOfObject(contract) === id);
}

/** A policy that goes away between look-up and write was not there. */
export async function withPolicyNotFound<T>(write: () => Promise<T>): Promise<T> {
  try {
    return await write();
  } catch (error) {
    throw isDomainError(error, 'NOT_FOUND') ? policyNotFound() : error;
  }
}

export function policyNotFound(): DomainError {
  return new DomainError('POLICY_NOT_FOUND', 'Paymaster Policy not found');
}

/** Object names come from the first name of a policy: after renames one may be held by a policy of another name now. */
const maxOrdinal = 50;

async function create(tools: Tools, call: PaymasterCall, input: NewPolicy): Promise<PaymasterPolicy> {
  const { paymaster, principal } = call;
  const spec = specOf(input, paymaster, tools.clock);
  for (let ordinal = 1; ordinal <= maxOrdinal; ordinal++) {
    const name = policyObjectName(paymaster.metadata.name, input.name, ordinal);
    try {
      const key = { namespace: principal.namespace, name };
      return await tools.writes.create('PaymasterPolicy', key, spec, principal.tokenName);
    } catch (error) {
      if (!isDomainError(error, 'ALREADY_EXISTS')) throw error;
    }
    // Either a duplicate on another replica was faster, or the holder has been renamed since.
    requireFreeName(await policiesOf(tools, paymaster), input.name);
  }
  throw nameExists(input.name);
}

function specOf(input: NewPolicy, paymaster: Paymaster, clock: Clock): PaymasterPolicySpec {
  const common = { paymasterRef: { name: paymaster.metadata.name }, name: input.name };
  switch (input.policyType) {
    case 'PAYMASTER_SA_LIMIT': {
      const { type, cycleDuration, threshold, thresholdType } = input.policyData;
      const startTime = new Date(clock.now()).toISOString();
      const limit = { cycleDuration, threshold: decimalText(threshold), thresholdType, startTime };
      return { ...common, policyType: input.policyType, spendingLimit: { scope: type, ...limit } };
    }
    case 'WEBHOOK':
      return { ...common, policyType: input.policyType, webhook: input.policyData };
    case 'WALLET_DEPLOYMENT':
      return { ...common, policyType: input.policyType, walletDeployment: {} };
    default:
      return unreachable(input);
  }
}

function requireQuota({ organisation }: Principal, count: number): void {
  const quota = organisation.spec.quotas?.policiesPerPaymaster;
  if (quota !== undefined && count >= quota)
    throw new DomainError('QUOTA_EXCEEDED', `The paymaster may have ${quota} policies and has them all`);
}

function nameExists(name: string): DomainError {
  return new DomainError('ALREADY_EXISTS', `A policy named ${quote(name)} already exists`);
}
