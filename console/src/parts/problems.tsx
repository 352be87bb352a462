import type { Answers } from '../answers.js';
import { call, can } from '../api.js';
import { useLive, type Live } from '../live.js';
import { listOf } from '../paymasters.js';
import { hrefOf } from '../route.js';
import { Badge, Prose, Time } from './parts.js';
import { Table } from './table.js';

export type Problem = Answers['listProblems']['items'][number];
/** The name of the paymaster that the object of a problem is, or belongs to. */
export type Owners = (problem: Problem) => string | undefined;
type Problems = Answers['listProblems'] & { readonly owners: Owners };

export function useProblems(): Live<Problems> {
  return useLive(
    'problems',
    async () => {
      const found = await call<Answers['listProblems']>('/manage/v1/problems');
      return { ...found, owners: await ownersOf(found.items) };
    },
    15_000,
  );
}

const owned = ['contracts', 'policies'] as const;

/** Asks which paymaster objects belong to only where some of them have a problem. */
async function ownersOf(problems: readonly Problem[]): Promise<Owners> {
  const nouns = owned.filter((noun) => can('read') && problems.some((each) => each.noun === noun));
  const lists = await Promise.all(
    nouns.map(async (noun) => {
      const all = await listOf(noun);
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
  if (noun === 'tokens') return hrefOf('tokens');
  const owner = owners(problem);
  return owner && hrefOf('paymaster', noun === 'contracts' ? { tab: 'contracts' } : {}, owner);
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
