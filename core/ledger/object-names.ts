/**
 * Port: what objects were called, by the ids under which the ledger counts. So usage and statements go on showing the names of
 * deleted objects.
 *
 * Guarantees (both stores pass one suite):
 * - The last name of an id counts.
 * - An organisation has at most {@link maxNames} of a kind; further ids get none.
 * - Every method throws DomainError UNAVAILABLE when the database cannot answer.
 */
export type ObjectNames = {
  /** Those that are known already cost no write. */
  keep(names: readonly ObjectName[]): Promise<void>;
  list(organisation: string, kind: NamedKind): Promise<readonly Pick<ObjectName, 'id' | 'shown'>[]>;
};

export type NamedKind = 'Paymaster' | 'PaymasterPolicy';

export type ObjectName = {
  /** The tenant. */
  readonly organisation: string;
  readonly kind: NamedKind;
  /** `paymasterId` or `policyId`. */
  readonly id: string;
  /** `spec.name`. */
  readonly shown: string;
};

export const maxNames = 10_000;
