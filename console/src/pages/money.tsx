import { call, can, type Live, useLive } from '../api.js';
import { count } from '../format.js';
import { Coin, slowly, Spent, TokenIncome, Tokens, Usd } from '../money/money-of.js';
import { readDates, isOwnRange, type Period, periodChoices, readPeriod } from '../money/period.js';
import { Statement } from '../money/statement.js';
import { sumRest, type Sum, sumByGroup, sumTotal } from '../money/sums.js';
import { Download } from '../parts/download.js';
import { Filter, TypedFilter } from '../parts/filter.js';
import { OnChain } from '../parts/on-chain.js';
import { Card, type Choice, type Column, Note, Shown, Table } from '../parts/parts.js';
import { listChoices, type Known, usePaymasters } from '../paymasters.js';
import type { Usage } from '../records.js';
import { choose, pageHref, route } from '../route.js';

const groups: readonly Choice[] = [
  ['paymaster', 'Paymaster'],
  ['method', 'Method'],
  ['sender', 'Account'],
  ['key', 'Key'],
];

/** Where the money goes: of a calendar month or a range of days, by whom, and with the statement of each account. */
export function Money() {
  const paymasters = usePaymasters();
  const { by = '', paymasterId = '' } = route.value.query;
  const groupBy = groups.some(([value]) => value === by) ? by : 'paymaster';
  const period = readPeriod(route.value.query, new Date());
  const { from, to, month } = period;
  const path = (group: string) => {
    const query = { from, to, step: 'month', groupBy: group, ...(paymasterId && { paymasterId }) };
    return `/manage/v1/usage?${new URLSearchParams(query)}`;
  };
  const useSums = (group: string): Live<Usage> =>
    useLive(path(group), () => call<Usage>(path(group)), slowly);
  const byChain = useSums('chain');
  const byGroup = useSums(groupBy);
  return (
    <>
      <div class="top">
        <h1>Money</h1>
        <Filters groupBy={groupBy} paymasterId={paymasterId} choices={listChoices(paymasters)} />
      </div>
      <p class="quiet">
        {period.title}, whole days in UTC
        {paymasterId !== '' && `, ${listChoices(paymasters).find(([id]) => id === paymasterId)?.[1] ?? ''}`}
      </p>
      <Shown
        live={byChain}
        isEmpty={({ items }) => sumByGroup(items).length === 0}
        empty="Nothing was spent in this time. Money counts when an operation is mined; choose another month, or see what was asked for under Usage."
      >
        {({ items }) => {
          const chains = sumByGroup(items);
          return (
            <>
              <div class="tiles">
                {chains.map((sum) => (
                  <Spent key={sum.group} sum={sum} />
                ))}
              </div>
              <TokenIncome chains={chains} />
              <Card
                title={`Spent by ${groupLabel(groupBy).toLowerCase()}`}
                aside={
                  <span class="row">
                    <Download
                      path={() => path(groupBy)}
                      file={`money-${fileName(period)}-by-${groupBy}.csv`}
                    />
                    <button type="button" onClick={() => print()}>
                      Print
                    </button>
                  </span>
                }
              >
                <Shown live={byGroup}>
                  {({ items: rows }) => (
                    <Groups
                      groupBy={groupBy}
                      sums={sumByGroup(rows)}
                      chains={chains}
                      paymasters={paymasters.data ?? []}
                    />
                  )}
                </Shown>
              </Card>
            </>
          );
        }}
      </Shown>
      {month === undefined ? (
        <p class="quiet">A statement of the accounts that pay is of a calendar month: choose one.</p>
      ) : (
        <Statement month={month} paymasterId={paymasterId} />
      )}
    </>
  );
}

function groupLabel(groupBy: string): string {
  return groups.find(([value]) => value === groupBy)?.[1] ?? '';
}

function fileName({ month, title }: Period): string {
  return month ?? title.replaceAll(' ', '-');
}

function Filters({
  groupBy,
  paymasterId,
  choices,
}: {
  readonly groupBy: string;
  readonly paymasterId: string;
  readonly choices: readonly Choice[];
}) {
  const now = new Date();
  const { query } = route.value;
  const dates = readDates(query, now);
  return (
    <form class="row" onSubmit={(event) => event.preventDefault()}>
      <Filter label="Period" of="period" value={query['period'] ?? ''} choices={periodChoices(now)} />
      {isOwnRange(query) &&
        (['from', 'to'] as const).map((of) => (
          <TypedFilter
            key={of}
            label={of === 'from' ? 'First day' : 'Last day'}
            type="date"
            value={dates[of]}
            onChoose={(chosen) => choose({ [of]: chosen })}
          />
        ))}
      <Filter label="By" of="by" value={groupBy} choices={groups} />
      <Filter label="Paymaster" of="paymasterId" value={paymasterId} choices={choices} />
    </form>
  );
}

function Groups({
  groupBy,
  sums,
  chains,
  paymasters,
}: {
  readonly groupBy: string;
  readonly sums: readonly Sum[];
  readonly chains: readonly Sum[];
  readonly paymasters: readonly Known[];
}) {
  const all = sumTotal(chains);
  const total = { ...all, group: 'total' };
  const rest = sumRest(all, sums);
  const only = chains.length === 1 ? Number(chains[0]?.group) : undefined;
  const findPaymaster = ({ group }: Sum) => paymasters.find(({ paymasterId }) => paymasterId === group);
  // A method belongs to a paymaster of one chain, too, but its name does not show which.
  const chainId = (sum: Sum) => only ?? (groupBy === 'paymaster' ? findPaymaster(sum)?.chainId : undefined);
  const label = groupLabel(groupBy);
  const renderName = (sum: Sum) => {
    if (sum === total) return <b>Total</b>;
    if (sum === rest) return 'no decision is recorded';
    if (groupBy === 'paymaster') return <PaymasterName sum={sum} paymaster={findPaymaster(sum)} />;
    if (groupBy === 'sender')
      return (
        <OnChain chainId={only} label="account">
          {sum.group}
        </OnChain>
      );
    return <span class="chosen-name">{formatGroup(groupBy, sum)}</span>;
  };
  const columns: readonly Column<Sum>[] = [
    { name: label, of: renderName, by: (sum) => sum.name ?? formatGroup(groupBy, sum) },
    { name: 'Mined', isNumber: true, of: ({ mined }) => count(mined), by: ({ mined }) => mined },
    {
      name: 'Reverted',
      isNumber: true,
      of: ({ reverted }) => count(reverted),
      by: ({ reverted }) => reverted,
    },
    {
      name: 'Spent',
      isNumber: true,
      // Coins of several chains are not one amount.
      of: (sum) => (sum === total && only === undefined ? null : <Coin sum={sum} chainId={chainId(sum)} />),
      by: ({ spentWei }) => spentWei,
    },
    {
      name: 'US dollars',
      isNumber: true,
      of: (sum) => <Usd sum={sum} chainId={chainId(sum)} />,
      by: ({ usd }) => usd,
    },
    { name: 'Paid in tokens', isNumber: true, of: (sum) => <Tokens sum={sum} chainId={chainId(sum)} /> },
  ];
  return (
    <>
      {only === undefined && groupBy !== 'paymaster' && (
        <Note kind="warn">
          Coins of several chains are added up in one row where it has spent on several. Choose one paymaster.
        </Note>
      )}
      <Table
        caption={`Spent by ${label.toLowerCase()}`}
        id={({ group }) => group}
        rows={rest === undefined ? sums : [...sums, rest]}
        columns={columns}
        total={total}
      />
      {groupBy === 'method' && (
        <p class="quiet">
          An operation that calls several methods counts in each; its money is divided among them.
        </p>
      )}
    </>
  );
}

function PaymasterName({ sum, paymaster }: { readonly sum: Sum; readonly paymaster: Known | undefined }) {
  const name = sum.name ?? 'a paymaster that nobody remembers';
  if (paymaster === undefined || !can('read')) return <span class="chosen-name">{name}</span>;
  return (
    <a class="chosen-name" href={pageHref('paymaster', { tab: 'money' }, paymaster.object)}>
      {name}
    </a>
  );
}

/** A method is the name of its contract, `:` and its selector. */
function formatGroup(groupBy: string, { group, method }: Sum): string {
  if (groupBy === 'key' && group === '(none)') return 'first apiKey';
  if (group === '(none)') return 'no call';
  if (group === 'other') return 'calls that are not registered';
  return method === null ? group : `${group.split(':')[0]}.${method}`;
}
