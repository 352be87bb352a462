import { useState } from 'preact/hooks';
import type { Answers } from '../answers.js';
import { call, useLive } from '../api.js';
import { type Change, OutcomeNote, useOutcome } from '../parts/form.js';
import { Card, Note } from '../parts/parts.js';
import { Connection } from '../paymaster/connect.js';
import { tested } from '../paymaster/rule-form.js';
import { type Known, listAllPages } from '../paymasters.js';
import type { Policy } from '../records.js';
import { pageHref } from '../route.js';
import { created } from './draft.js';

/** A paymaster that was just created, and what to do with it. */
export function Made({
  paymaster,
  object,
}: {
  readonly paymaster: Known | undefined;
  readonly object: string;
}) {
  const { data: policies = [] } = useLive(`policies ${object}`, () => listAllPages('policies', object));
  const isNew = created.value === object;
  if (paymaster === undefined)
    return isNew ? (
      // The list is on its way.
      <p class="quiet">Loading…</p>
    ) : (
      <Note kind="warn">
        There is no paymaster “{object}”. <a href={pageHref('paymaster')}>All paymasters</a>
      </Note>
    );
  const { name, paymasterId } = paymaster;
  return (
    <>
      <h1>{name}</h1>
      {isNew && <Note kind="done">“{name}” is created.</Note>}
      <Card title="What next">
        <ul>
          <li>
            <a href={pageHref('playground', { paymaster: paymasterId })}>
              Try an operation in the playground
            </a>
          </li>
          <li>
            <a href={pageHref('paymaster', {}, object)}>See and change its rules</a>
          </li>
          <li>
            <a href={pageHref('paymaster', { tab: 'money' }, object)}>See who pays, and how much there is</a>
          </li>
        </ul>
      </Card>
      {policies
        .filter(({ spec }) => spec.policyType === 'WEBHOOK')
        .map((policy) => (
          <TryWebhook key={policy.name} policy={policy} />
        ))}
      <Card title="Connect a wallet">
        {/* A link that somebody sends shows no secret. */}
        <Connection paymaster={paymaster} isShown={isNew} />
      </Card>
    </>
  );
}

function TryWebhook({ policy }: { readonly policy: Policy }) {
  const { outcome, run } = useOutcome();
  const [key, setKey] = useState<string>();
  const show: Change = async () => {
    setKey((await call<Answers['getPaymasterPolicyKey']>(`/manage/v1/policies/${policy.name}/key`)).key);
    return undefined;
  };
  return (
    <Card title="Try the webhook">
      <p class="quiet">
        A test delivery to {policy.spec.webhook?.url}: it is marked as one, and nothing is sponsored by its
        answer. Its host knows our calls by the signing key.
      </p>
      <p class="row">
        <button type="button" onClick={() => void run(tested(policy))}>
          Send a test
        </button>
        <button type="button" onClick={() => void run(show)}>
          Show the signing key
        </button>
      </p>
      {key !== undefined && (
        <p>
          <code class="secret">{key}</code>
        </p>
      )}
      <OutcomeNote outcome={outcome} />
    </Card>
  );
}
