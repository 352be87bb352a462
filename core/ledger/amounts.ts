import type { AddressKey } from '../units/address.js';
import type { UsageRow } from './query.js';
import { noValue } from './shares.js';

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

/** Adds a row of usage to `sum` in place; `sign` -1: takes it away. */
export function addRow(sum: MutableAmounts, row: UsageRow, sign: 1 | -1 = 1): void {
  for (const name of ['asks', 'sponsored', 'refused', 'mined', 'reverted', 'expired'] as const)
    sum[name] += sign * row[name];
  for (const name of ['promisedWei', 'spentWei'] as const) sum[name] += BigInt(sign) * row[name];
  for (const { address, amount, decimals } of row.tokens)
    addToken(sum, address, { amount: BigInt(sign) * amount, decimals });
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

/**
 * Usage by key, with a row `(none)` in each step: what `all` of it has beyond the keys that have a name. Sums are kept of these alone, so
 * that paymasters without them cost nothing, and what was recorded before there were such keys adds up, too.
 */
export function withoutKey(named: readonly UsageRow[], all: readonly UsageRow[]): readonly UsageRow[] {
  const byStep = Map.groupBy(named, ({ from }) => from);
  return all.flatMap((row) => {
    const ofStep = byStep.get(row.from) ?? [];
    const { from, to } = row;
    const sum = noAmounts();
    addRow(sum, row);
    for (const each of ofStep) addRow(sum, each, -1);
    const rest = shownAmounts(sum);
    return isNothing(rest) ? ofStep : [{ from, to, group: noValue, ...rest }, ...ofStep];
  });
}

function isNothing({ tokens, ...sums }: ReturnType<typeof shownAmounts>): boolean {
  return tokens.length === 0 && Object.values(sums).every((sum) => BigInt(sum) === 0n);
}
