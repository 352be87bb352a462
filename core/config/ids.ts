import { v5 as uuidv5 } from 'uuid';
import type { Tenant } from './tenant.js';

/** Root of all ids of this product; never changes, or every paymasterId in the world would. */
const root = 'f1c6f5f4-3b0e-5d0a-9a64-7f0f0c9d2b11';

/** `paymasterId` of the Paymaster object: stable over restore and re-creation under the same name. */
export function paymasterIdOf(tenant: Tenant, objectName: string): string {
  return idOf(tenant, 'Paymaster', objectName);
}

/** `_id` of the PaymasterPolicy object. */
export function policyIdOf(tenant: Tenant, objectName: string): string {
  return idOf(tenant, 'PaymasterPolicy', objectName);
}

/** `_id` under which a SmartContract object appears in the policy list. */
export function contractIdOf(tenant: Tenant, objectName: string): string {
  return idOf(tenant, 'SmartContract', objectName);
}

/** `organisationId` of policy records. */
export function organisationIdOf(tenant: Tenant): string {
  return idOf(tenant, 'Organisation', tenant);
}

// Kubernetes names hold no slash, so three of them joined by slashes stand for one object only.
function idOf(tenant: Tenant, kind: string, objectName: string): string {
  return uuidv5(`${tenant}/${kind}/${objectName}`, root);
}
