import type { LedgerEntry, LedgerSize } from '../../../core/ledger/ledger.js';

/** What a ledger whose tables have used up their bytes still takes. */
export type Room = { readonly inputs: boolean; readonly refusals: boolean };

/** Refusals may use so much more than the budget: inputs give way to them. */
const refusalsShare = 1.1;

/** Retention removes the oldest first; until it has, new ones are not written. A decision that was signed always is. */
export function roomOf({ used, capacity }: LedgerSize): Room {
  return { inputs: used < capacity, refusals: used < capacity * refusalsShare };
}

/** The entries that there is room for; and how many of the others there are, for a metric and a gap. */
export function entriesWithin(
  room: Room,
  entries: readonly LedgerEntry[],
): {
  readonly kept: readonly LedgerEntry[];
  readonly left: { readonly inputs: number; readonly refusals: number };
} {
  const left = { inputs: 0, refusals: 0 };
  const kept = entries.filter(({ record }) => {
    if (record.kind === 'inputs' && !room.inputs) left.inputs += 1;
    else if (record.kind === 'decision' && record.verdict === 'refused' && !room.refusals) left.refusals += 1;
    else return true;
    return false;
  });
  return { kept, left };
}
