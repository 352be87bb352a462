import type { Answers } from '../answers.js';
import { call, can, useLive } from '../api.js';
import { coins, count, decimal, words } from '../format.js';
import { RangeFilter } from '../parts/filter.js';
import { Funds } from '../parts/funds.js';
import { Card, Shown, Tile } from '../parts/parts.js';
import { findRange, readUsage } from '../range.js';
import type { Usage } from '../records.js';
import { pageHref, route } from '../route.js';
import { GroupPlot, OperationsPlot } from '../usage-plot.js';
import { ProblemTable, useProblems } from './problems.js';

/** What the person on call and the owner ask first: does it work, what does it cost, and for how long does the money last. */
export function Overview() {
  const { range = '24h' } = route.value.query;
  const usageBy = (groupBy: string) => () => readUsage({ ...findRange(range), groupBy });
  const usage = useLive(`usage ${range}`, usageBy('paymaster'));
  const reasons = useLive(`reasons ${range}`, usageBy('reason'));
  const funds = useLive('funds', () => call<Answers['getFunds']>('/manage/v1/funds'));
  return (
    <>
      <div class="top">
        <h1>Overview</h1>
        <RangeFilter range={range} />
      </div>
      <Shown
        live={usage}
        empty={
          <>
            Nothing was asked for in this time. Choose a longer range
            {can('read') && (
              <>
                , or send a first operation: the <a href={pageHref('paymaster')}>paymaster</a> has the address
                for your wallet, and the <a href={pageHref('playground')}>playground</a> shows what would
                happen
              </>
            )}
            .
          </>
        }
      >
        {(data) => (
          <>
            <Tiles usage={data} />
            <div class="cards">
              <Card title="Operations over time">
                <OperationsPlot usage={data} />
              </Card>
              <Card title="Refusals by reason">
                <Shown
                  live={reasons}
                  isEmpty={({ items }) => items.every(({ refused }) => refused === 0)}
                  empty="Nothing was refused in this time."
                >
                  {(found) => (
                    <GroupPlot
                      title="Refusals by reason"
                      usage={found}
                      measure="refused"
                      nameOf={({ group }) => words(group ?? '')}
                    />
                  )}
                </Shown>
              </Card>
            </div>
          </>
        )}
      </Shown>
      {can('read', 'stop') && <Problems />}
      <Card title="Money that pays for gas">
        <Shown
          live={funds}
          empty={
            <>
              No account pays yet
              {can() && (
                <>
                  : create a <a href={pageHref('paymaster')}>paymaster</a>, then fund it
                </>
              )}
              .
            </>
          }
        >
          {({ items }) => <Funds accounts={items} />}
        </Shown>
      </Card>
    </>
  );
}

const maxFindings = 10;

/** What needs somebody, the gravest first. Nothing is shown while all is well. */
function Problems() {
  const { data } = useProblems();
  const findings = (data?.items ?? []).filter(({ severity }) => severity !== 'note');
  if (data === undefined || findings.length === 0) return null;
  const more = findings.length > maxFindings ? ` (${maxFindings} of ${findings.length} are here)` : '';
  return (
    <Card title="Problems" aside={<a href={pageHref('problems')}>All problems{more}</a>}>
      <ProblemTable caption="Problems" problems={findings.slice(0, maxFindings)} owners={data.owners} />
    </Card>
  );
}

function Tiles({ usage: { items: rows } }: { readonly usage: Usage }) {
  const sum = (name: 'sponsored' | 'refused' | 'mined' | 'reverted') =>
    rows.reduce((total, row) => total + row[name], 0);
  const asked = sum('sponsored') + sum('refused');
  const spentWei = rows.reduce((total, { spentWei: wei }) => total + BigInt(wei), 0n);
  const { range } = route.value.query;
  const activityHref = (verdict: string) => (can('read') ? pageHref('activity', { verdict }) : undefined);
  return (
    <div class="tiles">
      <Tile
        label="Sponsored"
        value={count(sum('sponsored'))}
        note={`of ${count(asked)} asked for`}
        href={activityHref('sponsored')}
      />
      <Tile
        label="Refused"
        value={count(sum('refused'))}
        note={asked === 0 ? '' : `${((100 * sum('refused')) / asked).toFixed(1)} %`}
        href={activityHref('refused')}
      />
      <Tile label="Mined" value={count(sum('mined'))} note={`${count(sum('reverted'))} of them reverted`} />
      <Tile
        label="Spent on gas"
        value={coins(decimal(spentWei, 18))}
        note="native coins"
        href={pageHref('usage', { range, measure: 'spent' })}
      />
    </div>
  );
}
