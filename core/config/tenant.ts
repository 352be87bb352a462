import type { Organisation } from '../resources/organisation.js';
import type { Paymaster } from '../resources/paymaster.js';

/**
 * Who has a namespace: its name for the first tenant, `name@2` for the second, which no namespace can be called. Ids, keys,
 * funding messages and webhook keys are made from it, so that nothing of a former tenant holds for the next one.
 */
export type Tenant = string;

export function tenantOf(namespace: string, generation = 1): Tenant {
  return generation === 1 ? namespace : `${namespace}@${generation}`;
}

export function tenantOfOrganisation({ spec }: Organisation): Tenant {
  return tenantOf(spec.namespace, spec.tenantGeneration);
}

/** The generation under which a Paymaster is served. While no Organisation names its namespace, the last one known. */
export function tenantGenerationOf(
  paymaster: Pick<Paymaster, 'status'>,
  organisation: Organisation | undefined,
): number {
  if (organisation !== undefined) return organisation.spec.tenantGeneration ?? 1;
  return paymaster.status?.tenantGeneration ?? 1;
}
