import { useState } from 'preact/hooks';
import { call, type Me } from '../api.js';
import type { Managed, PolicySpec } from '../records.js';
import { proposal } from '../proposal.js';
import { hrefOf } from '../route.js';
import { Field, OpenForm } from './form.js';
import { Note } from './parts.js';

type LimitSpec = PolicySpec & { readonly spendingLimit?: { readonly threshold?: string } };

/** Another threshold for a limit. Before one is lowered, recorded operations can be decided again under it. */
export function ChangeLimit({
  policies,
  onDone,
}: {
  readonly policies: readonly Managed<PolicySpec>[];
  readonly onDone: () => void;
}) {
  const limits = policies.filter(
    ({ spec }: Managed<LimitSpec>) => spec.spendingLimit?.threshold !== undefined,
  );
  const [name, setName] = useState<string>();
  const [threshold, setThreshold] = useState('');
  const chosen: Managed<LimitSpec> | undefined = limits.find((each) => each.name === name) ?? limits[0];
  if (chosen === undefined) return null;
  const present = chosen.spec.spendingLimit?.threshold ?? '';
  const isLower = threshold !== '' && Number(threshold) < Number(present);
  const replay = async (): Promise<void> => {
    const { organisation } = await call<Me>('/manage/v1/me');
    const { spendingLimit, ...spec } = chosen.spec;
    proposal.value = JSON.stringify(
      {
        apiVersion: 'paymasters.dev/v1alpha1',
        kind: 'PaymasterPolicy',
        metadata: { name: chosen.name, namespace: organisation.name },
        spec: { ...spec, spendingLimit: { ...spendingLimit, threshold } },
      },
      undefined,
      2,
    );
    location.hash = hrefOf('replay');
  };
  return (
    <OpenForm
      title="Change a limit"
      onDone={onDone}
      send={async () => {
        const body = { spec: { spendingLimit: { threshold } } };
        await call(`/manage/v1/policies/${chosen.name}`, { method: 'PATCH', body });
        return `“${chosen.spec.name}” allows ${threshold} from now on.`;
      }}
    >
      <label class="field">
        <span>Limit</span>
        <select value={chosen.name} onChange={(event) => setName(event.currentTarget.value)}>
          {limits.map((each) => (
            <option key={each.name} value={each.name}>
              {each.spec.name}
            </option>
          ))}
        </select>
      </label>
      <Field
        label={`New threshold, instead of ${present}`}
        name="threshold"
        inputMode="decimal"
        pattern="[0-9]+([.][0-9]+)?"
        onInput={setThreshold}
      />
      {isLower && (
        <div class="wide">
          <Note kind="warn">This refuses more than now. What it would have refused can be seen before.</Note>
          <p>
            <button type="button" onClick={() => void replay()}>
              See what it would have refused
            </button>
          </p>
        </div>
      )}
    </OpenForm>
  );
}
