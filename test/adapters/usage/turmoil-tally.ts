import { askOfRow, kindOf, microDollarsOf, sharesOf } from './turmoil.js';

type Row = Readonly<Record<string, unknown>>;
type Shares = ReadonlyMap<string, number>;

/** What limits must hold by the records of the ledger alone. */
export type Tally = {
  /** Of each live reservation, by its first record: what it holds of each counter. */
  readonly live: ReadonlyMap<string, Shares>;
  readonly counters: ReadonlyMap<string, { readonly used: number; readonly reserved: number }>;
};

/** `decisions` and `endings`: all rows of the ledger. */
export function tallyOf(decisions: readonly Row[], endings: readonly Row[]): Tally {
  const live = new Map<string, Shares>();
  const counters = new Map<string, { used: number; reserved: number }>();
  const endingsOf = Map.groupBy(endings, ({ reservation }) => String(reservation));
  for (const [name, rows] of Map.groupBy(decisions, ({ reservation }) => String(reservation))) {
    const shares = largestOf(rows);
    const { settlement = [], reversal = [] } = Object.groupBy(endingsOf.get(name) ?? [], ({ kind }) =>
      String(kind),
    );
    const isEnded = settlement.length > reversal.length;
    if (settlement.length - reversal.length > 1) throw new Error(`${name} has ended twice`);
    if (!isEnded) live.set(name, shares);
    for (const [counter, amount] of shares) {
      const known = counters.get(counter) ?? { used: 0, reserved: 0 };
      counters.set(counter, known);
      if (isEnded) known.used += spentOf(counter, amount, settlement.at(-1)!);
      else known.reserved += amount;
    }
    endingsOf.delete(name);
  }
  if (endingsOf.size > 0) throw new Error(`endings without a decision: ${[...endingsOf.keys()].join()}`);
  return { live, counters };
}

/** A reservation that was asked for several times holds the largest amount of each counter. */
function largestOf(rows: readonly Row[]): Shares {
  const shares = new Map<string, number>();
  for (const row of rows)
    for (const { counter, cost } of sharesOf(askOfRow(row)))
      shares.set(counter, Math.max(cost, shares.get(counter) ?? 0));
  return shares;
}

function spentOf(counter: string, amount: number, { outcome, actual_gas_cost_wei: actual }: Row): number {
  if (outcome === 'spent-elsewhere') return 0;
  const { unit } = kindOf(counter);
  if (outcome === 'expired' || unit === 'COUNT') return amount;
  return Math.min(amount, unit === 'USD' ? microDollarsOf(Number(actual)) : Number(actual));
}
