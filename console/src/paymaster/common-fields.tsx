import { Field, OpenForm, Options } from '../parts/form.js';
import type { Contract, Policy } from '../records.js';
import type { RuleKind } from './kinds.js';
import { closeChange } from './objects.js';

export const enforcements = { Enforce: 'refuse', Shadow: 'count alone (Shadow)' };

/** What a policy of every kind may have. A permission never refuses, so it cannot count alone. */
export function CommonFields({
  kind: { isPermission },
  spec: { enforcement, campaign } = {},
}: {
  readonly kind: RuleKind;
  readonly spec?: Partial<Policy['spec']>;
}) {
  return (
    <>
      {isPermission !== true && (
        <Options
          label="What does not fit"
          name="enforcement"
          of={enforcements}
          value={enforcement ?? 'Enforce'}
        />
      )}
      <Field label="Campaign (left empty: all requests)" name="campaign" value={campaign ?? ''} isOptional />
    </>
  );
}

/** The form that changes an object. It is open while the address names the object. */
export function ChangeForm({
  of,
  children,
  ...form
}: Omit<Parameters<typeof OpenForm>[0], 'title' | 'onClose' | 'managedBy'> & {
  readonly of: Policy | Contract;
}) {
  return (
    <OpenForm title={`Change “${of.spec.name}”`} onClose={closeChange} managedBy={of.managedBy} {...form}>
      <Owner of={of} />
      {children}
    </OpenForm>
  );
}

/** Who else keeps the object as it is. The server decides for each field, and answers the YAML to commit. */
function Owner({ of: { createdBy, managedBy } }: { readonly of: Pick<Policy, 'createdBy' | 'managedBy'> }) {
  const names = managedBy.map(({ manager }) => manager).join(' and ');
  const widens = managedBy.some(({ fields }) => fields.includes('spec.active'));
  return (
    <div class="wide quiet">
      <p>
        {names === ''
          ? `Made by ${createdBy}. No manifest has a field of it.`
          : `Made by ${createdBy}, managed by ${names}: a field that its manifest has is changed there${widens ? ', and so is all that would let more pass' : ''}. Saving then shows the YAML to commit.`}
      </p>
    </div>
  );
}
