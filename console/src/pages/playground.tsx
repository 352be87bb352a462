import { useRef, useState } from 'preact/hooks';
import { call, can, useAsked } from '../api.js';
import { amounts } from '../format.js';
import { BuildCall } from '../parts/build-call.js';
import { InView, Labelled } from '../parts/form.js';
import { OnChain } from '../parts/on-chain.js';
import { Card, Facts, Note, Select, Shown, Table } from '../parts/parts.js';
import { readApiKey, listChoices, type Known, usePaymasters } from '../paymasters.js';
import type { Explanation } from '../records.js';
import { pageHref, route } from '../route.js';
import { Steps } from '../steps.js';

/** `request`: for a token that may have the apiKey, the one that has it sponsored. */
type Answer = { readonly explanation: Explanation; readonly chainId: number; readonly request?: string };

/** Paste an operation, and see what would be decided about it, step by step. Nothing is signed or reserved. */
export function Playground() {
  const paymasters = usePaymasters();
  // A page that leads here may say which.
  const [id, setId] = useState(route.value.query['paymaster'] ?? '');
  const [text, setText] = useState('');
  const operation = useRef<HTMLTextAreaElement>(null);
  const { ask, data: answer, error } = useAsked<Answer>(operation);

  const choose = (all: readonly Known[]) => all.find(({ paymasterId }) => paymasterId === id) ?? all[0]!;

  return (
    <>
      <div class="top">
        <h1>Playground</h1>
      </div>
      <Card title="What would be decided?">
        <p class="quiet">
          The answer names every step, and what would make it pass. Nothing is signed, and no limit is used.
          Webhooks are not called.
        </p>
        <Shown live={paymasters} empty="You have no paymaster yet that could decide.">
          {(all) => (
            <>
              <p class="row">
                <Select
                  label="Paymaster"
                  value={choose(all).paymasterId}
                  choices={listChoices(paymasters).slice(1)}
                  onChoose={setId}
                />
              </p>
              <form
                onSubmit={(event) => {
                  event.preventDefault();
                  void ask(() => askAnswer(choose(all), text));
                }}
              >
                <Labelled
                  label="User operation as JSON, or the whole JSON-RPC request of a wallet"
                  says={error?.message}
                >
                  {(state) => (
                    <textarea
                      ref={operation}
                      required
                      spellcheck={false}
                      value={text}
                      placeholder='{ "sender": "0x…", "nonce": "0x0", "callData": "0x…", … }'
                      onInput={(event) => setText(event.currentTarget.value)}
                      {...state}
                    />
                  )}
                </Labelled>
                <p>
                  <button class="main">Explain</button>
                </p>
              </form>
              <BuildCall key={choose(all).object} paymaster={choose(all)} onBuilt={setText} />
            </>
          )}
        </Shown>
      </Card>
      <InView of={answer}>{answer && <Outcome {...answer} />}</InView>
    </>
  );
}

/** Throws with a sentence for a text that is not an operation. */
async function askAnswer(chosen: Known, text: string): Promise<Answer> {
  const path = `/manage/v1/paymasters/${chosen.object}/explain`;
  const explanation = await call<Explanation>(path, { method: 'POST', body: parseQuestion(text) });
  const mayHave = explanation.sponsored === true && can();
  return {
    explanation,
    chainId: chosen.chainId,
    ...(mayHave && { request: await sponsorRequest(chosen, text) }),
  };
}

/** Of an operation, or of what a wallet would send. */
function parseQuestion(text: string): { readonly userOp: unknown; readonly context: unknown } {
  let given: unknown;
  try {
    given = JSON.parse(text);
  } catch (error) {
    throw new Error(`This is not JSON: ${(error as Error).message}`);
  }
  const { params } = (given ?? {}) as { params?: unknown };
  const [userOp, context = { mode: 'SPONSORED', calculateGasLimits: false }]: readonly unknown[] =
    Array.isArray(params) ? params : [given];
  return { userOp, context };
}

/** What a wallet would send, for a shell. */
async function sponsorRequest({ object, chainId }: Known, text: string): Promise<string> {
  const { userOp, context } = parseQuestion(text);
  const body = { jsonrpc: '2.0', id: 1, method: 'pm_sponsorUserOperation', params: [userOp, context] };
  const quoted = JSON.stringify(body).replaceAll("'", String.raw`'\''`);
  return `curl -s ${location.origin}/api/v1/${chainId}/${await readApiKey(object)} -H 'content-type: application/json' -d '${quoted}'`;
}

function describe({ sponsored, undecided = [] }: Explanation): string {
  if (sponsored === null)
    return `Everything else passes, so that these webhooks decide: ${undecided.join(', ')}.`;
  return sponsored ? 'It would be sponsored.' : 'It would be refused; the first step that refuses says why.';
}

function Outcome({ explanation, chainId, request: shown }: Answer) {
  const { sponsored, steps, calls = [], limits = [], gas = {} } = explanation;
  return (
    <>
      <Note kind={sponsored === null ? 'warn' : sponsored ? 'done' : 'error'}>{describe(explanation)}</Note>
      {shown !== undefined && (
        <details>
          <summary>Have it sponsored: the request of a wallet, with the apiKey</summary>
          <p class="quiet">
            The answer holds the signed data, and the limits count it. Beside <code>make run</code> paste it
            into a terminal; elsewhere put the host of the JSON-RPC servers in place of this one. Then see{' '}
            <a href={pageHref('activity')}>Activity</a>.
          </p>
          <pre tabIndex={0}>{shown}</pre>
        </details>
      )}
      <div class="cards">
        <Card title="Steps">
          <Steps steps={steps} />
        </Card>
        <div>
          <Card title="Calls of the account">
            <Table
              caption="Calls"
              // Of one answer: no row comes before another.
              id={(_, index) => String(index)}
              rows={calls}
              columns={[
                {
                  name: 'Target',
                  of: ({ target }) => (
                    <OnChain chainId={chainId} label="target">
                      {target}
                    </OnChain>
                  ),
                },
                { name: 'Contract', of: ({ contract }) => contract ?? 'not registered' },
                { name: 'Method', of: ({ selector }) => <code>{selector}</code> },
              ]}
            />
          </Card>
          {limits.length > 0 && (
            <Card title="Limits">
              <Table
                caption="Limits"
                id={(_, index) => String(index)}
                rows={limits}
                columns={[
                  { name: 'Limit', of: ({ name }) => name },
                  { name: 'Needed', of: ({ needed = '' }) => amounts(needed) },
                  { name: 'Left', of: ({ left }) => amounts(left) },
                  { name: 'Threshold', of: ({ threshold }) => amounts(threshold) },
                ]}
              />
            </Card>
          )}
          <Card title="Gas">
            <Facts>{Object.entries(gas).map(([name, value]) => [name, String(value)] as const)}</Facts>
          </Card>
        </div>
      </div>
    </>
  );
}
