import type { RecordId } from '../../../core/ledger/record.js';
import { textOf } from '../../sqlite/row.js';
import type { MonthFile } from './month-file.js';

/**
 * Finds decisions by texts that come in no order. One index over a month would make every insert touch random pages of
 * a tree that does not fit in memory. Here a segment of some 65,000 decisions has a tree of its own within the table:
 * inserts stay within the newest (about 8 MB), and a search looks once into each.
 */
export type SearchTerms = {
  readonly sender?: string | undefined;
  readonly requestId?: string | undefined;
  readonly userOpHash?: string | undefined;
};

/** Searches by the first of these that a query names; it has the fewest decisions. */
const terms = ['userOpHash', 'requestId', 'sender'] as const satisfies (keyof SearchTerms)[];
const decisionsPerSegment = 65_536;
const pageRows = 64;

/** `place`: of the newest decision. */
export function addToLookup(
  month: MonthFile,
  organisation: number,
  place: number,
  id: RecordId,
  values: SearchTerms,
): void {
  const insert = month.statement(
    'INSERT INTO lookup (segment, hash, id) VALUES (?, ?, ?) ON CONFLICT DO NOTHING',
  );
  for (const term of terms) {
    const value = values[term];
    if (value !== undefined) insert.run(segmentOf(place), hashOf(organisation, term, value), id);
  }
}

/**
 * For each segment, ids of decisions that may have the most selective of the terms, the highest first; the caller
 * compares, since other texts can have the same hash. Undefined if there is no term to search by.
 */
export function searchLookup(
  month: MonthFile,
  organisation: number,
  query: SearchTerms,
  before: RecordId,
): Iterator<RecordId>[] | undefined {
  const term = terms.find((one) => query[one] !== undefined);
  if (term === undefined) return undefined;
  const hash = hashOf(organisation, term, query[term] ?? '');
  const row = month.statement('SELECT MAX(segment) AS last FROM lookup').get();
  const segments = Number(row?.['last'] ?? -1) + 1;
  return [...Array(segments).keys()].map((segment) => idsOf(month, segment, hash, before));
}

function* idsOf(month: MonthFile, segment: number, hash: number, before: RecordId): Generator<RecordId> {
  const page = month.statement(
    `SELECT id FROM lookup WHERE segment = ? AND hash = ? AND id < ? ORDER BY id DESC LIMIT ${pageRows}`,
  );
  for (let end = before; ;) {
    const ids = page.all(segment, hash, end).map((row) => textOf(row, 'id'));
    yield* ids;
    const last = ids.at(-1);
    if (last === undefined || ids.length < pageRows) return;
    end = last;
  }
}

function segmentOf(place: number): number {
  return Math.floor(place / decisionsPerSegment);
}

/** 52 bits (two FNV-1a hashes). Collisions cost time, not correctness. */
function hashOf(organisation: number, term: keyof SearchTerms, value: string): number {
  const text = `${organisation} ${term} ${value}`;
  let low = 0x811c9dc5;
  let high = 0x01000193;
  for (let index = 0; index < text.length; index += 1) {
    const code = text.charCodeAt(index);
    low = Math.imul(low ^ code, 0x01000193);
    high = Math.imul(high ^ code, 0x85ebca6b);
  }
  return (high >>> 12) * 2 ** 32 + (low >>> 0);
}
