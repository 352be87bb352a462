import { useEffect, useRef } from 'preact/hooks';
import type { Answers } from '../answers.js';
import { askMe, call, useAsked } from '../api.js';
import { count, words } from '../format.js';
import { Caveats, proposal } from '../judged.js';
import { InView, readValues } from '../parts/form.js';
import { Hex, Note, Table, Time } from '../parts/parts.js';
import { findRange } from '../range.js';
import { pageHref } from '../route.js';

type Answer = Answers['whatIf'];
type Example = Answer['wouldBeRefused']['examples'][number];

/** An object as it would be once the form is saved. */
export type Proposed = {
  readonly kind: 'PaymasterPolicy' | 'SmartContract';
  readonly name: string;
  readonly spec: object;
};

const maxAccounts = 5;

/** Beside “Save” of a form that refuses more than now: what that would have refused in the last week, and whom first. */
export function WouldRefuse({
  proposed,
}: {
  readonly proposed: (values: Readonly<Record<string, string>>) => Proposed;
}) {
  const button = useRef<HTMLButtonElement>(null);
  const { ask, forget, isAsking, data: answer, error } = useAsked<Answer>();
  useEffect(() => {
    // An answer is about the form as it was then.
    const form = button.current?.form;
    form?.addEventListener('input', forget);
    return () => form?.removeEventListener('input', forget);
  }, []);

  async function composeResource(): Promise<object> {
    const { organisation } = await askMe();
    const { kind, name, spec } = proposed(readValues(button.current?.form));
    const metadata = { name, namespace: organisation.name };
    return { apiVersion: 'paymasters.dev/v1alpha1', kind, metadata, spec };
  }

  async function judged(): Promise<Answer> {
    const body = {
      from: findRange('7d').from,
      to: new Date().toISOString(),
      resources: [await composeResource()],
    };
    return call<Answer>('/manage/v1/what-if', { method: 'POST', body });
  }

  async function lead(): Promise<void> {
    proposal.value = JSON.stringify(await composeResource(), undefined, 2);
    location.hash = pageHref('what-if');
  }

  return (
    <>
      <button ref={button} type="button" disabled={isAsking} onClick={() => void ask(judged)}>
        {isAsking ? 'Judging…' : 'What would that have refused in the last 7 days?'}
      </button>
      <div class="wide">
        <InView of={answer ?? error}>
          {error !== undefined && <Note kind="error">{error.message}</Note>}
          {answer !== undefined && (
            <section aria-label="What it would have refused">
              <Refusals answer={answer} />
              <p>
                <button type="button" onClick={() => void lead()}>
                  Open it in What-if
                </button>
              </p>
            </section>
          )}
        </InView>
      </div>
    </>
  );
}

function Refusals({ answer }: { readonly answer: Answer }) {
  const { judged, stillSigned, wouldBeRefused, unknown } = answer;
  const signed = stillSigned + wouldBeRefused.count;
  const first = firstPerSender(wouldBeRefused.examples);
  return (
    <>
      <Note kind={wouldBeRefused.count > 0 ? 'warn' : 'done'}>
        Of {count(signed)} operations that were signed in the last 7 days it would have refused{' '}
        {count(wouldBeRefused.count)}.
        {unknown.count > 0 && ` For ${count(unknown.count)} more it cannot be said.`}
      </Note>
      <Caveats answer={answer} />
      {judged > 0 && first.length > 0 && (
        <Table
          caption="Accounts that meet it first"
          id={({ sender }) => sender}
          rows={first}
          columns={[
            {
              name: 'Account that meets it first',
              of: ({ sender }) => (
                <a href={pageHref('activity', { range: '7d', search: sender })}>
                  <Hex>{sender}</Hex>
                </a>
              ),
            },
            {
              name: 'When',
              of: ({ decision }) => (
                <a href={pageHref('activity', {}, decision)}>
                  <Time>{formatIdTime(decision)}</Time>
                </a>
              ),
            },
            { name: 'Reason', of: ({ reason }) => words(reason) },
            { name: 'Detail', of: ({ detail }) => detail },
          ]}
        />
      )}
    </>
  );
}

/** The first refusal of each account, in the order of time, which ids are in. */
function firstPerSender(examples: readonly Example[]): readonly Example[] {
  const inTime = examples.toSorted((a, b) => (a.decision < b.decision ? -1 : 1));
  const bySender = new Map<string, Example>();
  for (const each of inTime) if (!bySender.has(each.sender)) bySender.set(each.sender, each);
  return [...bySender.values()].slice(0, maxAccounts);
}

/** An id begins with its milliseconds since 1970 (UUID of version 7). */
function formatIdTime(id: string): string {
  return new Date(Number.parseInt(id.replace('-', '').slice(0, 12), 16)).toISOString();
}
