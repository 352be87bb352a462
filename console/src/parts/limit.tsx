import { useState } from 'preact/hooks';
import { call, type Me } from '../api.js';
import type { Managed, PolicySpec } from '../records.js';
import { proposal } from '../proposal.js';
import { hrefOf } from '../route.js';
import { Chosen, useChosen } from './change.js';
import { CycleFields, cyclePatchOf } from './cycle.js';
import { Field, OpenForm, Options } from './form.js';
import { Note } from './parts.js';

type Enforcement = 'Enforce' | 'Shadow';
type LimitSpec = PolicySpec & {
  readonly enforcement?: Enforcement;
  readonly spendingLimit?: { readonly threshold?: string };
};

/** What was typed, of which limit. */
type Edit = { readonly of?: string; readonly threshold?: string; readonly enforcement?: string };

const enforcements = { Enforce: 'refuse', Shadow: 'count alone (Shadow)' };

/** Another threshold or cycle for a limit. Before it refuses more, recorded operations can be decided again under it. */
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
  const [chosen, choose] = useChosen<LimitSpec>(limits);
  const [edited, setEdited] = useState<Edit>({});
  if (chosen === undefined) return null;
  const { enforcement: was = 'Enforce', spendingLimit } = chosen.spec;
  const present = spendingLimit?.threshold ?? '';
  const edit: Edit = edited.of === chosen.name ? edited : { of: chosen.name };
  const { threshold = present, enforcement = was } = edit;
  const isStricter = isLess(threshold, present) || (was === 'Shadow' && enforcement === 'Enforce');
  const replay = async (): Promise<void> => {
    const { organisation } = await call<Me>('/manage/v1/me');
    proposal.value = JSON.stringify(
      {
        apiVersion: 'paymasters.dev/v1alpha1',
        kind: 'PaymasterPolicy',
        metadata: { name: chosen.name, namespace: organisation.name },
        spec: { ...chosen.spec, enforcement, spendingLimit: { ...spendingLimit, threshold } },
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
      send={async (values) => {
        const spec = {
          // What is not changed is not sent, so that it keeps its owner.
          ...(enforcement !== was && { enforcement }),
          spendingLimit: { threshold, ...cyclePatchOf(values) },
        };
        await call(`/manage/v1/policies/${chosen.name}`, { method: 'PATCH', body: { spec } });
        const counts = enforcement === 'Shadow' ? ' It counts alone, and refuses nothing.' : '';
        return `“${chosen.spec.name}” allows ${threshold} from now on.${counts}`;
      }}
    >
      <Chosen label="Limit" of={limits} chosen={chosen} onChoose={choose} />
      <Field
        key={`threshold ${chosen.name}`}
        label={`New threshold, instead of ${present}`}
        name="threshold"
        value={present}
        inputMode="decimal"
        pattern={decimal}
        onInput={(value) => setEdited({ ...edit, threshold: value })}
      />
      <Options
        key={`enforcement ${chosen.name}`}
        label="Beyond it"
        name="enforcement"
        of={enforcements}
        value={enforcement}
        onChoose={(value) => setEdited({ ...edit, enforcement: value })}
      />
      <CycleFields key={`cycle ${chosen.name}`} isChange />
      {isStricter && (
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

const decimal = '[0-9]+([.][0-9]+)?';

/** Exact: thresholds have more digits than a number holds. False while one of them is being typed. */
function isLess(one: string, other: string): boolean {
  const [a, b] = [one, other].map((text) => {
    if (!new RegExp(`^${decimal}$`).test(text)) return undefined;
    const [whole = '', fraction = ''] = text.split('.');
    return BigInt(whole + fraction.slice(0, 18).padEnd(18, '0'));
  });
  return a !== undefined && b !== undefined && a < b;
}
