import { addAmounts, noAmounts, shownAmounts, type Amounts } from './amounts.js';
import type { UsageRow } from './query.js';
import { noValue } from './shares.js';

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
    addAmounts(sum, amountsOf(row, 1));
    for (const each of ofStep) addAmounts(sum, amountsOf(each, -1));
    const rest = shownAmounts(sum);
    return isNothing(rest) ? ofStep : [{ from, to, group: noValue, ...rest }, ...ofStep];
  });
}

function amountsOf({ tokens, ...row }: UsageRow, sign: 1 | -1): Amounts {
  return {
    asks: sign * row.asks,
    sponsored: sign * row.sponsored,
    refused: sign * row.refused,
    mined: sign * row.mined,
    reverted: sign * row.reverted,
    expired: sign * row.expired,
    promisedWei: BigInt(sign) * row.promisedWei,
    spentWei: BigInt(sign) * row.spentWei,
    tokens: new Map(
      tokens.map(({ address, amount, decimals }) => [address, { amount: BigInt(sign) * amount, decimals }]),
    ),
  };
}

function isNothing({ tokens, ...sums }: ReturnType<typeof shownAmounts>): boolean {
  return tokens.length === 0 && Object.values(sums).every((sum) => BigInt(sum) === 0n);
}
