import { useState } from 'preact/hooks';
import type { Answers } from '../answers.js';
import { call, Mistake } from '../api.js';
import type { Values } from '../parts/form-facts.js';
import { type Change, Field, OpenForm, Options } from '../parts/form.js';
import type { Known } from '../paymasters.js';
import type { Policy } from '../records.js';
import { choose, route } from '../route.js';
import { ChangeForm, CommonFields } from './common-fields.js';
import { create, composePolicy } from './create-object.js';
import { findRuleKind, type RuleKind, ruleKinds } from './kinds.js';

type Spec = Policy['spec'];
type PolicyType = Spec['policyType'];

/** A kind without fields here has a separate form. */
const choices = Object.fromEntries(
  Object.entries(ruleKinds)
    .filter(([, kind]) => 'fields' in kind)
    .map(([type, { title }]) => [type, title]),
);

/** A policy of any kind but a limit, whose form is another. */
export function NewRule({ paymaster, onDone }: { readonly paymaster: Known; readonly onDone: () => void }) {
  // A page that leads here may say which kind.
  const { add = '' } = route.value.query;
  const isAsked = Object.hasOwn(choices, add);
  return (
    <OpenForm
      title="Add a rule of another kind"
      isEmptied
      {...(isAsked && { onClose: () => choose({ add: undefined }) })}
      onDone={onDone}
      send={async (values) => {
        const { name = '', kind: type } = values;
        const rule = composeRule(paymaster.object, type as PolicyType, values);
        await create(rule);
        const done = `“${name}” decides from now on.`;
        if (type !== 'WEBHOOK') return done;
        const { key } = await call<Answers['getPaymasterPolicyKey']>(
          `/manage/v1/policies/${rule.object}/key`,
        );
        return `${done} Try it by “Send a test” above. Its host knows our calls by this signing key, a secret: ${key}`;
      }}
    >
      <RuleFields first={isAsked ? (add as PolicyType) : 'WINDOW'} />
    </OpenForm>
  );
}

/** Of what the fields of the kind send. */
export function composeRule(paymaster: string, policyType: PolicyType, values: Values) {
  const { member, read } = findRuleKind(policyType);
  return composePolicy(paymaster, policyType, values, { [member]: read?.(values, {}) });
}

function RuleFields({ first }: { readonly first: PolicyType }) {
  const [type, setType] = useState(first);
  const kind = findRuleKind(type);
  return (
    <>
      <Options
        label="Kind"
        name="kind"
        of={choices}
        value={type}
        onChoose={(chosen) => setType(chosen as PolicyType)}
      />
      <Field label="Name" name="name" />
      <div key={type} class="row wide">
        {kind.fields?.({})}
        <CommonFields kind={kind} />
      </div>
    </>
  );
}

/** Changes a policy of any kind but a limit. What is not changed is not sent, so that it keeps its owner. */
export function ChangeRule({ policy, onDone }: { readonly policy: Policy; readonly onDone: () => void }) {
  const { name, spec } = policy;
  const kind = findRuleKind(spec.policyType);
  return (
    <ChangeForm
      of={policy}
      onDone={onDone}
      send={async (values) => {
        const patch = composePatch(spec, kind, values);
        if (Object.keys(patch).length === 0) throw new Mistake('Nothing is changed yet.', []);
        await call(`/manage/v1/policies/${name}`, { method: 'PATCH', body: { spec: patch } });
        return `“${spec.name}” is changed.`;
      }}
    >
      {kind.fields?.(spec)}
      <CommonFields kind={kind} spec={spec} />
    </ChangeForm>
  );
}

/** What members stand for that are left out. */
const defaults: Readonly<Record<string, unknown>> = {
  enforcement: 'Enforce',
  onError: 'Deny',
  allowNoCalls: false,
  appliesTo: ['SPONSORED'],
};

/** A merge patch of the members that the form says otherwise than the policy. */
function composePatch(spec: Spec, kind: RuleKind, values: Values): object {
  const { campaign, enforcement } = values;
  const settings = Object(spec[kind.member]) as Readonly<Record<string, unknown>>;
  const inner = differences(settings, kind.read?.(values, spec) ?? {});
  const outer = differences(spec, {
    campaign: campaign === '' ? undefined : campaign,
    ...(kind.isPermission !== true && { enforcement }),
  });
  return { ...outer, ...(Object.keys(inner).length > 0 && { [kind.member]: inner }) };
}

function differences(
  present: Readonly<Record<string, unknown>>,
  next: Readonly<Record<string, unknown>>,
): Readonly<Record<string, unknown>> {
  const text = (name: string, value: unknown) => JSON.stringify(value ?? defaults[name]);
  const changed = Object.entries(next).filter(
    ([name, value]) => text(name, value) !== text(name, present[name]),
  );
  return Object.fromEntries(changed.map(([name, value]) => [name, value ?? null]));
}

/** Asks the host of a webhook, as a test. */
export const tested =
  ({ name, spec }: Policy): Change =>
  async () => {
    const path = `/manage/v1/policies/${name}/test`;
    const { verdict, wouldPass, durationMs, reason, detail } = await call<Answers['testPolicyWebhook']>(
      path,
      {
        method: 'POST',
      },
    );
    const why = [reason, detail].filter((each) => each !== undefined).join(', ');
    return {
      kind: verdict === 'verified' ? 'done' : 'error',
      text: `“${spec.name}” ${verdict} after ${durationMs} ms${why && `: ${why}`}. An operation would ${wouldPass ? 'pass' : 'be refused'}.`,
    };
  };
