import { decimal } from '../format.js';
import type { UsageRow } from '../records.js';

/** The money of one value of a group, over all months of a period. Whole numbers: nothing is rounded when they are added. */
export type Sum = {
  readonly group: string;
  readonly name: string | null;
  readonly method: string | null;
  readonly mined: number;
  readonly reverted: number;
  readonly spentWei: bigint;
  /** Millionths of a dollar, for the part that has a price. Undefined: the service does not know it. */
  readonly usd: bigint | undefined;
  /** The part of `spentWei` that has no price. */
  readonly unpricedWei: bigint;
  readonly tokens: readonly TokenSum[];
};

export type TokenSum = {
  readonly address: string;
  readonly decimals: number | null;
  readonly amount: bigint;
};

const none: Sum = {
  group: '',
  name: null,
  method: null,
  mined: 0,
  reverted: 0,
  spentWei: 0n,
  usd: 0n,
  unpricedWei: 0n,
  tokens: [],
};

/** One for each group, the biggest first. */
export function sumByGroup(rows: readonly UsageRow[]): readonly Sum[] {
  return [...Map.groupBy(rows, ({ group }) => group ?? '')]
    .map(([group, ofGroup]) => ({ ...sumTotal(ofGroup.map(toSum)), group, ...groupNames(ofGroup) }))
    .filter(({ spentWei, mined, tokens }) => spentWei !== 0n || mined !== 0 || tokens.length > 0)
    .toSorted((a, b) => (a.spentWei === b.spentWei ? 0 : a.spentWei < b.spentWei ? 1 : -1));
}

export function sumTotal(sums: readonly Sum[]): Sum {
  return sums.reduce(plus, none);
}

/** What is in no group, since not every operation has a known account. Undefined: nothing is left. */
export function sumRest(total: Sum, sums: readonly Sum[]): Sum | undefined {
  const named = sumTotal(sums);
  const tokens = named.tokens.map((token) => ({ ...token, amount: -token.amount }));
  const rest = plus(total, { ...none, usd: undefined, spentWei: -named.spentWei, tokens });
  const left = { ...rest, mined: 0, reverted: 0, tokens: rest.tokens.filter(({ amount }) => amount !== 0n) };
  return left.spentWei === 0n && left.tokens.length === 0 ? undefined : left;
}

/** In dollars, and what of it has no price. Undefined where the service does not say, or nothing of it has a price. */
export function formatUsd({ usd, spentWei, unpricedWei }: Sum): string | undefined {
  if (usd === undefined || (spentWei !== 0n && unpricedWei === spentWei)) return undefined;
  return decimal(usd, 6);
}

function toSum(row: UsageRow): Sum {
  const isSaid = row.unpricedWei !== null;
  return {
    ...none,
    mined: row.mined,
    reverted: row.reverted,
    spentWei: BigInt(row.spentWei),
    usd: isSaid ? millionths(row.spentUsd ?? '0') : undefined,
    unpricedWei: BigInt(row.unpricedWei ?? '0'),
    tokens: row.tokens.map(({ address, decimals, amount }) => ({
      address,
      decimals,
      amount: BigInt(amount),
    })),
  };
}

function plus(a: Sum, b: Sum): Sum {
  return {
    ...a,
    mined: a.mined + b.mined,
    reverted: a.reverted + b.reverted,
    spentWei: a.spentWei + b.spentWei,
    usd: a.usd === undefined || b.usd === undefined ? undefined : a.usd + b.usd,
    unpricedWei: a.unpricedWei + b.unpricedWei,
    tokens: [...Map.groupBy([...a.tokens, ...b.tokens], ({ address }) => address)].map(([address, same]) => ({
      address,
      decimals: same.find(({ decimals }) => decimals !== null)?.decimals ?? null,
      amount: same.reduce((sum, { amount }) => sum + amount, 0n),
    })),
  };
}

function groupNames(rows: readonly UsageRow[]): Pick<Sum, 'name' | 'method'> {
  const [{ name, method } = none] = rows;
  return { name, method };
}

/** Of decimal text with at most six decimals. */
function millionths(text: string): bigint {
  const [whole = '0', fraction = ''] = text.split('.');
  return BigInt(whole + fraction.padEnd(6, '0').slice(0, 6));
}
