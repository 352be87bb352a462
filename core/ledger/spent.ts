import type { EpochMs } from '../units/time.js';
import { addDollars, dollarsAt, noDollars, type Dollars, type Prices } from './prices.js';
import type { UsageQuery } from './query.js';
import { rowRange } from './steps.js';

/** What was spent in each hour, so that each has its own price; for rows of a minute in each minute. */
export type SpentQuery = Pick<
  UsageQuery,
  'organisation' | 'paymasterId' | 'from' | 'to' | 'step' | 'groupBy'
>;

export type SpentRow = {
  /** Begin of the hour or minute. */
  readonly start: EpochMs;
  readonly paymasterId: string;
  readonly group: string;
  /** Undefined: of several chains. */
  readonly chainId: number | undefined;
  readonly spentWei: bigint;
};

/** More are not answered. */
export const maxSpentRows = 100_000;

/** Dollars by {@link spentName}. `groupOf`: the group of a row of usage. */
export function dollarsOfUsage(
  rows: readonly SpentRow[],
  query: SpentQuery,
  prices: Prices,
  groupOf: (row: SpentRow) => string | undefined,
): ReadonlyMap<string, Dollars> {
  const sums = new Map<string, Dollars>();
  for (const row of rows) {
    const { start, chainId, spentWei } = row;
    const name = spentName({ from: rowRange(start, query.step, query).from, group: groupOf(row) });
    const price = chainId === undefined ? undefined : prices(chainId, start);
    sums.set(name, addDollars(sums.get(name) ?? noDollars, dollarsAt(spentWei, start, price)));
  }
  return sums;
}

export function spentName({
  from,
  group,
}: {
  readonly from: EpochMs;
  readonly group: string | undefined;
}): string {
  return `${from} ${group ?? ''}`;
}
