import { useEffect, useRef, useState } from 'preact/hooks';
import type { Answers } from '../answers.js';
import { askMe, call } from '../api.js';
import { count, words } from '../format.js';
import { InView, Labelled } from '../parts/form.js';
import { Card, Facts, Hex, Note, Select, Time } from '../parts/parts.js';
import { Table } from '../parts/table.js';
import { proposal } from '../proposal.js';
import { rangeChoices, rangeOf } from '../range.js';
import { hrefOf } from '../route.js';

type Answer = Answers['whatIf'];
type Found = Answer['unknown'];

/** Paste a change, and see what it would have done to decisions that were recorded. */
export function WhatIf() {
  const [range, setRange] = useState('24h');
  const [yaml, setYaml] = useState(proposal.peek());
  useEffect(() => void (proposal.value = ''), []);
  const [error, setError] = useState<string>();
  const [answer, setAnswer] = useState<Answer>();
  const [isAsking, setAsking] = useState(false);
  const asked = useRef(0);
  const proposed = useRef<HTMLTextAreaElement>(null);

  async function ask(event: SubmitEvent): Promise<void> {
    event.preventDefault();
    const own = (asked.current += 1);
    setAsking(true);
    setAnswer(undefined);
    setError(undefined);
    try {
      const body = { from: rangeOf(range).from, to: new Date().toISOString(), resources: yaml };
      const found = await call<Answer>('/manage/v1/what-if', { method: 'POST', body });
      if (own === asked.current) setAnswer(found);
    } catch (cause) {
      if (own === asked.current) {
        setError((cause as Error).message);
        proposed.current?.focus();
      }
    }
    if (own === asked.current) setAsking(false);
  }

  /** A rule for the caller's own paymaster, so that it can be judged as it is. */
  async function begin(): Promise<void> {
    try {
      const [{ organisation }, { items }] = await Promise.all([
        askMe(),
        call<Answers['listObjectsPaymaster']>('/manage/v1/paymasters?limit=1'),
      ]);
      setYaml(exampleOf(organisation.name, items[0]?.name ?? 'shop'));
    } catch (cause) {
      setError((cause as Error).message);
    }
  }

  return (
    <>
      <div class="top">
        <h1>What-if</h1>
      </div>
      <Card title="What would this change have done?">
        <p class="quiet">
          Recorded decisions are judged with your change. Nothing is stored, signed or called.
        </p>
        <form onSubmit={(event) => void ask(event)}>
          <Labelled
            label="Changed or new Paymaster, SmartContract or PaymasterPolicy of one paymaster, as YAML"
            says={error}
          >
            {(state) => (
              <textarea
                ref={proposed}
                spellcheck={false}
                value={yaml}
                onInput={(event) => setYaml(event.currentTarget.value)}
                {...state}
              />
            )}
          </Labelled>
          <p class="row">
            <Select
              label="Operations of"
              value={range}
              choices={rangeChoices.filter(([of]) => of !== '1y')}
              onChoose={setRange}
            />
            <button class="main" disabled={isAsking}>
              {isAsking ? 'Judging…' : 'Ask'}
            </button>
            <button type="button" onClick={() => void begin()}>
              Begin with an example
            </button>
          </p>
        </form>
      </Card>
      <InView of={answer}>
        {answer !== undefined && (
          <Card title="Result">
            <Result answer={answer} />
          </Card>
        )}
      </InView>
    </>
  );
}

const exampleOf = (namespace: string, paymaster: string): string => `apiVersion: paymasters.dev/v1alpha1
kind: PaymasterPolicy
metadata: { name: ${paymaster}-operations-per-day, namespace: ${namespace} }
spec:
  paymasterRef: { name: ${paymaster} }
  name: operations per day
  policyType: PAYMASTER_SA_LIMIT
  spendingLimit:
    scope: PAYMASTER
    cycleDuration: { value: 1, unit: day }
    threshold: "5"
    thresholdType: COUNT
`;

function Result({ answer }: { readonly answer: Answer }) {
  const { judged, stillSigned, stillRefused, wouldBeRefused, wouldPass, unknown, gaps, notJudged } = answer;
  const missing = gaps.reduce((sum, gap) => sum + gap.count, 0);
  const named = notJudged.flatMap(({ rule, name }) => (name === null ? [] : [`${words(rule)} “${name}”`]));
  return (
    <>
      {judged === 0 && <Note kind="warn">No recorded decision lies in this time. Choose a longer one.</Note>}
      {missing > 0 && <Note kind="warn">{count(missing)} more decisions were only counted.</Note>}
      {named.length > 0 && <Note kind="warn">Not judged: {named.join(', ')}.</Note>}
      <Facts>
        {[
          ['Judged', count(judged)],
          ['As before', `${count(stillSigned)} signed, ${count(stillRefused)} refused`],
          ['Would be refused', <b>{count(wouldBeRefused.count)}</b>],
          ['Would pass', <b>{count(wouldPass.count)}</b>],
          ['Unknown', count(unknown.count)],
        ]}
      </Facts>
      <Those title="Would be refused" found={wouldBeRefused} />
      <Those title="Would pass" found={wouldPass} />
      <Those title="Unknown: a cost, price or call was not recorded" found={unknown} />
    </>
  );
}

function Those({ title, found }: { readonly title: string; readonly found: Found }) {
  if (found.count === 0) return null;
  return (
    <>
      <h3>{title}</h3>
      <Table
        caption={`${title}, by day`}
        rows={found.byReasonAndDay}
        columns={[
          { name: 'Day', of: ({ day }) => <Time>{day}</Time> },
          { name: 'Reason', of: ({ reason }) => words(reason) },
          { name: 'Decisions', of: (group) => count(group.count) },
        ]}
      />
      <Table
        caption={`${title}, the first of each reason`}
        rows={found.examples}
        columns={[
          {
            name: 'Reason',
            of: ({ decision, reason }) => <a href={hrefOf('activity', {}, decision)}>{words(reason)}</a>,
          },
          { name: 'Account', of: ({ sender }) => <Hex>{sender}</Hex> },
          { name: 'Detail', of: ({ detail }) => detail },
        ]}
      />
    </>
  );
}
