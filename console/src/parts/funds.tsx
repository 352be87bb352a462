import { hours } from '../format.js';
import type { Account } from '../records.js';
import { Copy } from './copy.js';
import { Coins, Hex } from './parts.js';
import { Table } from './table.js';

/** Accounts that pay for gas, and for how long they last. */
export function Funds({ accounts }: { readonly accounts: readonly Account[] }) {
  return (
    <Table
      caption="Accounts that pay"
      rows={accounts}
      columns={[
        {
          name: 'Account',
          of: ({ account, kind }) => (
            <>
              {kind === 'deposit' ? 'Deposit of contract ' : 'Balance of wallet '}
              <Hex>{account}</Hex>{' '}
              <Copy
                text={account}
                label={kind === 'deposit' ? 'contract with the deposit' : 'wallet that pays'}
              />
            </>
          ),
        },
        { name: 'Chain', of: ({ chainId }) => chainId },
        {
          name: 'Balance',
          isNumber: true,
          of: ({ balance }) => (balance === null ? 'not read yet' : <Coins>{balance}</Coins>),
        },
        { name: 'Promised', isNumber: true, of: ({ promised }) => <Coins>{promised}</Coins> },
        {
          name: 'Spent per hour, mean of 24 h',
          isNumber: true,
          of: ({ burnPerHour }) => <Coins>{burnPerHour}</Coins>,
        },
        { name: 'Lasts for', isNumber: true, of: ({ hoursLeft }) => hours(hoursLeft) },
      ]}
    />
  );
}
