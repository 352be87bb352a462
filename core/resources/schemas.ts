import type { KindDefinition } from '../schema/crd.js';
import type { StructuralSchema } from '../schema/structural.js';
import { ageColumn, categories, column } from '../meta/schema-parts.js';
import { chainKind } from './chain.js';
import { dashboardTokenKind } from './dashboard-token.js';
import { feeTokenKind } from './fee-token.js';
import { type Kind, kindNames, type KindNames } from './kinds.js';
import { organisationKind } from './organisation.js';
import { paymasterPolicyKind } from './paymaster-policy.js';
import { paymasterKind } from './paymaster.js';
import { smartContractKind } from './smart-contract.js';

/** Kinds that users write have a status; kinds that the operator writes do not. */
type UserKindDefinition = KindDefinition & { readonly status: StructuralSchema };
type OwnPart = Omit<UserKindDefinition, 'kind' | 'singular' | 'categories' | keyof KindNames>;

/** Schema, columns and selectable fields of every kind that users write. */
export const definitions: Readonly<Record<Kind, UserKindDefinition>> = {
  Chain: userKind('Chain', chainKind),
  FeeToken: userKind('FeeToken', feeTokenKind),
  Organisation: userKind('Organisation', organisationKind),
  Paymaster: userKind('Paymaster', paymasterKind),
  SmartContract: userKind('SmartContract', smartContractKind),
  PaymasterPolicy: userKind('PaymasterPolicy', paymasterPolicyKind),
  DashboardToken: userKind('DashboardToken', dashboardTokenKind),
};

/**
 * To its own columns come those that all kinds have, before and after them; to the rest its names and the category of all kinds.
 * What nothing judges has no conditions.
 */
function userKind(kind: Kind, own: OwnPart): UserKindDefinition {
  const conditionColumns = [
    column(
      'Ready',
      'string',
      '.status.conditions[?(@.type=="Ready")].status',
      'Whether this object is in force as written.',
    ),
    column('Reason', 'string', '.status.conditions[?(@.type=="Ready")].reason', 'Why it is ready or not.'),
  ];
  const judged = kind === 'DashboardToken' ? [] : conditionColumns;
  const printerColumns = [...judged, ...own.printerColumns, ageColumn];
  return { kind, singular: kind.toLowerCase(), ...kindNames[kind], categories, ...own, printerColumns };
}
