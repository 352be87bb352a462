import { v5 as uuidv5 } from 'uuid';
import type { Tenant } from './tenant.js';

/** Root of all ids of this product. It must never change: every paymasterId in the world would change with it. */
const root = 'f1c6f5f4-3b0e-5d0a-9a64-7f0f0c9d2b11';

/** `paymasterId` of the Paymaster object: unchanged after a restore or re-creation with the same name. */
export function derivePaymasterId(tenant: Tenant, objectName: string): string {
  return deriveId(tenant, 'Paymaster', objectName);
}

/** `_id` of the PaymasterPolicy object. */
export function derivePolicyId(tenant: Tenant, objectName: string): string {
  return deriveId(tenant, 'PaymasterPolicy', objectName);
}

/** Of the kinds whose objects usage and statements name by their ids. */
export const deriveObjectId = { Paymaster: derivePaymasterId, PaymasterPolicy: derivePolicyId } as const;

/** `_id` of a SmartContract object in the policy list. */
export function deriveContractId(tenant: Tenant, objectName: string): string {
  return deriveId(tenant, 'SmartContract', objectName);
}

/** The id under which an Organisation's budget counts. It follows from the name, so a budget that is made again goes on. */
export function deriveBudgetId(tenant: Tenant, name: string): string {
  return deriveId(tenant, 'Budget', name);
}

/** The id of a receiver of an Organisation's notifications, and of the key that signs them. */
export function deriveNotificationId(tenant: Tenant, name: string): string {
  return deriveId(tenant, 'Notification', name);
}

/** `organisationId` of policy records. */
export function deriveOrganisationId(tenant: Tenant): string {
  return deriveId(tenant, 'Organisation', tenant);
}

// Kubernetes names contain no slash, so three names joined by slashes identify one object only.
function deriveId(tenant: Tenant, kind: string, objectName: string): string {
  return uuidv5(`${tenant}/${kind}/${objectName}`, root);
}
