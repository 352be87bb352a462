import type { UsageRow } from '../../../core/ledger/query.js';
import type { EpochMs } from '../../../core/units/time.js';

/**
 * Rows of usage on their way out of the worker, column by column: thousands of objects take several times as long to
 * clone, and the thread that signs does half of that work.
 */
export type PackedRows = {
  readonly numbers: Readonly<Record<NumberColumn, Float64Array>>;
  readonly groups: readonly UsageRow['group'][];
  readonly promisedWei: readonly bigint[];
  readonly spentWei: readonly bigint[];
  readonly senders: readonly UsageRow['senders'][];
  /** Of the rows that have any, by their place. */
  readonly tokens: ReadonlyMap<number, UsageRow['tokens']>;
};

const numberColumns = ['from', 'to', 'sponsored', 'refused', 'mined', 'reverted', 'expired'] as const;
type NumberColumn = (typeof numberColumns)[number];

export function packRows(rows: readonly UsageRow[]): PackedRows {
  const numbers = Object.fromEntries(
    numberColumns.map((name) => [name, new Float64Array(rows.map((row) => row[name]))]),
  ) as PackedRows['numbers'];
  const withTokens = [...rows.entries()].filter(([, { tokens }]) => tokens.length > 0);
  return {
    numbers,
    groups: rows.map(({ group }) => group),
    promisedWei: rows.map(({ promisedWei }) => promisedWei),
    spentWei: rows.map(({ spentWei }) => spentWei),
    senders: rows.map(({ senders }) => senders),
    tokens: new Map(withTokens.map(([index, { tokens }]) => [index, tokens])),
  };
}

export function unpackRows(packed: PackedRows): readonly UsageRow[] {
  const { numbers, groups, promisedWei, spentWei, senders, tokens } = packed;
  const numberOf = (name: NumberColumn, index: number): number => numbers[name][index] ?? 0;
  return groups.map((group, index) => ({
    from: numberOf('from', index) as EpochMs,
    to: numberOf('to', index) as EpochMs,
    group,
    sponsored: numberOf('sponsored', index),
    refused: numberOf('refused', index),
    mined: numberOf('mined', index),
    reverted: numberOf('reverted', index),
    expired: numberOf('expired', index),
    promisedWei: promisedWei[index] ?? 0n,
    spentWei: spentWei[index] ?? 0n,
    senders: senders[index],
    tokens: tokens.get(index) ?? [],
  }));
}
