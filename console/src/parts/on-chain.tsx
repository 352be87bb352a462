import { short } from '../format.js';
import { chainOf, tokenOf } from '../on-chain.js';
import { Copy } from './copy.js';
import { Coins } from './parts.js';

/** What explorers show below their address. */
type Kind = 'address' | 'tx' | 'block';

/** An address, a hash or a block of a chain: to copy, and as a link where the chain has an explorer. `label` says which, for the button. */
export function OnChain({
  children,
  chainId,
  kind = 'address',
  label,
  isWhole = false,
}: {
  /** Null: not known. */
  readonly children: string | number | null;
  readonly chainId: number | undefined;
  readonly kind?: Kind;
  readonly label: string;
  /** Default: shortened, and the hint has all of it. */
  readonly isWhole?: boolean;
}) {
  if (children === null) return <>–</>;
  const text = String(children);
  const explorer = chainOf(chainId)?.explorer ?? undefined;
  const shown = <code title={text}>{isWhole ? text : short(text)}</code>;
  return (
    <span class={isWhole ? 'on-chain-whole' : 'on-chain'}>
      {explorer === undefined ? (
        shown
      ) : (
        <a href={`${explorer}/${kind}/${text}`} target="_blank" rel="noopener noreferrer">
          {shown}
        </a>
      )}{' '}
      <Copy text={text} label={label} />
    </span>
  );
}

/** An amount of the coin of a chain, with its symbol where it is known. */
export function ChainCoins({
  children,
  chainId,
}: {
  readonly children: string;
  readonly chainId: number | undefined;
}) {
  return (
    <span class="amount">
      <Coins>{children}</Coins> {chainOf(chainId)?.symbol ?? 'coins'}
    </span>
  );
}

/** A token by its symbol, else by its address. */
export function TokenName({
  address,
  chainId,
}: {
  readonly address: string;
  readonly chainId: number | undefined;
}) {
  const symbol = tokenOf(chainId, address)?.symbol;
  return (
    <>
      {symbol !== undefined && <>{symbol} </>}
      <OnChain chainId={chainId} label={`address of ${symbol ?? 'the token'}`}>
        {address}
      </OnChain>
    </>
  );
}
