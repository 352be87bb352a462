import type { FeedEntry } from '../../core/ledger/feed.js';
import { splitLine } from '../../core/ledger/record-lines.js';
import type { AddedRecord } from '../../core/usage/usage-store.js';

/** The records of an entry as the store of usage has added them, whether or not they can be read. */
export function recordsIn({ text, reservation }: FeedEntry): readonly AddedRecord[] {
  if (!/^\d+(\n|$)/.test(text)) return [{ reservation, text }];
  const lines = text.split('\n');
  const first = 1 + Number(lines[0]);
  return lines.slice(first).map((line) => {
    const { number, ...record } = splitLine(line);
    const context = lines[1 + Number(number)];
    return number === '' || context === undefined ? record : { ...record, context };
  });
}
