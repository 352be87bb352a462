import { useState } from 'preact/hooks';
import { request } from '../api.js';
import { coins, count } from '../format.js';
import { useEntered, type Values } from '../parts/form-facts.js';
import { Field, OpenForm, Options } from '../parts/form.js';
import { Note } from '../parts/parts.js';
import type { Known } from '../paymasters.js';
import type { Limit, Policy } from '../records.js';
import { ChangeForm, CommonFields, enforcements } from './common-fields.js';
import { create, composePolicy } from './create-object.js';
import { ruleKinds } from './kinds.js';
import { units } from './limit-words.js';
import { type Proposed, WouldRefuse } from './would-refuse.js';

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
  /** Added to the newest state: two changes may come before the form is drawn again. */
  const also = (more: Edit): void => setEdited((last) => ({ ...last, ...more }));
  const { id, name, spec } = policy;
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
  const composePatch = (values: Readonly<Record<string, string>>) => ({
    ...(next.enforcement !== present.enforcement && { enforcement: next.enforcement }),
    spendingLimit: {
      ...patch,
      ...(next.count !== present.count && { keepCount: next.count === 'on' || null }),
      ...(next.threshold !== '' && composeCyclePatch(values)),
    },
  });
  const proposed = (values: Readonly<Record<string, string>>): Proposed => {
    const { spendingLimit: changed, ...others } = composePatch(values);
    const members = Object.entries({ ...spendingLimit, ...changed }).filter(([, value]) => value !== null);
    return {
      kind: 'PaymasterPolicy',
      name,
      spec: { ...spec, ...others, spendingLimit: Object.fromEntries(members) },
    };
  };
  return (
    <ChangeForm
      of={policy}
      onDone={onDone}
      beside={isStricter && <WouldRefuse proposed={proposed} />}
      send={async (values) => {
        const body = { spec: composePatch(values) };
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
      <Amount
        label={`New threshold, instead of ${present.threshold || 'none'}`}
        name="threshold"
        value={present.threshold}
        isOptional={next.perOperation !== ''}
        onInput={(threshold) => also({ threshold })}
      />
      {spendingLimit.thresholdType !== 'COUNT' && (
        <Amount
          label={`Most that one operation may cost, in ${units[spendingLimit.thresholdType] ?? ''}`}
          name="perOperation"
          value={present.perOperation}
          isOptional={next.threshold !== ''}
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
    </ChangeForm>
  );
}

function Amount(field: Parameters<typeof Field>[0]) {
  return <Field inputMode="decimal" pattern={decimal} {...field} />;
}

function forgotten(limit: Limit | undefined): string {
  const says = 'The count begins anew with this change: ';
  if (limit === undefined || limit.used === null) return `${says}what was used is forgotten.`;
  const [used, reserved, most] = (['used', 'reserved', 'threshold'] as const).map((name) =>
    formatFigure(limit, name),
  );
  return `${says}${used} used and ${reserved} reserved of ${most} are forgotten.`;
}

export function formatFigure(
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

/** A limit by number or money, per cycle, per operation, or both. */
export function NewLimit({ paymaster, onDone }: { readonly paymaster: Known; readonly onDone: () => void }) {
  return (
    <OpenForm
      title="Set a limit"
      isEmptied
      onDone={onDone}
      beside={
        <WouldRefuse
          proposed={(values) => {
            const { object, spec } = composeLimit(paymaster.object, values);
            return { kind: 'PaymasterPolicy', name: object, spec };
          }}
        />
      }
      send={async (values) => {
        const { name = '', threshold = '', perOperation = '' } = values;
        await create(composeLimit(paymaster.object, values));
        return threshold === ''
          ? `The limit “${name}” refuses an operation that may cost more than ${perOperation}.`
          : `The limit “${name}” counts from now on.`;
      }}
    >
      <LimitFields />
    </OpenForm>
  );
}

/** Of what {@link LimitFields} send. */
export function composeLimit(paymaster: string, values: Values) {
  const { scope, thresholdType, threshold = '', perOperation = '' } = values;
  const spendingLimit = {
    scope,
    thresholdType,
    ...(threshold !== '' && { threshold, ...composeCycle(values) }),
    ...(perOperation !== '' && { perOperation }),
  };
  return composePolicy(paymaster, 'PAYMASTER_SA_LIMIT', values, { spendingLimit });
}

export function LimitFields() {
  const [unit, setUnit] = useState(useEntered('thresholdType') ?? 'COUNT');
  const [threshold, setThreshold] = useState(useEntered('threshold') ?? '');
  const [perOperation, setPerOperation] = useState(useEntered('perOperation') ?? '');
  return (
    <>
      <Field label="Name" name="name" />
      <Options
        label="For"
        name="scope"
        of={{ PAYMASTER: 'all accounts together', SMART_ACCOUNT: 'each account' }}
      />
      <Amount
        label="At most"
        name="threshold"
        isOptional={unit !== 'COUNT' && perOperation !== ''}
        onInput={setThreshold}
      />
      <Options label="Of" name="thresholdType" of={units} onChoose={setUnit} />
      {unit !== 'COUNT' && (
        <Amount
          label={`Most that one operation may cost, in ${units[unit] ?? ''}`}
          name="perOperation"
          isOptional={threshold !== ''}
          onInput={setPerOperation}
        />
      )}
      {(unit === 'COUNT' || threshold !== '' || perOperation === '') && <CycleFields />}
      <CommonFields kind={ruleKinds.PAYMASTER_SA_LIMIT} />
    </>
  );
}

const cycles = {
  days: 'some days after it began',
  hours: 'some hours after it began',
  day: 'each day of the calendar',
  week: 'each week, on Monday',
  month: 'each month of the calendar',
  never: 'never by itself',
};
const unchanged = { '': 'after the same time as until now' };

/** When a limit begins to count anew. `isChange`: it may stay as it is. */
function CycleFields({
  isChange = false,
  onChoose,
}: {
  readonly isChange?: boolean;
  readonly onChoose?: (cycle: string) => void;
}) {
  const [cycle, setCycle] = useState(useEntered('cycle') ?? (isChange ? '' : 'days'));
  const isLength = cycle === 'days' || cycle === 'hours';
  return (
    <>
      <Options
        label="Begins again"
        name="cycle"
        of={isChange ? { ...unchanged, ...cycles } : cycles}
        value={cycle}
        onChoose={(chosen) => (setCycle(chosen), onChoose?.(chosen))}
      />
      {isLength && (
        <Field label={`How many ${cycle}`} name="value" value="1" inputMode="numeric" pattern="[0-9]+" />
      )}
      {!isLength && cycle !== '' && cycle !== 'never' && (
        <Field
          label="Time zone whose midnight counts"
          name="timeZone"
          value={Intl.DateTimeFormat().resolvedOptions().timeZone}
        />
      )}
    </>
  );
}

/** The member of a limit that says so, of what {@link CycleFields} send. */
function composeCycle({ cycle = '', value, timeZone }: Readonly<Record<string, string>>): object {
  if (cycle === '') return {};
  if (cycle === 'never') return { never: {} };
  if (cycle === 'days' || cycle === 'hours')
    return { cycleDuration: { value: Number(value), unit: cycle.slice(0, -1) } };
  return { calendar: { every: cycle, timeZone } };
}

/** The same as a merge patch, which takes the former cycle and its begin away. */
function composeCyclePatch(values: Readonly<Record<string, string>>): object {
  const next = composeCycle(values);
  if (Object.keys(next).length === 0) return {};
  return { ...noCycle, ...next };
}

/** A merge patch that takes the cycle and its begin away. */
const noCycle = Object.fromEntries(
  ['cycleDuration', 'calendar', 'never', 'startTime', 'restartedAt', 'assumeUsed'].map((member) => [
    member,
    null,
  ]),
);
