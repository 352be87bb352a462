import type { Answers } from '../answers.js';
import { call, useLive } from '../api.js';
import { count, dollars } from '../format.js';
import { Download } from '../parts/download.js';
import { ChainCoins, OnChain } from '../parts/on-chain.js';
import { Card, Shown, Table } from '../parts/parts.js';
import { slowly } from './money-of.js';

type Statements = Answers['listStatements'];
type Account = Statements['items'][number];
type Line = Account['lines'][number];

const names: Readonly<Record<Line['line'], string>> = {
  opening: 'Opening balance',
  deposits: 'Deposits',
  withdrawals: 'Withdrawals',
  mined: 'Operations of',
  losses: 'Not paid in tokens, operations of',
  minedByOthers: 'Operations of other organisations',
  lossesOfOthers: 'Not paid in tokens, other organisations',
  burnt: 'Taken by operations besides',
  others: 'Not explained by any event',
  closing: 'Closing balance',
};

const ofPaymaster: readonly Line['line'][] = ['mined', 'losses'];

/** What each account that pays held at the begin and the end of a month, and what changed it. */
export function Statement({ month, paymasterId }: { readonly month: string; readonly paymasterId: string }) {
  const path = () =>
    `/manage/v1/statements?${new URLSearchParams({ month, ...(paymasterId && { paymasterId }) })}`;
  const statements = useLive(path(), () => call<Statements>(path()), slowly);
  return (
    <Card
      title="Statement of the accounts that pay"
      aside={<Download path={path} file={`statement-${month}.csv`} label="Save statement as CSV" />}
    >
      <Shown live={statements} empty="No account paid in this month.">
        {({ items }) => items.map((account) => <OneAccount key={accountName(account)} {...account} />)}
      </Shown>
    </Card>
  );
}

function accountName({ kind, account, contract, chainId }: Account): string {
  return `${chainId} ${kind} ${contract} ${account}`;
}

function OneAccount({ kind, account, chainId, lines }: Account) {
  const title = kind === 'deposit' ? 'Deposit of contract' : 'Balance of wallet';
  return (
    <>
      <h3>
        {title}{' '}
        <OnChain chainId={chainId} label={title.toLowerCase()}>
          {account}
        </OnChain>
      </h3>
      <Table
        caption={`${title} ${account}`}
        id={({ line, paymasterId }) => `${line} ${paymasterId}`}
        rows={lines.filter(isShown)}
        columns={[
          {
            name: 'Line',
            of: ({ line, paymaster }) => (
              <span class="chosen-name">
                {names[line]}
                {ofPaymaster.includes(line) && ` ${paymaster ?? 'a paymaster that nobody remembers'}`}
              </span>
            ),
          },
          {
            name: 'Number',
            isNumber: true,
            of: ({ count: number }) => (number === 0 ? null : count(number)),
          },
          {
            name: 'Amount',
            isNumber: true,
            of: ({ amount }) =>
              amount === null ? 'not known' : <ChainCoins chainId={chainId}>{amount}</ChainCoins>,
          },
          {
            name: 'US dollars',
            isNumber: true,
            of: ({ usd }) => (usd === null ? null : <span title={usd}>{dollars(usd)}</span>),
          },
          { name: 'Note', of: ({ note }) => note },
        ]}
      />
    </>
  );
}

/** Balances, and what moved, or is not known. */
function isShown({ line, amountWei, count: number }: Line): boolean {
  return line === 'opening' || line === 'closing' || line === 'others' || amountWei !== '0' || number !== 0;
}
