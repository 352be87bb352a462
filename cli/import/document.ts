import { invalidInput, quote } from '../../core/errors.js';
import { formatPath, getAt, leavesOf, type Tree } from '../../core/meta/field-tree.js';
import type { PaymasterPolicySpec } from '../../core/resources/paymaster-policy.js';
import { isObject } from '../../core/schema/json-value.js';

/** What a field of another provider's policy becomes. */
export type FieldRow = {
  /** With dots between members. */
  readonly field: string;
  /** For the documents. */
  readonly becomes: string;
  /** Absent: it has nothing to say here. Throws INVALID_INPUT. */
  readonly take?: (value: unknown, document: Tree) => Taken;
};

/** `lost`: what would bound sponsorship and has no counterpart. `note`: what somebody has to do besides. */
export type Taken =
  { readonly policies: readonly PolicyPart[] } | { readonly note: string } | { readonly lost: string };

/** The end of its name, and its spec without paymaster and name. */
export type PolicyPart = {
  readonly end: string;
  readonly spec: Omit<PaymasterPolicySpec, 'paymasterRef' | 'name'>;
};

/** How another provider writes down one policy. */
export type Format = {
  readonly rows: readonly FieldRow[];
  /** The policy inside an answer. */
  readonly policyOf: (document: Tree) => unknown;
  readonly nameOf: (policy: Tree) => unknown;
  /** What requests name it by. */
  readonly campaignOf: (policy: Tree) => unknown;
  readonly isActive: (policy: Tree) => boolean;
};

/** What every field of a policy becomes; fields that no row names are lost. */
export function takeFields({ rows }: Format, policy: Tree) {
  const policies: PolicyPart[] = [];
  const notes: string[] = [];
  const lost: string[] = [];
  for (const { field, take } of rows) {
    const value = getAt(policy, field.split('.'));
    if (take === undefined || isNothing(value)) continue;
    const taken = take(value, policy);
    if ('policies' in taken) policies.push(...taken.policies);
    else if ('note' in taken) notes.push(`${field}: ${taken.note}`);
    else lost.push(`${field}: ${taken.lost}`);
  }
  for (const { path, value } of leavesOf(policy)) {
    const field = formatPath(path);
    const isKnown = rows.some((row) => field === row.field || field.startsWith(`${row.field}.`));
    if (!isKnown && !isNothing(value)) lost.push(`${field}: not known to this import`);
  }
  return { policies, notes, lost };
}

/** Their documents write null, and empty lists, for members that are not set. */
function isNothing(value: unknown): boolean {
  return (
    value === undefined ||
    value === null ||
    value === '' ||
    (Array.isArray(value) && value.length === 0) ||
    (isObject(value) && Object.values(value).every(isNothing))
  );
}

export function wrong(field: string, expected: string, value: unknown) {
  return invalidInput({ field, expected, value: quote(value) });
}
