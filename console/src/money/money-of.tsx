import { Fragment } from 'preact';
import { coins, count, decimal, dollars } from '../format.js';
import { ChainCoins, findChain, TokenName, findToken } from '../parts/on-chain.js';
import { Card, Table, Tile } from '../parts/parts.js';
import { type Sum, type TokenSum, formatUsd } from './sums.js';

/** Money of months hardly changes while somebody looks, and is expensive to ask for. */
export const slowly = 60_000;

type Of = { readonly sum: Sum; readonly chainId: number | undefined };

export function Coin({ sum: { spentWei }, chainId }: Of) {
  return <ChainCoins chainId={chainId}>{decimal(spentWei, 18)}</ChainCoins>;
}

/** Dollars of amounts with a price. Amounts without one are shown apart, and never guessed. */
export function Usd({ sum, chainId }: Of) {
  const usd = formatUsd(sum);
  if (usd === undefined) return sum.unpricedWei === 0n ? <span class="none">–</span> : <>no price</>;
  return (
    <>
      <span title={usd}>{dollars(usd)}</span>
      {sum.unpricedWei !== 0n && (
        <>
          {' '}
          <span class="quiet">
            without <ChainCoins chainId={chainId}>{decimal(sum.unpricedWei, 18)}</ChainCoins>
          </span>
        </>
      )}
    </>
  );
}

/** Of one chain, by its id as the group. */
export function Spent({ sum }: { readonly sum: Sum }) {
  const chain = findChain(Number(sum.group));
  const usd = formatUsd(sum);
  const symbol = chain?.symbol ?? 'coins';
  const unpriced = sum.unpricedWei === 0n ? '' : ` without ${coins(decimal(sum.unpricedWei, 18))} ${symbol}`;
  return (
    <Tile
      label={`Spent on ${chain?.name ?? `chain ${sum.group}`}`}
      value={`${coins(decimal(sum.spentWei, 18))} ${symbol}`}
      note={`${usd === undefined ? 'no price in dollars' : `${dollars(usd)} US dollars${unpriced}`} · ${count(sum.mined)} operations`}
    />
  );
}

/** By token; nothing while no account paid in any. */
export function TokenIncome({ chains }: { readonly chains: readonly Sum[] }) {
  const rows = chains.flatMap(({ group, tokens }) =>
    tokens.map((token) => ({ ...token, chainId: Number(group) })),
  );
  if (rows.length === 0) return null;
  return (
    <Card title="Token income">
      <Table
        caption="Token income"
        id={({ chainId, address }) => `${chainId} ${address}`}
        rows={rows}
        columns={[
          {
            name: 'Token',
            of: ({ address, chainId }) => <TokenName address={address} chainId={chainId} />,
            by: ({ address, chainId }) => findToken(chainId, address)?.symbol ?? address,
          },
          {
            name: 'Chain',
            of: ({ chainId }) => findChain(chainId)?.name ?? chainId,
            by: ({ chainId }) => chainId,
          },
          {
            name: 'Paid by accounts',
            isNumber: true,
            of: (token) => <TokenAmount {...token} />,
            by: ({ amount }) => amount,
          },
        ]}
      />
    </Card>
  );
}

export function Tokens({ sum: { tokens }, chainId }: Of) {
  return tokens.length === 0 ? (
    <span class="none">–</span>
  ) : (
    <>
      {tokens.map((token, index) => (
        <Fragment key={token.address}>
          {index > 0 && ', '}
          <TokenAmount {...token} chainId={chainId} />
        </Fragment>
      ))}
    </>
  );
}

function TokenAmount({
  address,
  decimals,
  amount,
  chainId,
}: TokenSum & { readonly chainId: number | undefined }) {
  const exact = decimals === null ? String(amount) : decimal(amount, decimals);
  const symbol = findToken(chainId, address)?.symbol;
  return (
    <span class="amount">
      <span title={exact}>{coins(exact)}</span>{' '}
      {symbol ?? (decimals === null ? `units of ${address.slice(0, 8)}…` : `of ${address.slice(0, 8)}…`)}
    </span>
  );
}
