import type { AddressKey } from '../units/address.js';
import type { UsageRow } from './query.js';

/** The sums of a row of usage. Money is wei; amounts of tokens are in the token's smallest unit. */
export type Amounts = Omit<UsageRow, 'from' | 'to' | 'group' | 'tokens'> & {
  /** By address. */
  readonly tokens: ReadonlyMap<AddressKey, TokenSum>;
};
type TokenSum = { readonly amount: bigint; readonly decimals: number | undefined };

export type MutableAmounts = { -readonly [Name in keyof Omit<Amounts, 'tokens'>]: Amounts[Name] } & {
  /** Only {@link addToken} changes it. */
  tokens: Map<AddressKey, TokenSum>;
};

/** Most sums have no tokens, and there are thousands of sums: a map is made with the first token. */
const noTokens: MutableAmounts['tokens'] = new Map();

export function noAmounts(): MutableAmounts {
  return {
    asks: 0,
    sponsored: 0,
    refused: 0,
    mined: 0,
    reverted: 0,
    expired: 0,
    promisedWei: 0n,
    spentWei: 0n,
    tokens: noTokens,
  };
}

/** Adds to `sum` in place. */
export function addAmounts(sum: MutableAmounts, more: Amounts): void {
  sum.asks += more.asks;
  sum.sponsored += more.sponsored;
  sum.refused += more.refused;
  sum.mined += more.mined;
  sum.reverted += more.reverted;
  sum.expired += more.expired;
  sum.promisedWei += more.promisedWei;
  sum.spentWei += more.spentWei;
  for (const [address, token] of more.tokens) addToken(sum, address, token);
}

export function addToken(sum: MutableAmounts, address: AddressKey, { amount, decimals }: TokenSum): void {
  const before = sum.tokens.get(address);
  if (sum.tokens === noTokens) sum.tokens = new Map();
  sum.tokens.set(address, {
    amount: (before?.amount ?? 0n) + amount,
    decimals: decimals ?? before?.decimals,
  });
}

/** As a row of usage shows them: by address, without those of which nothing is left. */
function shownTokens({ tokens }: Amounts): UsageRow['tokens'] {
  // A long answer has thousands of rows, most of them without tokens.
  if (tokens.size === 0) return [];
  return [...tokens]
    .filter(([, { amount }]) => amount !== 0n)
    .map(([address, { amount, decimals }]) => ({ address, decimals, amount }))
    .sort((a, b) => (a.address < b.address ? -1 : 1));
}

export function shownAmounts(amounts: Amounts): Omit<UsageRow, 'from' | 'to' | 'group'> {
  return { ...amounts, tokens: shownTokens(amounts) };
}
