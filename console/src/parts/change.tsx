import { useState } from 'preact/hooks';
import { call } from '../api.js';
import type { Contract, Policy } from '../records.js';
import { Field, MethodChoices, OpenForm, Options, checkedMethods } from './form.js';

/** One of several objects: the first until another one is chosen. */
export function useChosen<One extends { readonly name: string }>(
  all: readonly One[],
): readonly [One | undefined, (name: string) => void] {
  const [name, setName] = useState<string>();
  return [all.find((each) => each.name === name) ?? all[0], setName];
}

export function Chosen({
  label,
  of,
  chosen,
  onChoose,
}: {
  readonly label: string;
  readonly of: readonly Pick<Policy | Contract, 'name' | 'spec'>[];
  readonly chosen: { readonly name: string };
  readonly onChoose: (name: string) => void;
}) {
  return (
    <label class="field">
      <span>{label}</span>
      <select value={chosen.name} onChange={(event) => onChoose(event.currentTarget.value)}>
        {of.map(({ name, spec }) => (
          <option key={name} value={name}>
            {spec.name}
          </option>
        ))}
      </select>
    </label>
  );
}

export function ChangeContract({
  contracts,
  onDone,
}: {
  readonly contracts: readonly Contract[];
  readonly onDone: () => void;
}) {
  const [chosen, choose] = useChosen(contracts);
  if (chosen === undefined) return null;
  const { whitelistedMethods: present = [] } = chosen.spec;
  return (
    <OpenForm
      title="Change the methods of a contract"
      onDone={onDone}
      send={async (values) => {
        const whitelistedMethods = checkedMethods(values);
        const body = { spec: { whitelistedMethods } };
        await call(`/manage/v1/contracts/${chosen.name}`, { method: 'PATCH', body });
        return `Of “${chosen.spec.name}” calls of ${whitelistedMethods.join(', ') || 'no method'} are paid for.`;
      }}
    >
      <Chosen label="Contract" of={contracts} chosen={chosen} onChoose={choose} />
      <MethodChoices
        key={chosen.name}
        // Signatures of overloads are in the spec alone.
        methods={[...new Set([...(chosen.status?.methods ?? []), ...present])]}
        checked={present}
        empty="Its methods are not known yet."
      />
    </OpenForm>
  );
}

export function ChangeWebhook({
  policies,
  onDone,
}: {
  readonly policies: readonly Policy[];
  readonly onDone: () => void;
}) {
  const webhooks = policies.filter(({ spec }) => spec.policyType === 'WEBHOOK');
  const [chosen, choose] = useChosen(webhooks);
  if (chosen === undefined) return null;
  const { url = '', onError = 'Deny' } = chosen.spec.webhook ?? {};
  return (
    <OpenForm
      title="Change a webhook"
      onDone={onDone}
      send={async (values) => {
        const webhook = {
          url: values['url'],
          // Left out, it is Deny: a manifest that does so keeps the field.
          ...(values['onError'] !== onError && { onError: values['onError'] }),
        };
        await call(`/manage/v1/policies/${chosen.name}`, { method: 'PATCH', body: { spec: { webhook } } });
        return `“${chosen.spec.name}” asks ${values['url']} from now on. Try it by “Send a test” above.`;
      }}
    >
      <Chosen label="Webhook" of={webhooks} chosen={chosen} onChoose={choose} />
      <Field
        key={`url ${chosen.name}`}
        label="Address that is asked"
        name="url"
        value={url}
        pattern="https?://.+"
      />
      <Options
        key={`onError ${chosen.name}`}
        label="When it does not answer"
        name="onError"
        of={failures}
        value={onError}
      />
    </OpenForm>
  );
}

export const failures = { Deny: 'refuse the operation', Allow: 'let it pass' };
