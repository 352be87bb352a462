import type { RecordId } from '../../../core/ledger/record.js';
import type { Database } from '../../sqlite/database.js';
import { bytesOf, integerOf } from '../../sqlite/row.js';
import { entriesByFirstByte, entryBytes, firstByte, idsOfHash, NewEntries } from './lookup-entries.js';

/**
 * Finds decisions by texts that come in no order. An index would make every insert touch pages all over a tree, and
 * that was half of the work of storing a decision. Here the newest entries are kept as they come, a row for each batch
 * of them; when there are enough, they become a segment: rows of entries with the same first byte. A search reads the
 * newest, and one row of each segment.
 */
export type Lookup = {
  /** Kept with the next {@link Lookup.store}. */
  add(organisation: number, id: RecordId, values: SearchTerms): void;
  /** Within the caller's transaction. */
  store(): void;
  /** The transaction was rolled back: forgets what was added. */
  forget(): void;
  /**
   * Ids of decisions that may have the most selective of the terms, from several sources, each the highest first; the
   * caller compares, since other texts can have the same hash. Undefined if there is no term to search by.
   */
  search(organisation: number, query: SearchTerms, before: RecordId): Iterator<RecordId>[] | undefined;
};

export type SearchTerms = {
  readonly sender?: string | undefined;
  readonly requestId?: string | undefined;
  readonly userOpHash?: string | undefined;
};

/** Searches by the first of these that a query names; it has the fewest decisions. */
const terms = ['userOpHash', 'requestId', 'sender'] as const satisfies (keyof SearchTerms)[];
/** Of some 15,000 decisions. */
const entriesPerSegment = 32_768;
const bucketsPerSegment = 256;
/** A row of the newest entries takes up further ones until it has so many bytes. */
const bytesPerRow = 4_000;

export function createLookup({ sql }: Database): Lookup {
  const allNew = sql.prepare('SELECT entries FROM lookup_new ORDER BY place');
  const lastNew = sql.prepare('SELECT place, entries FROM lookup_new ORDER BY place DESC LIMIT 1');
  const sizeOfNew = sql.prepare('SELECT total(length(entries)) AS bytes FROM lookup_new');
  const putNew = sql.prepare('INSERT OR REPLACE INTO lookup_new VALUES (?, ?)');
  const removeNew = sql.prepare('DELETE FROM lookup_new');
  const lastSegment = sql.prepare('SELECT max(place) AS place FROM lookup_segments');
  const putBucket = sql.prepare('INSERT INTO lookup_segments VALUES (?, ?)');
  const getBucket = sql.prepare('SELECT entries FROM lookup_segments WHERE place = ?');
  const added = new NewEntries();
  /** Bytes of the newest entries; undefined: they must be counted. */
  let newBytes: number | undefined;

  function segments(): number {
    const place = lastSegment.get()?.['place'];
    return typeof place === 'number' ? Math.floor(place / bucketsPerSegment) + 1 : 0;
  }

  function newest(): Buffer {
    return Buffer.concat(allNew.all().map((row) => bytesOf(row, 'entries')));
  }

  function makeSegment(): void {
    const first = segments() * bucketsPerSegment;
    for (const [bucket, entries] of entriesByFirstByte(newest())) putBucket.run(first + bucket, entries);
    removeNew.run();
    newBytes = 0;
  }

  function* idsOfSegment(segment: number, hash: number, before: RecordId): Generator<RecordId> {
    const row = getBucket.get(segment * bucketsPerSegment + firstByte(hash));
    if (row !== undefined) yield* idsOfHash(bytesOf(row, 'entries'), hash, before);
  }

  function* idsOfNewest(hash: number, before: RecordId): Generator<RecordId> {
    yield* idsOfHash(newest(), hash, before);
  }

  return {
    add: (organisation, id, values) => {
      const hashes: number[] = [];
      for (const term of terms) {
        const value = values[term];
        if (value !== undefined) hashes.push(hashOf(organisation, term, value));
      }
      added.add(id, hashes);
    },
    store: () => {
      const bytes = added.take();
      if (bytes.length === 0) return;
      newBytes ??= Number(sizeOfNew.get()?.['bytes']);
      newBytes += bytes.length;
      const row = lastNew.get();
      const last = row === undefined ? 0 : integerOf(row, 'place');
      const before = row === undefined ? Buffer.alloc(0) : bytesOf(row, 'entries');
      if (row !== undefined && before.length < bytesPerRow) putNew.run(last, Buffer.concat([before, bytes]));
      else putNew.run(last + 1, bytes);
      if (newBytes >= entriesPerSegment * entryBytes) makeSegment();
    },
    forget: () => {
      added.take();
      newBytes = undefined;
    },
    search: (organisation, query, before) => {
      const term = terms.find((one) => query[one] !== undefined);
      if (term === undefined) return undefined;
      const hash = hashOf(organisation, term, query[term] ?? '');
      return [
        ...Array.from({ length: segments() }, (_, segment) => idsOfSegment(segment, hash, before)),
        idsOfNewest(hash, before),
      ];
    },
  };
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
