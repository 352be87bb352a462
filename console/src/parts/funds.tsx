import { dollars, hours } from '../format.js';
import type { Account } from '../records.js';
import { ChainCoins, findChain, OnChain } from './on-chain.js';
import { Table } from './parts.js';

/** Accounts that pay for gas, and for how long they last. */
export function Funds({ accounts }: { readonly accounts: readonly Account[] }) {
  return (
    <Table
      caption="Accounts that pay"
      id={({ chainId, kind, account }) => `${chainId} ${kind} ${account}`}
      rows={accounts}
      columns={[
        {
          name: 'Account',
          of: ({ account, kind, chainId }) => (
            <>
              {kind === 'deposit' ? 'Deposit of contract ' : 'Balance of wallet '}
              <OnChain
                chainId={chainId}
                label={kind === 'deposit' ? 'contract with the deposit' : 'wallet that pays'}
              >
                {account}
              </OnChain>
            </>
          ),
          by: ({ kind, account }) => `${kind} ${account}`,
        },
        {
          name: 'Chain',
          of: ({ chainId }) => findChain(chainId)?.name ?? chainId,
          by: ({ chainId }) => chainId,
        },
        {
          name: 'Balance',
          isNumber: true,
          of: ({ balance, balanceUsd, chainId }) =>
            balance === null ? 'not read yet' : <Worth coins={balance} usd={balanceUsd} chainId={chainId} />,
          by: ({ balanceWei }) => (balanceWei === null ? undefined : BigInt(balanceWei)),
        },
        {
          name: 'Promised',
          isNumber: true,
          of: ({ promised, promisedUsd, chainId }) => (
            <Worth coins={promised} usd={promisedUsd} chainId={chainId} />
          ),
          by: ({ promisedWei }) => BigInt(promisedWei),
        },
        {
          name: 'Spent per hour, mean of 24 h',
          isNumber: true,
          of: ({ burnPerHour, burnUsdPerHour, chainId }) => (
            <Worth coins={burnPerHour} usd={burnUsdPerHour} chainId={chainId} />
          ),
          by: ({ burnWeiPerHour }) => BigInt(burnWeiPerHour),
        },
        {
          name: 'Lasts for',
          isNumber: true,
          of: ({ hoursLeft }) => hours(hoursLeft),
          by: ({ hoursLeft }) => hoursLeft ?? undefined,
        },
      ]}
    />
  );
}

/** In coins, and in dollars where the coin has a price now. */
function Worth({
  coins,
  usd,
  chainId,
}: {
  readonly coins: string;
  readonly usd: string | null;
  readonly chainId: number;
}) {
  return (
    <>
      <ChainCoins chainId={chainId}>{coins}</ChainCoins>
      {usd !== null && Number(usd) !== 0 && (
        <span class="quiet amount usd" title={usd}>
          {' '}
          {dollars(usd)} USD
        </span>
      )}
    </>
  );
}
