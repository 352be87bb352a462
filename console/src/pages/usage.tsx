import { call, useLive } from '../api.js';
import { count, words } from '../format.js';
import { Download } from '../parts/download.js';
import { Filter, RangeFilter } from '../parts/filter.js';
import { Card, type Choice, Coins, type Column, Note, Shown, Table, Time } from '../parts/parts.js';
import { listChoices, findName, usePaymasters } from '../paymasters.js';
import { findRange } from '../range.js';
import type { Usage as UsageRecord, UsageRow } from '../records.js';
import { route } from '../route.js';
import { GroupPlot, type Measure, measures } from '../usage-plot.js';

const groups: readonly Choice[] = [
  ['paymaster', 'Paymaster'],
  ['chain', 'Chain'],
  ['contract', 'Contract'],
  ['method', 'Method'],
  ['policy', 'Policy'],
  ['wouldRefuse', 'Policy in Shadow that would refuse'],
  ['campaign', 'Campaign'],
  ['key', 'Key'],
  ['mode', 'Mode'],
  ['reason', 'Reason of refusal'],
  ['sender', 'Account'],
];

export function Usage() {
  const paymasters = usePaymasters();
  const { range = '7d', groupBy = 'method', paymasterId = '', ...rest } = route.value.query;
  const measure: Measure = Object.hasOwn(measures, rest['measure'] ?? '')
    ? (rest['measure'] as Measure)
    : 'sponsored';
  const path = () => {
    const { from, step } = findRange(range);
    // By account only whole days are counted.
    const whole = groupBy === 'sender' && (step === 'minute' || step === 'hour') ? 'day' : step;
    return `/manage/v1/usage?${new URLSearchParams({ from, step: whole, groupBy, ...(paymasterId && { paymasterId }) })}`;
  };
  const usage = useLive(`${range} ${groupBy} ${paymasterId}`, () => call<UsageRecord>(path()));
  const nameOfRow = ({ group, method }: UsageRow): string => {
    if (groupBy === 'key' && group === '(none)') return 'first apiKey';
    if (group === null || group === '(none)') return 'none';
    if (groupBy === 'paymaster') return findName(paymasters, group);
    if (groupBy === 'reason') return words(group);
    return method === null ? group : `${group.split(':')[0]}.${method}`;
  };
  return (
    <>
      <div class="top">
        <h1>Usage</h1>
        <form class="row" onSubmit={(event) => event.preventDefault()}>
          <RangeFilter range={range} />
          <Filter label="By" of="groupBy" value={groupBy} choices={groups} />
          <Filter
            label="Plot"
            of="measure"
            value={measure}
            choices={Object.entries(measures).map(([value, [label]]) => [value, label])}
          />
          <Filter label="Paymaster" of="paymasterId" value={paymasterId} choices={listChoices(paymasters)} />
        </form>
      </div>
      <Shown
        live={usage}
        empty="Nothing was asked for in this time. Choose a longer range, or all paymasters."
      >
        {(data) => (
          <>
            {!data.additive && (
              <Note kind="warn">An operation may count in several rows, so they do not add up.</Note>
            )}
            <Card title={`${measures[measure][0]} over time`}>
              <GroupPlot
                title={`${measures[measure][0]} over time`}
                usage={data}
                measure={measure}
                nameOf={nameOfRow}
              />
            </Card>
            <Card title="All figures" aside={<Download path={path} file="usage.csv" />}>
              <Table
                caption="All figures"
                id={({ from, group }) => `${from} ${group}`}
                rows={data.items}
                columns={usageColumns(groups.find(([of]) => of === groupBy)?.[1] ?? groupBy, nameOfRow)}
              />
            </Card>
          </>
        )}
      </Shown>
    </>
  );
}

function usageColumns(label: string, name: (row: UsageRow) => string): readonly Column<UsageRow>[] {
  const counted = (['asks', 'sponsored', 'refused', 'mined', 'reverted', 'expired'] as const).map((of) => ({
    name: words(of),
    isNumber: true,
    of: (row: UsageRow) => count(row[of]),
    by: (row: UsageRow) => row[of],
  }));
  return [
    { name: 'From', of: ({ from }) => <Time>{from}</Time>, by: ({ from }) => from },
    { name: label, of: name, by: name },
    ...counted,
    {
      name: 'Promised',
      isNumber: true,
      of: ({ promised }) => <Coins>{promised}</Coins>,
      by: ({ promisedWei }) => BigInt(promisedWei),
    },
    {
      name: 'Spent',
      isNumber: true,
      of: ({ spent }) => <Coins>{spent}</Coins>,
      by: ({ spentWei }) => BigInt(spentWei),
    },
  ];
}
