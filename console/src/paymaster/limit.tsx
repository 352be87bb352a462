import { useState } from 'preact/hooks';
import { request } from '../api.js';
import { coins, count } from '../format.js';
import type { Limit, Policy } from '../records.js';
import { enforcements, Owner } from './common-fields.js';
import { CycleFields, cyclePatchOf, noCycle } from './cycle.js';
import { Field, OpenForm, Options } from '../parts/form.js';
import { Note } from '../parts/parts.js';
import { units } from './limit-words.js';
import { closeChange } from './objects.js';
import { WouldRefuse, type Proposed } from './would-refuse.js';

/** What was typed. */
type Edit = {
  readonly threshold?: string;
  readonly perOperation?: string;
  readonly enforcement?: string;
  readonly count?: string;
  readonly cycle?: string;
};

const counts = { anew: 'begins anew with this change', on: 'goes on, also when it is changed again' };

/** Another threshold or cycle for a limit. Before it refuses more, recorded decisions can be judged by it. */
export function ChangeLimit({
  policy,
  used,
  onDone,
}: {
  readonly policy: Policy;
  readonly used: readonly Limit[];
  readonly onDone: () => void;
}) {
  const [edit, setEdited] = useState<Edit>({});
  /** Of two that come before the next look none is lost. */
  const also = (more: Edit): void => setEdited((last) => ({ ...last, ...more }));
  const { id, name, spec, managedBy } = policy;
  const { spendingLimit } = spec;
  if (spendingLimit === undefined) return null;
  const present = {
    threshold: spendingLimit.threshold ?? '',
    perOperation: spendingLimit.perOperation ?? '',
    enforcement: spec.enforcement ?? 'Enforce',
    count: spendingLimit.keepCount === true ? 'on' : 'anew',
    cycle: '',
  };
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
  /** As a merge patch. What is not changed is not sent, so that it keeps its owner. */
  const changeOf = (values: Readonly<Record<string, string>>) => ({
    ...(next.enforcement !== present.enforcement && { enforcement: next.enforcement }),
    spendingLimit: {
      ...patch,
      ...(next.count !== present.count && { keepCount: next.count === 'on' || null }),
      ...(next.threshold !== '' && cyclePatchOf(values)),
    },
  });
  const proposed = (values: Readonly<Record<string, string>>): Proposed => {
    const { spendingLimit: changed, ...others } = changeOf(values);
    const members = Object.entries({ ...spendingLimit, ...changed }).filter(([, value]) => value !== null);
    return {
      kind: 'PaymasterPolicy',
      name,
      spec: { ...spec, ...others, spendingLimit: Object.fromEntries(members) },
    };
  };
  return (
    <OpenForm
      title={`Change “${spec.name}”`}
      onClose={closeChange}
      managedBy={managedBy}
      onDone={onDone}
      beside={isStricter && <WouldRefuse proposed={proposed} />}
      send={async (values) => {
        const body = { spec: changeOf(values) };
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
      <Owner of={policy} />
      <Field
        label={`New threshold, instead of ${present.threshold || 'none'}`}
        name="threshold"
        value={present.threshold}
        isOptional={next.perOperation !== ''}
        inputMode="decimal"
        pattern={decimal}
        onInput={(threshold) => also({ threshold })}
      />
      {spendingLimit.thresholdType !== 'COUNT' && (
        <Field
          label={`Most that one operation may cost, in ${units[spendingLimit.thresholdType] ?? ''}`}
          name="perOperation"
          value={present.perOperation}
          isOptional={next.threshold !== ''}
          inputMode="decimal"
          pattern={decimal}
          onInput={(perOperation) => also({ perOperation })}
        />
      )}
      <Options
        label="What does not fit"
        name="enforcement"
        of={enforcements}
        value={next.enforcement}
        onChoose={(enforcement) => also({ enforcement })}
      />
      {next.threshold !== '' && (
        <CycleFields
          key={String(present.threshold === '')}
          isChange={present.threshold !== ''}
          onChoose={(cycle) => also({ cycle })}
        />
      )}
      {isOther && next.cycle === '' && (
        <Options
          label="The count"
          name="count"
          of={counts}
          value={next.count}
          onChoose={(count) => also({ count })}
        />
      )}
      {present.threshold !== '' && isForgotten && (
        <div class="wide">
          <Note kind="warn">{forgotten(used.find(({ policy }) => policy === id))}</Note>
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
