import { createHash } from 'node:crypto';
import { invalidInput, quote } from '../../../core/errors.js';
import { isObject } from '../../../core/schema/json-value.js';
import { isRecordId } from '../../../core/ledger/record-id.js';
import type { Range } from '../../../core/ledger/steps.js';
import type { RecordId } from '../../../core/ledger/record.js';
import type { EpochMs } from '../../../core/units/time.js';
import { isWithin } from './range.js';

/** Where a page ends, and the range of its query: without `to`, the range would grow from page to page. */
type Position = Range & { readonly before: RecordId };

/** A text for the next page of a query. It says nothing that its caller does not know. */
export function formatCursor({ from, to, before }: Position, query: object): string {
  return Buffer.from(JSON.stringify({ from, to, before, query: fingerprint(query) })).toString('base64url');
}

/**
 * Throws INVALID_INPUT for a text that is not a cursor, or is the cursor of another query. Anyone can write a cursor, so
 * its range is judged like that of a query without one.
 */
export function parseCursor(text: string, query: object, maxDays: number): Position {
  const { from, to, before, query: made } = contentOf(text);
  const isRange = isTime(from) && isTime(to) && isWithin({ from, to }, maxDays);
  if (!isRange || typeof before !== 'string' || !isRecordId(before))
    throw invalidInput({ field: 'cursor', expected: 'the cursor of an answer', value: quote(text) });
  if (made !== fingerprint(query))
    throw invalidInput({ field: 'cursor', expected: 'of the same query: repeat all its other parameters' });
  return { from, to, before };
}

function contentOf(text: string): Readonly<Record<string, unknown>> {
  try {
    const content: unknown = JSON.parse(Buffer.from(text, 'base64url').toString());
    return isObject(content) ? content : {};
  } catch {
    return {};
  }
}

const isTime = (value: unknown): value is EpochMs =>
  Number.isSafeInteger(value) && (value as number) >= 0 && (value as number) < 8.64e15;

function fingerprint(query: object): string {
  const members = Object.entries(query)
    .filter(([, value]) => value !== undefined)
    .toSorted(([a], [b]) => (a < b ? -1 : 1));
  return createHash('sha256').update(JSON.stringify(members)).digest('base64url').slice(0, 16);
}
