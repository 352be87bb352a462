import type { Organisation } from '../resources/organisation.js';
import type { Paymaster } from '../resources/paymaster.js';

/**
 * Who has a namespace: its name for the first tenant, `name@2` for the second; no namespace can have such a name.
 * Ids, keys, funding messages and webhook keys are derived from it, so nothing of a former tenant works for the next
 * one.
 */
export type Tenant = string;

export function toTenant(namespace: string, generation = 1): Tenant {
  return generation === 1 ? namespace : `${namespace}@${generation}`;
}

export function tenantOfOrganisation({ spec }: Organisation): Tenant {
  return toTenant(spec.namespace, spec.tenantGeneration);
}

/**
 * The tenant generation for which a Paymaster is served: while no Organisation names its namespace, the last known
 * one.
 */
export function findTenantGeneration(
  paymaster: Pick<Paymaster, 'status'>,
  organisation: Organisation | undefined,
): number {
  if (organisation !== undefined) return organisation.spec.tenantGeneration ?? 1;
  return paymaster.status?.tenantGeneration ?? 1;
}
