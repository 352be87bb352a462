import { v5 as uuidv5 } from 'uuid';

/** Root of all ids of this product; never changes, or every paymasterId in the world would. */
const root = 'f1c6f5f4-3b0e-5d0a-9a64-7f0f0c9d2b11';

/** `paymasterId` of the Paymaster object: stable over restore and re-creation under the same name. */
export function paymasterIdOf(namespace: string, objectName: string): string {
  return idOf(namespace, 'Paymaster', objectName);
}

/** `_id` of the PaymasterPolicy object. */
export function policyIdOf(namespace: string, objectName: string): string {
  return idOf(namespace, 'PaymasterPolicy', objectName);
}

/** `_id` under which a SmartContract object appears in the policy list. */
export function contractIdOf(namespace: string, objectName: string): string {
  return idOf(namespace, 'SmartContract', objectName);
}

/** `organisationId` of policy records. */
export function organisationIdOf(namespace: string): string {
  return idOf(namespace, 'Organisation', namespace);
}

// Kubernetes names hold no slash, so three of them joined by slashes stand for one object only.
function idOf(namespace: string, kind: string, objectName: string): string {
  return uuidv5(`${namespace}/${kind}/${objectName}`, root);
}
