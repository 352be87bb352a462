import { useState } from 'preact/hooks';
import { askMe, request } from '../api.js';
import { coins, count } from '../format.js';
import type { Limit, Policy } from '../records.js';
import { proposal } from '../proposal.js';
import { hrefOf } from '../route.js';
import { Chosen, useChosen } from './change.js';
import { CycleFields, cyclePatchOf, noCycle } from './cycle.js';
import { Field, OpenForm, Options } from './form.js';
import { Note } from './parts.js';

/** What was typed, of which limit. */
type Edit = {
  readonly of?: string;
  readonly threshold?: string;
  readonly perOperation?: string;
  readonly enforcement?: string;
  readonly count?: string;
  readonly cycle?: string;
};

const counts = { anew: 'begins anew with this change', on: 'goes on, also when it is changed again' };
const enforcements = { Enforce: 'refuse', Shadow: 'count alone (Shadow)' };
export const units: Readonly<Record<string, string>> = {
  COUNT: 'operations',
  NATIVE_ASSET: 'coins',
  USD: 'dollars',
};

/** Another threshold or cycle for a limit. Before it refuses more, recorded decisions can be judged by it. */
export function ChangeLimit({
  policies,
  used,
  onDone,
}: {
  readonly policies: readonly Policy[];
  readonly used: readonly Limit[];
  readonly onDone: () => void;
}) {
  const limits = policies.filter(({ spec }) => spec.spendingLimit !== undefined);
  const [chosen, choose] = useChosen(limits);
  const [edited, setEdited] = useState<Edit>({});
  const { spendingLimit } = chosen?.spec ?? {};
  if (chosen === undefined || spendingLimit === undefined) return null;
  const { name, spec } = chosen;
  const present = {
    threshold: spendingLimit.threshold ?? '',
    perOperation: spendingLimit.perOperation ?? '',
    enforcement: spec.enforcement ?? 'Enforce',
    count: spendingLimit.keepCount === true ? 'on' : 'anew',
    cycle: '',
  };
  const edit: Edit = edited.of === name ? edited : { of: name };
  const next = { ...present, ...edit };
  const isStricter =
    bindsMore(next.threshold, present.threshold) ||
    bindsMore(next.perOperation, present.perOperation) ||
    (present.enforcement === 'Shadow' && next.enforcement === 'Enforce');
  const patch = {
    ...(next.threshold !== present.threshold && amountPatch('threshold', next.threshold)),
    ...(next.perOperation !== present.perOperation && amountPatch('perOperation', next.perOperation)),
  };
  const isOther =
    spendingLimit.cycleDuration !== undefined &&
    next.threshold !== '' &&
    next.threshold !== present.threshold;
  const isForgotten = next.cycle !== '' || (isOther && next.count === 'anew');
  const ask = async (): Promise<void> => {
    const { organisation } = await askMe();
    const members = Object.entries({ ...spendingLimit, ...patch }).filter(([, value]) => value !== null);
    proposal.value = JSON.stringify(
      {
        apiVersion: 'paymasters.dev/v1alpha1',
        kind: 'PaymasterPolicy',
        metadata: { name, namespace: organisation.name },
        spec: { ...spec, enforcement: next.enforcement, spendingLimit: Object.fromEntries(members) },
      },
      undefined,
      2,
    );
    location.hash = hrefOf('what-if');
  };
  return (
    <OpenForm
      title="Change a limit"
      onDone={onDone}
      send={async (values) => {
        const body = {
          spec: {
            // What is not changed is not sent, so that it keeps its owner.
            ...(next.enforcement !== present.enforcement && { enforcement: next.enforcement }),
            spendingLimit: {
              ...patch,
              ...(next.count !== present.count && { keepCount: next.count === 'on' || null }),
              ...(next.threshold !== '' && cyclePatchOf(values)),
            },
          },
        };
        const answer = await request(`/manage/v1/policies/${name}`, { method: 'PATCH', body });
        const { warnings = [] } = (await answer.json()) as { readonly warnings?: readonly string[] };
        const told = warnings.map((each) => ` ${each.charAt(0).toUpperCase()}${each.slice(1)}.`).join('');
        const { threshold, perOperation } = next;
        const allows = threshold === '' ? 'does not count' : `allows ${threshold}`;
        const each = perOperation === '' ? '' : ` One operation may cost ${perOperation}.`;
        const alone = next.enforcement === 'Shadow' ? ' It counts alone, and refuses nothing.' : '';
        return `“${spec.name}” ${allows} from now on.${each}${alone}${told}`;
      }}
    >
      <Chosen label="Limit" of={limits} chosen={chosen} onChoose={choose} />
      <Field
        key={`threshold ${name}`}
        label={`New threshold, instead of ${present.threshold || 'none'}`}
        name="threshold"
        value={present.threshold}
        isOptional={next.perOperation !== ''}
        inputMode="decimal"
        pattern={decimal}
        onInput={(threshold) => setEdited({ ...edit, threshold })}
      />
      {spendingLimit.thresholdType !== 'COUNT' && (
        <Field
          key={`perOperation ${name}`}
          label={`Most that one operation may cost, in ${units[spendingLimit.thresholdType] ?? ''}`}
          name="perOperation"
          value={present.perOperation}
          isOptional={next.threshold !== ''}
          inputMode="decimal"
          pattern={decimal}
          onInput={(perOperation) => setEdited({ ...edit, perOperation })}
        />
      )}
      <Options
        key={`enforcement ${name}`}
        label="Beyond it"
        name="enforcement"
        of={enforcements}
        value={next.enforcement}
        onChoose={(enforcement) => setEdited({ ...edit, enforcement })}
      />
      {next.threshold !== '' && (
        <CycleFields
          key={`cycle ${name} ${present.threshold === ''}`}
          isChange={present.threshold !== ''}
          onChoose={(cycle) => setEdited({ ...edit, cycle })}
        />
      )}
      {isOther && next.cycle === '' && (
        <Options
          key={`count ${name}`}
          label="The count"
          name="count"
          of={counts}
          value={next.count}
          onChoose={(count) => setEdited({ ...edit, count })}
        />
      )}
      {present.threshold !== '' && isForgotten && (
        <div class="wide">
          <Note kind="warn">{forgotten(used.find(({ policy }) => policy === chosen.id))}</Note>
        </div>
      )}
      {isStricter && (
        <div class="wide">
          <Note kind="warn">This refuses more than now. What it would have refused can be seen before.</Note>
          <p>
            <button type="button" onClick={() => void ask()}>
              See what it would have refused
            </button>
          </p>
        </div>
      )}
    </OpenForm>
  );
}

function forgotten(limit: Limit | undefined): string {
  const says = 'The count begins anew with this change: ';
  if (limit === undefined || limit.used === null) return `${says}what was used is forgotten.`;
  const [used, reserved, most] = (['used', 'reserved', 'threshold'] as const).map((name) =>
    figureOf(limit, name),
  );
  return `${says}${used} used and ${reserved} reserved of ${most} are forgotten.`;
}

export function figureOf(
  { rendered, ...exact }: Limit,
  name: 'threshold' | 'used' | 'reserved' | 'remaining',
): string {
  const shown = rendered === null ? exact[name] : rendered[name];
  if (shown === null) return 'by account';
  return typeof shown === 'number' ? count(shown) : coins(shown);
}

/** As a merge patch. A limit without a threshold has no cycle. */
function amountPatch(member: 'threshold' | 'perOperation', amount: string): object {
  if (amount !== '') return { [member]: amount };
  return { [member]: null, ...(member === 'threshold' && noCycle) };
}

export const decimal = '[0-9]+([.][0-9]+)?';

/** Whether a bound refuses more than the present one; empty: without a bound. */
function bindsMore(next: string, present: string): boolean {
  return present === '' ? new RegExp(`^${decimal}$`).test(next) : isLess(next, present);
}

/** Exact: thresholds have more digits than a number holds. False while one of them is being typed. */
function isLess(one: string, other: string): boolean {
  const [a, b] = [one, other].map((text) => {
    if (!new RegExp(`^${decimal}$`).test(text)) return undefined;
    const [whole = '', fraction = ''] = text.split('.');
    return BigInt(whole + fraction.slice(0, 18).padEnd(18, '0'));
  });
  return a !== undefined && b !== undefined && a < b;
}
