import type { EpochMs } from '../units/time.js';
import { addAmounts, isNothing, shownAmounts, type Amounts } from './amounts.js';
import type { UsageQuery, UsageRow } from './query.js';
import { rowRange, type Range } from './steps.js';

/** The rows of an answer while roll-ups are added up. */
export type UsageSums = ReturnType<typeof createUsageSums>;

type Sum = { readonly range: Range; readonly group: string | undefined; readonly amounts: Amounts };

/** Memory is in proportion to the query's limit, however many values there are. */
export function createUsageSums(query: UsageQuery) {
  const most = query.limit + 1;
  let sums = new Map<string, Sum>();
  /** Rows from here on cannot be among the first `most`, because that many are before it. */
  let end: string | undefined;

  function ordered(): [string, Sum][] {
    return [...sums].sort(
      ([, a], [, b]) => a.range.from - b.range.from || ((a.group ?? '') < (b.group ?? '') ? -1 : 1),
    );
  }

  return {
    /** Adds sums of a time that lies in the query's range, for a value of its group. */
    add: (at: EpochMs, group: string | undefined, amounts: Amounts): void => {
      const range = rowRange(at, query.step, query);
      const key = rowKey(range.from, group);
      if (end !== undefined && key >= end) return;
      const sum = sums.get(key);
      // Most sums of a long answer are a single roll-up.
      if (sum === undefined) sums.set(key, { range, group, amounts });
      else sums.set(key, { range, group, amounts: sumOf(sum.amounts, amounts) });
      if (sums.size <= 4 * most + 1000) return;
      // Sums of nothing are not shown and must not push others out.
      const first = ordered().filter(([, { amounts: so }]) => !isNothing(so));
      end = first[most]?.[0];
      if (end !== undefined) sums = new Map(first.slice(0, most));
    },
    /** Ordered, without empty rows, at most one more than the query's limit. */
    rows: (): readonly UsageRow[] =>
      ordered()
        .filter(([, { amounts }]) => !isNothing(amounts))
        .slice(0, most)
        .map(([, { range, group, amounts }]) => ({
          ...range,
          group,
          ...shownAmounts(amounts),
          senders: undefined,
        })),
  };
}

function sumOf(a: Amounts, b: Amounts): Amounts {
  const sum = { ...a, tokens: new Map(a.tokens) };
  addAmounts(sum, b);
  return sum;
}

/** Orders rows by time, then by group. */
function rowKey(from: EpochMs, group: string | undefined): string {
  return `${String(from).padStart(15, '0')} ${group ?? ''}`;
}
