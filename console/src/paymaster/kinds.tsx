import type { ComponentChildren } from 'preact';
import { exact, fieldTime, time } from '../format.js';
import { Boxes, Field, Labelled, Options } from '../parts/form.js';
import type { Policy } from '../records.js';
import { limitWords } from './limit-words.js';

type Spec = Policy['spec'];
type Values = Readonly<Record<string, string>>;

/** What a kind of policy is to people, and the fields of its member. */
export type RuleKind = {
  readonly title: string;
  /** Where a policy of this kind has its settings. */
  readonly member: keyof Spec;
  /** Of a policy that decides nothing now. */
  readonly says: (spec: Spec) => string;
  /** Filled in with what there is. Absent: forms of their own. */
  readonly fields?: (spec: Partial<Spec>) => ComponentChildren;
  /** What the fields say; undefined is left out. `spec` is what they were filled in with. */
  readonly read?: (values: Values, spec: Partial<Spec>) => Readonly<Record<string, unknown>>;
  /** It never refuses, so it cannot count alone. */
  readonly isPermission?: true;
};

const modes = {
  SPONSORED: 'sponsored operations',
  ERC20: 'payments in tokens',
  'SPONSORED ERC20': 'both',
};

function ModesField({ present = ['SPONSORED'] }: { readonly present?: readonly string[] | undefined }) {
  return <Options label="For" name="appliesTo" of={modes} value={present.join(' ')} />;
}

const modesIn = ({ appliesTo = 'SPONSORED' }: Values) => appliesTo.split(' ');

const failures = { Deny: 'refuse the operation', Allow: 'let it pass' };

/** In the order in which the page lists them. */
export const ruleKinds = {
  PAYMASTER_SA_LIMIT: {
    title: 'Spending limit',
    member: 'spendingLimit',
    says: ({ spendingLimit }) => (spendingLimit === undefined ? '' : limitWords(spendingLimit)),
  },
  WINDOW: {
    title: 'Time window',
    member: 'window',
    says: ({ window: { from, until } = {} }) =>
      [from && `from ${time(from)}`, until && `until ${time(until)}`].filter(Boolean).join(' '),
    fields: ({ window: { from, until, appliesTo } = {} }) => (
      <>
        <TimeField label="Opens" name="from" value={from} />
        <TimeField label="Closes" name="until" value={until} />
        <ModesField present={appliesTo} />
      </>
    ),
    read: (values, { window }) => ({
      from: parseLocalTime(values['from'], window?.from),
      until: parseLocalTime(values['until'], window?.until),
      appliesTo: modesIn(values),
    }),
  },
  SENDERS: {
    title: 'List of accounts',
    member: 'senders',
    says: ({ senders: { action, addresses } = { action: 'Allow', addresses: [] } }) =>
      `${action === 'Allow' ? 'serves' : 'refuses'} ${exact(String(addresses.length))} account${addresses.length === 1 ? '' : 's'}`,
    fields: ({
      senders: { action, addresses = [], appliesTo } = {} as Partial<NonNullable<Spec['senders']>>,
    }) => (
      <>
        <Options
          label="Accounts in the list"
          name="action"
          of={{ Allow: 'are the only ones served', Deny: 'are refused' }}
          {...(action && { value: action })}
        />
        <ModesField present={appliesTo} />
        <Labelled label="Accounts, one in a line" name="addresses" isWide>
          {(state) => (
            <textarea name="addresses" spellcheck={false} defaultValue={addresses.join('\n')} {...state} />
          )}
        </Labelled>
      </>
    ),
    read: (values) => ({
      action: values['action'],
      addresses: (values['addresses'] ?? '').split(/[\s,]+/).filter((each) => each !== ''),
      appliesTo: modesIn(values),
    }),
  },
  WEBHOOK: {
    title: 'Webhook',
    member: 'webhook',
    says: ({ webhook }) => `asks ${webhook?.url}`,
    fields: ({ webhook }) => (
      <>
        <Field label="URL" name="url" value={webhook?.url ?? ''} pattern="https?://.+" />
        <Options
          label="When it does not answer"
          name="onError"
          of={failures}
          value={webhook?.onError ?? 'Deny'}
        />
      </>
    ),
    read: ({ url, onError }) => ({ url, onError }),
  },
  EXPRESSION: {
    title: 'Expression',
    member: 'expression',
    says: ({ expression }) => expression?.text ?? '',
    fields: ({
      expression: { text, allowNoCalls = false, appliesTo } = {} as Partial<NonNullable<Spec['expression']>>,
    }) => (
      <>
        <Labelled label="Condition in CEL, such as size(calls) == 1" name="text" isWide>
          {(state) => (
            <textarea name="text" required spellcheck={false} defaultValue={text ?? ''} {...state} />
          )}
        </Labelled>
        <ModesField present={appliesTo} />
        <Boxes legend="Operations without a call" name="allowNoCalls">
          <label>
            <input type="checkbox" name="allowNoCalls" defaultChecked={allowNoCalls} /> are judged, too (else
            they are refused)
          </label>
        </Boxes>
      </>
    ),
    read: (values) => ({
      text: values['text'],
      allowNoCalls: values['allowNoCalls'] !== undefined,
      appliesTo: modesIn(values),
    }),
  },
  WALLET_DEPLOYMENT: {
    title: 'Deployment of wallets',
    member: 'walletDeployment',
    says: () => 'lets operations pass that only deploy their account',
    fields: () => null,
    read: () => ({}),
    isPermission: true,
  },
} as const satisfies Record<Spec['policyType'], RuleKind>;

export function findRuleKind(policyType: Spec['policyType']): RuleKind {
  return ruleKinds[policyType];
}

function TimeField({
  label,
  name,
  value,
}: {
  readonly label: string;
  readonly name: string;
  readonly value: string | undefined;
}) {
  return (
    <Field
      label={`${label} (left empty: no bound)`}
      name={name}
      type="datetime-local"
      value={fieldTime(value)}
      isOptional
    />
  );
}

/** What was not touched stays to the millisecond. */
function parseLocalTime(local: string | undefined, present: string | undefined): string | undefined {
  if (!local) return undefined;
  return local === fieldTime(present) ? present : new Date(local).toISOString();
}
