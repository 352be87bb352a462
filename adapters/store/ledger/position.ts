import type { Reader } from './reader.js';

/**
 * How far rows were read: the place of the first row of each table that was not. In SQLite a row's place is its number; one thread
 * writes. In PostgreSQL it is the number of the transaction that wrote it: rows of several transactions become visible in any
 * order, so a reader goes as far as the oldest transaction that may still commit, and no further.
 */
export type Position = { readonly decision: number; readonly settlement: number; readonly gap: number };

/** How far the sums have come. */
export type Mark = Position & {
  /** PostgreSQL: of which server the numbers of transactions are, and how many servers there were before. */
  readonly system: string | undefined;
  readonly era: number;
};

export async function readMark({ dialect, query }: Reader): Promise<Mark> {
  const [row] = await query(`SELECT * FROM ${dialect.table('mark')}`);
  if (row === undefined) throw new TypeError('the ledger has no mark of its sums');
  const { decision, settlement, gap, system_identifier: system, era } = row;
  return {
    decision: Number(decision),
    settlement: Number(settlement),
    gap: Number(gap),
    system: typeof system === 'string' ? system : undefined,
    era: Number(era ?? 0),
  };
}
