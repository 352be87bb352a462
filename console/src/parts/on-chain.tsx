import { signal } from '@preact/signals';
import type { Answers } from '../answers.js';
import { call, can, session } from '../api.js';
import { short } from '../format.js';
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
  const explorer = findChain(chainId)?.explorer ?? undefined;
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
      <Coins>{children}</Coins> {findChain(chainId)?.symbol ?? 'coins'}
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
  const symbol = findToken(chainId, address)?.symbol;
  return (
    <>
      {symbol !== undefined && <>{symbol} </>}
      <OnChain chainId={chainId} label={`address of ${symbol ?? 'the token'}`}>
        {address}
      </OnChain>
    </>
  );
}

type Chain = Answers['listChains']['items'][number];
type Token = Answers['listFeeTokens']['items'][number];

/** By path. */
const known = signal<Readonly<Record<string, unknown>>>({});
const asked = new Set<string>();
let askedBy: unknown;

/** What hardly changes is asked for once in a session, by the first part of a page that shows it. Undefined until it is there. */
function lasting<T>(path: string): T | undefined {
  if (askedBy !== session.value) {
    askedBy = session.value;
    asked.clear();
    known.value = {};
  }
  if (!asked.has(path) && can('read', 'finance')) {
    asked.add(path);
    const mine = askedBy;
    call<T>(path).then(
      (data) => {
        if (askedBy === mine) known.value = { ...known.value, [path]: data };
      },
      // The next part that needs it asks again; until then it shows ids instead of names.
      () => asked.delete(path),
    );
  }
  return known.value[path] as T | undefined;
}

/** A chain that the organisation may use. */
export function findChain(chainId: number | undefined): Chain | undefined {
  const chains = lasting<Answers['listChains']>('/manage/v1/chains');
  return chains?.items.find((chain) => chain.chainId === chainId);
}

/** A token in which accounts may pay. */
export function findToken(chainId: number | undefined, address: string): Token | undefined {
  if (findChain(chainId) === undefined) return undefined;
  const tokens = lasting<Answers['listFeeTokens']>(`/manage/v1/chains/${chainId}/tokens`);
  return tokens?.items.find((token) => token.address.toLowerCase() === address.toLowerCase());
}
