import type { KindDefinition } from '../schema/crd.js';
import type { StructuralSchema } from '../schema/structural.js';
import { chainDefinition } from './chain.schema.js';
import { dashboardTokenDefinition } from './dashboard-token.schema.js';
import { feeTokenDefinition } from './fee-token.schema.js';
import type { Kind } from './kinds.js';
import { organisationDefinition } from './organisation.schema.js';
import { paymasterPolicyDefinition } from './paymaster-policy.schema.js';
import { paymasterDefinition } from './paymaster.schema.js';
import { smartContractDefinition } from './smart-contract.schema.js';

/** Kinds that users write have a status; kinds that the operator writes do not. */
type UserKindDefinition = KindDefinition & { readonly status: StructuralSchema };

/** Schema, columns and selectable fields of every kind that users write. */
export const definitions: Readonly<Record<Kind, UserKindDefinition>> = {
  Chain: chainDefinition,
  FeeToken: feeTokenDefinition,
  Organisation: organisationDefinition,
  Paymaster: paymasterDefinition,
  SmartContract: smartContractDefinition,
  PaymasterPolicy: paymasterPolicyDefinition,
  DashboardToken: dashboardTokenDefinition,
};
