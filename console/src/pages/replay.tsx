import { useEffect, useState } from 'preact/hooks';
import { call } from '../api.js';
import { coins, count, words } from '../format.js';
import { useLive } from '../live.js';
import { Card, Facts, Hex, Note, Select, Shown, Table, Time } from '../parts/parts.js';
import { proposal } from '../proposal.js';
import { rangeChoices, rangeOf } from '../range.js';
import { hrefOf, route } from '../route.js';

type Changed = {
  readonly count: number;
  readonly maxCost: string;
  readonly spent: string;
  readonly byReason: readonly { readonly reason: string; readonly count: number }[];
  readonly bySender: readonly { readonly sender: string; readonly count: number }[];
  readonly examples: readonly { readonly decision: string; readonly at: string; readonly sender: string }[];
};

type ReplayRecord = {
  readonly id: string;
  readonly state: string;
  readonly from: string;
  readonly to: string;
  readonly done: number;
  readonly total: number | null;
  readonly error: string | null;
  readonly result: {
    readonly replayed: number;
    readonly unchanged: { readonly sponsored: number; readonly refused: number };
    readonly newlyRefused: Changed;
    readonly newlySponsored: Changed;
    readonly difference: { readonly maxCost: string; readonly spent: string };
    readonly missingInputs: number;
  } | null;
};

const replays = '/manage/v1/replays';

/** Paste a change, and see what it would have done to operations that were recorded. */
export function Replay() {
  const [range, setRange] = useState('24h');
  const [yaml, setYaml] = useState(proposal.peek());
  useEffect(() => void (proposal.value = ''), []);
  const [error, setError] = useState<string>();
  const { id } = route.value;

  async function start(event: SubmitEvent): Promise<void> {
    event.preventDefault();
    try {
      const body = { from: rangeOf(range).from, to: new Date().toISOString(), resources: yaml };
      const { id: started } = await call<ReplayRecord>(replays, { method: 'POST', body });
      setError(undefined);
      location.hash = hrefOf('replay', {}, started);
    } catch (cause) {
      setError((cause as Error).message);
    }
  }

  return (
    <>
      <div class="top">
        <h1>Replay</h1>
      </div>
      <Card title="What would this change have done?">
        <p class="quiet">
          Recorded operations are decided again with your change. Nothing is stored, signed or called. Inputs
          are kept for a week, if nothing else was set.
        </p>
        {error !== undefined && <Note kind="error">{error}</Note>}
        <form onSubmit={(event) => void start(event)}>
          <label class="field">
            <span>Changed or new Paymaster, SmartContract or PaymasterPolicy, as YAML; empty: no change</span>
            <textarea
              spellcheck={false}
              value={yaml}
              placeholder={example}
              onInput={(event) => setYaml(event.currentTarget.value)}
            />
          </label>
          <p class="row">
            <Select
              label="Operations of"
              value={range}
              choices={rangeChoices.filter(([of]) => of !== '1y')}
              onChoose={setRange}
            />
            <button class="main">Replay</button>
            <button type="button" onClick={() => setYaml(example)}>
              Begin with an example
            </button>
          </p>
        </form>
      </Card>
      {id !== undefined && <Progress key={id} id={id} />}
    </>
  );
}

const example = `apiVersion: paymasters.dev/v1alpha1
kind: PaymasterPolicy
metadata: { name: shop-operations-per-day, namespace: quickstart }
spec:
  paymasterRef: { name: shop }
  name: operations per day
  policyType: PAYMASTER_SA_LIMIT
  spendingLimit:
    scope: PAYMASTER
    cycleDuration: { value: 1, unit: day }
    threshold: "5"
    thresholdType: COUNT
`;

function Progress({ id }: { readonly id: string }) {
  const path = `${replays}/${encodeURIComponent(id)}`;
  const replay = useLive(`replay ${id}`, () => call<ReplayRecord>(path), 1_000);
  return (
    <Card title="Result">
      <Shown live={replay}>
        {({ state, done, total, error, result, from, to }) => (
          <>
            <p class="quiet">
              Operations from <Time>{from}</Time> to <Time>{to}</Time>
            </p>
            {state === 'running' && (
              <p class="row">
                <progress value={done} max={total ?? Math.max(1, done)} aria-label="Progress" /> {count(done)}{' '}
                of {total === null ? '…' : count(total)}
                <button
                  type="button"
                  onClick={() => void call(path, { method: 'DELETE' }).then(replay.reload, replay.reload)}
                >
                  Cancel
                </button>
              </p>
            )}
            {state === 'failed' && <Note kind="error">{error ?? 'It failed.'}</Note>}
            {state === 'cancelled' && <Note kind="warn">It was cancelled.</Note>}
            {result !== null && <Result result={result} />}
          </>
        )}
      </Shown>
    </Card>
  );
}

function Result({ result }: { readonly result: NonNullable<ReplayRecord['result']> }) {
  const { replayed, unchanged, newlyRefused, newlySponsored, difference, missingInputs } = result;
  return (
    <>
      {replayed === 0 && (
        <Note kind="warn">No recorded operation lies in this time. Choose a longer one.</Note>
      )}
      {missingInputs > 0 && (
        <Note kind="warn">
          {count(missingInputs)} decisions could not be decided again: their inputs were not kept.
        </Note>
      )}
      <Facts>
        {[
          ['Decided again', count(replayed)],
          ['As before', `${count(unchanged.sponsored)} sponsored, ${count(unchanged.refused)} refused`],
          ['Newly refused', <b>{count(newlyRefused.count)}</b>],
          ['Newly sponsored', <b>{count(newlySponsored.count)}</b>],
          ['Highest cost changes by', coins(difference.maxCost)],
          ['Spent would change by', coins(difference.spent)],
        ]}
      </Facts>
      <ChangedOnes title="Newly refused" changed={newlyRefused} />
      <ChangedOnes title="Newly sponsored" changed={newlySponsored} />
    </>
  );
}

function ChangedOnes({
  title,
  changed: { count: all, byReason, examples },
}: {
  readonly title: string;
  readonly changed: Changed;
}) {
  if (all === 0) return null;
  return (
    <>
      <h3>{title}</h3>
      <p>{byReason.map(({ reason, count: found }) => `${words(reason)} (${count(found)})`).join(', ')}</p>
      <Table
        caption={title}
        rows={examples}
        columns={[
          {
            name: 'When',
            of: ({ decision, at }) => (
              <a href={hrefOf('activity', {}, decision)}>
                <Time>{at}</Time>
              </a>
            ),
          },
          { name: 'Account', of: ({ sender }) => <Hex>{sender}</Hex> },
        ]}
      />
    </>
  );
}
