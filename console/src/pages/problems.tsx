import type { Answers } from '../answers.js';
import { call, can, type Live, useLive } from '../api.js';
import { OutcomeNote, useOutcome } from '../parts/form.js';
import { Badge, Card, Note, Prose, Shown, Table, Time } from '../parts/parts.js';
import { listAllPages } from '../paymasters.js';
import { pageHref } from '../route.js';

/** The list that `paymaster doctor` prints, the gravest first. */
export function ProblemsPage() {
  const found = useProblems();
  return (
    <>
      <h1>Problems</h1>
      <Shown live={found}>
        {({ items: problems, complete, owners }) => {
          const [notes, findings] = [problems.filter(isNote), problems.filter((each) => !isNote(each))];
          return (
            <>
              {!complete && <Note kind="warn">There are more. The gravest are shown.</Note>}
              {findings.length === 0 ? (
                <p class="empty">
                  Nothing is wrong. Your paymasters, contracts and policies, and the chains that they use, are
                  as they should be.
                </p>
              ) : (
                <Card title="To be fixed">
                  <ProblemTable caption="To be fixed" problems={findings} owners={owners} />
                </Card>
              )}
              {notes.length > 0 && (
                <Card title="Notes: this may be meant so">
                  <ProblemTable caption="Notes: this may be meant so" problems={notes} owners={owners} />
                </Card>
              )}
            </>
          );
        }}
      </Shown>
      {can('read') && <Notifications />}
    </>
  );
}

function isNote({ severity }: Problem): boolean {
  return severity === 'note';
}

/** The receivers of notifications, as the platform has set them; each can be tried. */
function Notifications() {
  const told = useLive(
    'notifications',
    () => call<Answers['listNotifications']>('/manage/v1/notifications'),
    15_000,
  );
  const { outcome, run } = useOutcome(told.reload);
  const test = (name: string) => async () => {
    const path = `/manage/v1/notifications/${name}/test`;
    const { delivered, detail } = await call<Answers['testNotification']>(path, { method: 'POST' });
    return delivered
      ? { kind: 'done' as const, text: `“${name}” has got a test message.` }
      : { kind: 'error' as const, text: `“${name}” got nothing: ${detail}.` };
  };
  return (
    <Card title="Notifications">
      <OutcomeNote outcome={outcome} />
      <Shown
        live={told}
        empty="Nobody gets notifications. The platform can list a receiver in spec.notifications of your Organisation."
      >
        {({ items }) => (
          <Table
            caption="Notifications"
            id={({ name }) => name}
            rows={items}
            columns={[
              { name: 'Receiver', of: ({ name }) => name },
              { name: 'Host', of: ({ host }) => host },
              { name: 'Format', of: ({ format }) => format },
              { name: 'Events', of: ({ events }) => events.join(', ') },
              {
                name: 'Failing since',
                of: ({ failingSince, failure }) =>
                  failingSince && (
                    <>
                      <Time>{failingSince}</Time> <span class="quiet">{failure}</span>
                    </>
                  ),
              },
              can() && {
                name: 'Check',
                of: ({ name }) => (
                  <button
                    type="button"
                    onClick={() => void run(test(name))}
                    aria-label={`Send a test to ${name}`}
                  >
                    Send a test
                  </button>
                ),
              },
            ]}
          />
        )}
      </Shown>
    </Card>
  );
}

type Problem = Answers['listProblems']['items'][number];
/** The name of the paymaster that the object of a problem is, or belongs to. */
export type Owners = (problem: Problem) => string | undefined;
type Problems = Answers['listProblems'] & { readonly owners: Owners };

export function useProblems(): Live<Problems> {
  return useLive(
    'problems',
    async () => {
      const found = await call<Answers['listProblems']>('/manage/v1/problems');
      return { ...found, owners: await readOwners(found.items) };
    },
    15_000,
  );
}

const owned = ['contracts', 'policies'] as const;

/** Asks which paymaster objects belong to only where some of them have a problem. */
async function readOwners(problems: readonly Problem[]): Promise<Owners> {
  const nouns = owned.filter((noun) => can('read') && problems.some((each) => each.noun === noun));
  const lists = await Promise.all(
    nouns.map(async (noun) => {
      const all = await listAllPages(noun);
      return all.map(({ name, spec }) => [`${noun} ${name}`, spec.paymasterRef.name] as const);
    }),
  );
  const known = new Map<string, string>(lists.flat());
  return ({ noun, name }) => (noun === 'paymasters' ? name : known.get(`${noun} ${name}`));
}

/** Where the console shows the object; undefined: nowhere, or not to this token. */
function hrefOfObject(problem: Problem, owners: Owners): string | undefined {
  const { noun } = problem;
  if (!can('read')) return undefined;
  if (noun === 'tokens') return pageHref('tokens');
  const owner = owners(problem);
  return owner && pageHref('paymaster', noun === 'contracts' ? { tab: 'contracts' } : {}, owner);
}

const runbooks = 'https://github.com/paymaster-operator/paymaster-operator/blob/main/';

/** The most severe last: figures are sorted from the largest. */
const grave = ['note', 'warning', 'critical'];

export function ProblemTable({
  caption,
  problems,
  owners,
}: {
  readonly caption: string;
  readonly problems: readonly Problem[];
  readonly owners: Owners;
}) {
  return (
    <Table
      caption={caption}
      id={({ check, noun, namespace, name, message }) =>
        JSON.stringify([check, noun, namespace, name, message])
      }
      rows={problems}
      columns={[
        {
          name: 'Severity',
          of: ({ severity }) => <Badge>{severity}</Badge>,
          by: ({ severity }) => grave.indexOf(severity),
        },
        {
          name: 'Resource',
          of: (problem) => {
            const href = hrefOfObject(problem, owners);
            const { displayName, noun } = problem;
            return (
              <>
                {href === undefined ? displayName : <a href={href}>{displayName}</a>}{' '}
                <span class="quiet">{noun}</span>
              </>
            );
          },
          by: ({ displayName }) => displayName,
        },
        { name: 'Problem', of: ({ message, meaning }) => <Prose>{message || meaning}</Prose> },
        {
          name: 'Fix',
          of: ({ remedy, runbook, check }) => (
            <>
              <Prose>{remedy}</Prose>{' '}
              <a
                href={`${runbooks}${runbook}`}
                target="_blank"
                rel="noreferrer"
                aria-label={`Runbook ${check}`}
              >
                Runbook
              </a>
            </>
          ),
        },
        {
          name: 'Since',
          of: ({ since }) => since && <Time>{since}</Time>,
          by: ({ since }) => since ?? undefined,
        },
      ]}
    />
  );
}
