import type { Answers } from '../answers.js';
import { call } from '../api.js';
import { coins, dollars } from '../format.js';
import { useLive } from '../live.js';
import { chainOf } from '../on-chain.js';
import { Funds } from '../parts/funds.js';
import { Card, Shown, Tile } from '../parts/parts.js';
import type { Known } from '../paymasters.js';
import type { Usage } from '../records.js';
import { hrefOf } from '../route.js';
import { startOfDay, startOfMonth } from '../range.js';
import { Funding } from './funding.js';

/** What a paymaster has spent, which accounts pay for it, and for how long they last. */
export function Money({
  paymaster,
  onChanged,
}: {
  readonly paymaster: Known;
  readonly onChanged: () => void;
}) {
  const { object, paymasterId, chainId } = paymaster;
  const spentSince = (from: string, step: string) => () => {
    const query = new URLSearchParams({ from, step, groupBy: 'paymaster', paymasterId });
    return call<Usage>(`/manage/v1/usage?${query}`);
  };
  const today = useLive(`spent today ${object}`, spentSince(startOfDay(), 'day'));
  const month = useLive(`spent month ${object}`, spentSince(startOfMonth(), 'month'));
  const funds = useLive('funds', () => call<Answers['getFunds']>('/manage/v1/funds'));
  return (
    <>
      <div class="tiles">
        <Spent label="Spent today (UTC)" usage={today.data} chainId={chainId} />
        <Spent label="Spent this month (UTC)" usage={month.data} chainId={chainId} />
        <Tile
          label="By method, account or key"
          value="All money"
          note="of any month, with its statement and CSV"
          href={hrefOf('money', { paymasterId, by: 'method' })}
        />
      </div>
      <Card title="Accounts that pay">
        <Shown
          live={funds}
          isEmpty={({ items }) => items.every(({ paymasters }) => !paymasters.includes(object))}
          empty="No account pays for it yet."
        >
          {({ items }) => <Funds accounts={items.filter(({ paymasters }) => paymasters.includes(object))} />}
        </Shown>
      </Card>
      <Card title="Who pays">
        <Funding paymaster={paymaster} onDone={onChanged} />
      </Card>
    </>
  );
}

function Spent({
  label,
  usage,
  chainId,
}: {
  readonly label: string;
  readonly usage: Usage | undefined;
  readonly chainId: number;
}) {
  const [row] = usage?.items ?? [];
  const usd = row?.spentUsd;
  return (
    <Tile
      label={label}
      value={usage === undefined ? '…' : `${coins(row?.spent ?? '0')} ${chainOf(chainId)?.symbol ?? 'coins'}`}
      note={typeof usd === 'string' ? `${dollars(usd)} US dollars` : ''}
    />
  );
}
