import type { Answers } from '../answers.js';
import { call, can, useLive } from '../api.js';
import { type Owners, useProblems } from '../pages/problems.js';
import { OutcomeNote, useOutcome } from '../parts/form.js';
import { findChain } from '../parts/on-chain.js';
import { Card, Coins, Table } from '../parts/parts.js';
import type { Known } from '../paymasters.js';
import { startOfDay, readUsage } from '../range.js';
import type { Limit } from '../records.js';
import { pageHref } from '../route.js';
import { Meter } from './objects.js';
import { usedShare } from './rules.js';
import { State, Suspension } from './suspension.js';

/** The paymasters of the organisation: what each is doing, and whether it needs somebody. */
export function PaymasterTable({
  all,
  onChanged,
}: {
  readonly all: readonly Known[];
  readonly onChanged: () => void;
}) {
  const { outcome, run } = useOutcome(onChanged);
  const usage = useLive('spent today', () =>
    readUsage({ from: startOfDay(), step: 'day', groupBy: 'paymaster' }),
  );
  const limits = useLive('limits', async () => (await call<Answers['getLimits']>('/manage/v1/limits')).items);
  const problems = useProblems();
  const spentBy = ({ paymasterId }: Known) => {
    if (usage.data === undefined) return undefined;
    return usage.data.items.find(({ group }) => group === paymasterId)?.spent ?? '0';
  };
  const problemCount = ({ object }: Known) =>
    countProblems(object, problems.data?.items ?? [], problems.data?.owners);
  return (
    <Card title="Paymasters of this organisation">
      <OutcomeNote outcome={outcome} />
      <Table
        caption="Paymasters"
        id={({ object }) => object}
        rows={all}
        columns={[
          {
            name: 'Paymaster',
            of: ({ object, name }) => (
              <a class="row-link" href={pageHref('paymaster', {}, object)}>
                {name}
              </a>
            ),
            by: ({ name }) => name,
          },
          {
            name: 'State',
            of: (one) => <State {...one} />,
            by: (one) => (one.isSuspended ? 2 : one.down ? 1 : 0),
          },
          {
            name: 'Chain',
            of: (one) => findChain(one.chainId)?.name ?? one.chainId,
            by: (one) => findChain(one.chainId)?.name ?? String(one.chainId),
          },
          {
            name: 'Spent today (UTC)',
            isNumber: true,
            of: (one) => {
              const spent = spentBy(one);
              return (
                spent !== undefined && (
                  <>
                    <Coins>{spent}</Coins> {findChain(one.chainId)?.symbol}
                  </>
                )
              );
            },
            by: (one) => Number(spentBy(one) ?? 0),
          },
          {
            name: 'Nearest limit',
            of: (one) => <Nearest limits={limits.data ?? []} of={one} />,
            by: (one) => findNearestLimit(limits.data ?? [], one)?.share,
          },
          {
            name: 'Problems',
            isNumber: true,
            of: (one) => {
              const count = problemCount(one);
              return count === 0 ? null : <a href={pageHref('problems')}>{count}</a>;
            },
            by: problemCount,
          },
          can('stop') && {
            name: 'Change',
            of: (one) => <Suspension paymaster={one} run={run} />,
          },
        ]}
      />
    </Card>
  );
}

function findNearestLimit(limits: readonly Limit[], { paymasterId }: Known) {
  const known = limits
    .filter((limit) => limit.paymasterId === paymasterId)
    .map((limit) => ({ name: limit.name, share: usedShare(limit) }))
    .filter((each): each is { name: string; share: number } => each.share !== undefined);
  return known.toSorted((a, b) => b.share - a.share)[0];
}

function Nearest({ limits, of }: { readonly limits: readonly Limit[]; readonly of: Known }) {
  const nearest = findNearestLimit(limits, of);
  if (nearest === undefined) return <span class="quiet">no shared limit</span>;
  return (
    <>
      <Meter {...nearest} /> {Math.round(nearest.share * 100)} % <span class="quiet">{nearest.name}</span>
    </>
  );
}

type Items = NonNullable<ReturnType<typeof useProblems>['data']>['items'];

/** Problems of the paymaster and of its objects, without notes, which may be intended. */
function countProblems(object: string, items: Items, owners: Owners | undefined): number {
  return items.filter((each) => each.severity !== 'note' && owners?.(each) === object).length;
}
