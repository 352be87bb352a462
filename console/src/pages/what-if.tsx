import { useEffect, useRef, useState } from 'preact/hooks';
import type { Answers } from '../answers.js';
import { askMe, call, useAsked } from '../api.js';
import { proposal, Result } from '../judged.js';
import { InView, Labelled } from '../parts/form.js';
import { Card, Select } from '../parts/parts.js';
import { rangeChoices, findRange } from '../range.js';

type Answer = Answers['whatIf'];

/** Paste a change, and see what it would have done to decisions that were recorded. */
export function WhatIf() {
  const [range, setRange] = useState('24h');
  const [yaml, setYaml] = useState(proposal.peek());
  useEffect(() => void (proposal.value = ''), []);
  const proposed = useRef<HTMLTextAreaElement>(null);
  const { ask, isAsking, data: answer, error } = useAsked<Answer>(proposed);
  const example = useAsked<void>();

  function judge(event: SubmitEvent): void {
    event.preventDefault();
    example.forget();
    const body = { from: findRange(range).from, to: new Date().toISOString(), resources: yaml };
    void ask(() => call<Answer>('/manage/v1/what-if', { method: 'POST', body }));
  }

  /** A rule for the caller's own paymaster, so that it can be judged as it is. */
  async function begin(): Promise<void> {
    const [{ organisation }, { items }] = await Promise.all([
      askMe(),
      call<Answers['listObjectsPaymaster']>('/manage/v1/paymasters?limit=1'),
    ]);
    setYaml(exampleManifest(organisation.name, items[0]?.name ?? 'shop'));
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
        <form onSubmit={judge}>
          <Labelled
            label="Changed or new Paymaster, SmartContract or PaymasterPolicy of one paymaster, as YAML"
            says={(error ?? example.error)?.message}
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
            <button type="button" onClick={() => void example.ask(begin)}>
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

const exampleManifest = (namespace: string, paymaster: string): string => `apiVersion: paymasters.dev/v1alpha1
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
