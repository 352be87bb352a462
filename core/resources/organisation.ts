import type { ObservedStatus, Resource } from '../meta/meta.js';
import type { Budget } from '../policy/budget.js';
import type { ContractAction } from './paymaster.js';

export type OrganisationToken = {
  readonly name: string;
  /** SHA-256 of the token as 64 lowercase hex digits. The token itself is never stored. */
  readonly sha256: string;
  /** RFC 3339. */
  readonly expiresAt?: string;
};

export type OrganisationSpec = {
  /** The namespace of this organisation; one Organisation per namespace. */
  readonly namespace: string;
  /** Raised when the namespace is given to another tenant: nothing of the former tenant is valid then. Default 1. */
  readonly tenantGeneration?: number;
  readonly tokens?: readonly OrganisationToken[];
  /** Funding wallets that the platform vouches for. */
  readonly fundingAddresses?: readonly string[];
  /** Chain ids that the organisation may use; absent means all. */
  readonly chains?: readonly number[];
  /** For Paymasters that do not set one; absent: the platform's. */
  readonly defaultContractAction?: ContractAction;
  readonly budgets?: readonly Budget[];
  readonly quotas?: {
    readonly paymasters?: number;
    readonly contractsPerPaymaster?: number;
    readonly policiesPerPaymaster?: number;
  };
};

export type OrganisationStatus = ObservedStatus;

export type Organisation = Resource<'Organisation', OrganisationSpec, OrganisationStatus>;
