import type { DecisionContext } from '../../../core/ledger/packed-decision.js';
import { lowestRecordId, recordTime } from '../../../core/ledger/record-id.js';
import { parseRecord } from '../../../core/ledger/record-text.js';
import type { Decision, RecordId } from '../../../core/ledger/record.js';
import { unpackContext, unpackOwn } from '../../../core/ledger/unpacked-decision.js';
import type { EpochMs } from '../../../core/units/time.js';
import type { Database } from '../../sqlite/database.js';
import { integerOf, textOf, type Row } from '../../sqlite/row.js';

/**
 * Decisions in blocks: those of an organisation and a moment are a JSON list in one row, so that a decision costs a part
 * of a row and of its entries in the indices. A decision is a list on a line of its own: its reservation (`=`: its own
 * id) or null, the number of its context or null, and its text. A block never changes.
 */
export type DecisionBlocks = {
  /** Stores those whose ids are new in the organisation, and answers them. */
  insert<Entry extends BlockEntry>(organisation: number, entries: readonly Entry[]): readonly Entry[];
  find(organisation: number, id: RecordId): StoredDecision | undefined;
  /** The decisions of a reservation, whatever their organisation, one by one: anybody may ask again for the same nonce. */
  ofReservation(reservation: RecordId): Iterable<StoredDecision>;
  /** Ids of an organisation below `before`, the highest first. */
  idsBefore(organisation: number, before: RecordId): Generator<RecordId>;
  /** The transaction was rolled back: forgets what it remembers of the tables. */
  forget(): void;
};

/** `context` and `text`: see `packContext` and `packOwn`. */
export type BlockEntry = {
  readonly id: RecordId;
  readonly reservation: RecordId | undefined;
  readonly context: string;
  readonly text: string;
};

export type StoredDecision = {
  readonly organisation: number;
  readonly reservation: RecordId | undefined;
  readonly decision: Decision;
};

/** A page of the file holds four of them, and a search for one id reads one. */
const mostCharacters = 3_900;
const lineOverhead = 8;
/** Between the first and the last id of a block, so that an id is only in blocks that begin shortly before it. */
const longestMs = 64;
const ownId = '"="';
type StoredLine = readonly [reservation: RecordId | null, context: number | null, packed: unknown];
const pageRows = 32;
/** Contexts whose numbers stay in memory. */
const mostContexts = 10_000;

export function createDecisionBlocks({ sql }: Database): DecisionBlocks {
  const put = sql.prepare(
    'INSERT INTO decision_blocks (organisation, first, last, decisions) VALUES (?, ?, ?, ?)',
  );
  const within = `first <= ? AND first >= ? AND last >= ?`;
  const ofOrganisation = sql.prepare(`SELECT * FROM decision_blocks WHERE organisation = ? AND ${within}`);
  const ofAll = sql.prepare(`SELECT * FROM decision_blocks WHERE ${within}`);
  const page = sql.prepare(
    `SELECT * FROM decision_blocks WHERE organisation = ? AND first < ? ORDER BY first DESC, place DESC LIMIT ${pageRows}`,
  );
  const putRepeat = sql.prepare('INSERT INTO decision_repeats VALUES (?, ?) ON CONFLICT DO NOTHING');
  const repeats = sql.prepare('SELECT id FROM decision_repeats WHERE reservation = ?');
  const findContext = sql.prepare('SELECT id FROM decision_contexts WHERE text = ?');
  const putContext = sql.prepare('INSERT INTO decision_contexts (text) VALUES (?)');
  const getContext = sql.prepare('SELECT text FROM decision_contexts WHERE id = ?');
  const numbers = new Map<string, number>();
  const contexts = new Map<number, DecisionContext>();

  function numberOf(context: string): number {
    const known = numbers.get(context);
    if (known !== undefined) return known;
    const row = findContext.get(context);
    const number = row === undefined ? Number(putContext.run(context).lastInsertRowid) : integerOf(row, 'id');
    if (numbers.size >= mostContexts) numbers.clear();
    numbers.set(context, number);
    return number;
  }

  function contextOf(number: number): DecisionContext {
    const known = contexts.get(number);
    if (known !== undefined) return known;
    const row = getContext.get(number);
    if (row === undefined) throw new TypeError(`no context has the number ${number}`);
    const context = unpackContext(JSON.parse(textOf(row, 'text')) as readonly unknown[]);
    if (contexts.size >= mostContexts) contexts.clear();
    contexts.set(number, context);
    return context;
  }

  /** Blocks that may hold ids from `first` to `last`. */
  function* blocksBetween(organisation: number | undefined, first: RecordId, last: RecordId): Generator<Row> {
    const from = lowestRecordId((recordTime(first) - longestMs) as EpochMs);
    if (organisation === undefined) yield* ofAll.all(last, from, first);
    else yield* ofOrganisation.all(organisation, last, from, first);
  }

  function known(organisation: number, first: RecordId, last: RecordId): ReadonlySet<RecordId> {
    const ids = new Set<RecordId>();
    for (const row of blocksBetween(organisation, first, last)) for (const id of idsIn(row)) ids.add(id);
    return ids;
  }

  function insertBlock(organisation: number, entries: readonly BlockEntry[]): void {
    let lines = '';
    for (const { id, reservation, context, text } of entries) {
      const mark = reservation === id ? ownId : reservation === undefined ? 'null' : `"${reservation}"`;
      lines += `${lines === '' ? '[' : ',\n'}[${mark},${numberOf(context)},${text}]`;
      if (reservation !== undefined && reservation !== id) putRepeat.run(reservation, id);
    }
    put.run(organisation, entries[0]!.id, entries.at(-1)!.id, `${lines}]`);
  }

  function* stored(organisation: number | undefined, id: RecordId): Generator<StoredDecision> {
    for (const row of blocksBetween(organisation, id, id)) {
      const line = lineOf(row, id);
      if (line === undefined) continue;
      const [mark, number, packed] = JSON.parse(line) as StoredLine;
      yield {
        organisation: integerOf(row, 'organisation'),
        reservation: mark === '=' ? id : (mark ?? undefined),
        decision:
          number === null
            ? wholeDecision(packed)
            : unpackOwn(contextOf(number), packed as readonly unknown[]),
      };
    }
  }

  return {
    insert: (organisation, entries) =>
      blocksOf(sortedById(entries)).flatMap((block) => {
        const present = known(organisation, block[0]!.id, block.at(-1)!.id);
        const added = present.size === 0 ? block : block.filter(({ id }) => !present.has(id));
        if (added.length > 0) insertBlock(organisation, added);
        return added;
      }),
    find: (organisation, id) => stored(organisation, id).next().value ?? undefined,
    *ofReservation(reservation) {
      const ids = [reservation, ...repeats.all(reservation).map((row) => textOf(row, 'id'))];
      for (const id of ids)
        for (const one of stored(undefined, id)) if (one.reservation === reservation) yield one;
    },
    *idsBefore(organisation, before) {
      let pending: RecordId[] = [];
      let rows = page.all(organisation, before);
      while (rows.length > 0) {
        for (const row of rows) {
          // No id of this block or of one that begins before it is higher.
          const highest = lowestRecordId((recordTime(textOf(row, 'first')) + longestMs + 1) as EpochMs);
          const settled = pending.findIndex((id) => id < highest);
          yield* pending.splice(0, settled < 0 ? pending.length : settled);
          pending = [...pending, ...idsIn(row).filter((id) => id < before)].sort().reverse();
        }
        const { first } = rows.at(-1)!;
        // No two blocks of an organisation begin with the same id.
        rows = rows.length < pageRows ? [] : page.all(organisation, first!);
      }
      yield* pending;
    },
    forget: () => {
      numbers.clear();
      contexts.clear();
    },
  };
}

/** In the order of their ids, each id once. */
function sortedById<Entry extends BlockEntry>(entries: readonly Entry[]): readonly Entry[] {
  const sorted = entries.toSorted((a, b) => (a.id < b.id ? -1 : a.id > b.id ? 1 : 0));
  return sorted.filter(({ id }, i) => id !== sorted[i - 1]?.id);
}

function blocksOf<Entry extends BlockEntry>(sorted: readonly Entry[]): readonly (readonly Entry[])[] {
  const blocks: Entry[][] = [];
  let characters = 0;
  let until = '';
  for (const entry of sorted) {
    characters += entry.text.length + lineOverhead;
    if (blocks.length === 0 || characters > mostCharacters || entry.id >= until) {
      blocks.push([]);
      characters = entry.text.length + lineOverhead;
      until = lowestRecordId((recordTime(entry.id) + longestMs) as EpochMs);
    }
    blocks.at(-1)!.push(entry);
  }
  return blocks;
}

const idOfLine = /,\["([0-9a-f-]{36})",/g;

function idsIn(row: Row): readonly RecordId[] {
  const [first, last] = [textOf(row, 'first'), textOf(row, 'last')];
  // Also where the record has the form of an earlier version.
  if (first === last) return [first];
  return Array.from(textOf(row, 'decisions').matchAll(idOfLine), ([, id = '']) => id);
}

function lineOf(row: Row, id: RecordId): string | undefined {
  const [first, last, list] = [
    textOf(row, 'first'),
    textOf(row, 'last'),
    textOf(row, 'decisions').slice(1, -1),
  ];
  if (first === last) return first === id ? list : undefined;
  // JSON has no ends of lines within its texts.
  return list.split(',\n').find((line) => line.includes(`,["${id}",`));
}

/** A record of a file whose version had no contexts. */
function wholeDecision(value: unknown): Decision {
  const record = parseRecord(JSON.stringify(value));
  // Only an append of this release or an earlier one writes rows: a newer one raises the version of the file.
  if (record?.kind !== 'decision') throw new TypeError(`a block holds a record of kind ${record?.kind}`);
  return record;
}
