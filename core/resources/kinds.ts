import type { KindDefinition } from '../schema/crd.js';
import type { Chain } from './chain.js';
import type { DashboardToken } from './dashboard-token.js';
import type { FeeToken } from './fee-token.js';
import type { Organisation } from './organisation.js';
import type { PaymasterPolicy } from './paymaster-policy.js';
import type { Paymaster } from './paymaster.js';
import type { SmartContract } from './smart-contract.js';

/** Every kind of resource that users write. */
export type Resources = {
  readonly Chain: Chain;
  readonly FeeToken: FeeToken;
  readonly Organisation: Organisation;
  readonly Paymaster: Paymaster;
  readonly SmartContract: SmartContract;
  readonly PaymasterPolicy: PaymasterPolicy;
  readonly DashboardToken: DashboardToken;
};
export type Kind = keyof Resources;
export type AnyResource = Resources[Kind];

export type KindNames = Pick<KindDefinition, 'plural' | 'shortNames' | 'scope'>;

export const kindNames = {
  Chain: { plural: 'chains', shortNames: ['pmchain'], scope: 'Cluster' },
  FeeToken: { plural: 'feetokens', shortNames: ['pmtoken'], scope: 'Cluster' },
  Organisation: { plural: 'organisations', shortNames: ['pmorg'], scope: 'Cluster' },
  Paymaster: { plural: 'paymasters', shortNames: ['pm'], scope: 'Namespaced' },
  SmartContract: { plural: 'smartcontracts', shortNames: ['pmsc'], scope: 'Namespaced' },
  PaymasterPolicy: { plural: 'paymasterpolicies', shortNames: ['pmpol'], scope: 'Namespaced' },
  DashboardToken: { plural: 'dashboardtokens', shortNames: ['pmauth'], scope: 'Namespaced' },
} as const satisfies Record<Kind, KindNames>;

export const kinds = Object.keys(kindNames) as readonly Kind[];
/** Kinds that the operator judges. A token is read by the dashboard alone, and has no status. */
export const reconciledKinds = kinds.filter((kind) => kind !== 'DashboardToken');

export function isKind(text: unknown): text is Kind {
  return typeof text === 'string' && Object.hasOwn(kindNames, text);
}
