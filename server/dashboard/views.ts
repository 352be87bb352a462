import type { Tenant } from '../../core/config/tenant.js';
import {
  deriveContractId,
  deriveOrganisationId,
  derivePaymasterId,
  derivePolicyId,
} from '../../core/config/ids.js';
import { findPolicyData, listedType, findPolicyKind } from '../../core/policy/derived.js';
import { createdByAnnotation, type ObjectMeta } from '../../core/meta/meta.js';
import type { PaymasterPolicy } from '../../core/resources/paymaster-policy.js';
import type { Paymaster } from '../../core/resources/paymaster.js';
import type { SmartContract } from '../../core/resources/smart-contract.js';
import type { PaymasterCall } from './call.js';
import type { MethodReading } from './methods-thread.js';

type MethodsTool = { readonly methodsOf: MethodReading };

/** Resource → record of the service document. Amounts become JSON numbers here and nowhere else. */

export function renderPaymaster({ spec }: Paymaster, apiKey: string) {
  return { name: spec.name, chainId: spec.chainId, apiKey };
}

export async function renderContract(tools: MethodsTool, call: PaymasterCall, contract: SmartContract) {
  const { name, address, abi, whitelistedMethods = [] } = contract.spec;
  return { name, address, abi, whitelistedMethods, methods: await methodsOfContract(tools, call, contract) };
}

export function renderPolicy(tenant: Tenant, policy: PaymasterPolicy, paymaster: Paymaster) {
  return {
    _id: derivePolicyId(tenant, policy.metadata.name),
    name: policy.spec.name,
    policyType: listedType(policy.spec),
    ...commonFields(tenant, policy, paymaster),
    policyData: policyData(policy),
  };
}

/** A registered contract as the policy list shows it: the list also returns "whitelisted contracts". */
export async function renderContractPolicy(tools: MethodsTool, call: PaymasterCall, contract: SmartContract) {
  const { address, whitelistedMethods, methods } = await renderContract(tools, call, contract);
  const { tenant } = call.principal;
  return {
    _id: deriveContractId(tenant, contract.metadata.name),
    name: contract.spec.name,
    policyType: 'SMART_CONTRACT',
    ...commonFields(tenant, contract, call.paymaster),
    policyData: { address, whitelistedMethods, methods },
  };
}

/** The `paymasterId` of the caller's paymaster. */
export function paymasterIdOfCall({
  principal,
  paymaster,
}: Pick<PaymasterCall, 'principal' | 'paymaster'>): string {
  return derivePaymasterId(principal.tenant, paymaster.metadata.name);
}

/** The `_id` of one of the caller's policies. */
export function policyIdOfCall({ principal }: PaymasterCall, { metadata }: PaymasterPolicy): string {
  return derivePolicyId(principal.tenant, metadata.name);
}

/** Annotation with the time at which the dashboard created an object, in milliseconds: API servers round `creationTimestamp` to seconds. */
export const createdAtAnnotation = 'paymasters.dev/created-at';

/** Oldest first; objects of the same age are sorted by name, so that the order of a list is stable. */
export function byAge<T extends { readonly metadata: ObjectMeta }>(objects: readonly T[]): readonly T[] {
  return objects.toSorted(
    ({ metadata: a }, { metadata: b }) => createdMs(a) - createdMs(b) || (a.name < b.name ? -1 : 1),
  );
}

function createdMs({ annotations, creationTimestamp }: ObjectMeta): number {
  const stated = Date.parse(annotations?.[createdAtAnnotation] ?? '');
  return Number.isNaN(stated) ? Date.parse(creationTimestamp) : stated;
}

function policyData({ metadata, spec, status }: PaymasterPolicy): Readonly<Record<string, unknown>> {
  const kind = findPolicyKind(spec.policyType);
  const data = kind && findPolicyData(spec, kind);
  // A store that checks nothing may hold a policy without its data.
  if (data === undefined) return {};
  return kind?.record.render({ metadata, spec: data, ...(status && { status }) }) ?? {};
}

function commonFields(tenant: Tenant, object: PaymasterPolicy | SmartContract, paymaster: Paymaster) {
  return {
    organisationId: deriveOrganisationId(tenant),
    paymasterId: derivePaymasterId(tenant, paymaster.metadata.name),
    createdBy: createdBy(object.metadata),
    chainId: paymaster.spec.chainId,
    active: object.spec.active ?? true,
  };
}

/** The token name of the caller that created the object through this API; for an object from a manifest, its field manager. */
export function createdBy({ annotations, managedFields }: ObjectMeta): string {
  return annotations?.[createdByAnnotation] ?? managedFields?.[0]?.manager ?? 'unknown';
}

/** The methods as the operator found them, or from the ABI when the operator has not processed the contract yet. */
async function methodsOfContract(
  { methodsOf }: MethodsTool,
  { principal, gone }: PaymasterCall,
  { metadata, spec, status }: SmartContract,
): Promise<readonly string[]> {
  if (status?.methods && status.observedGeneration === metadata.generation) return status.methods;
  // A manifest may hold text that is not an ABI; its condition says so, and the list stays readable.
  return (await methodsOf(principal.tenant, { abi: spec.abi, whitelistedMethods: [] }, gone)).methods;
}
