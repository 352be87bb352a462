import type { AddedRecord } from '../usage/usage-store.js';
import type { EntryText, LedgerEntry } from './ledger.js';
import type { DecisionContext } from './packed-decision.js';
import { readRecord } from './record-text.js';
import type { RecordId } from './record.js';
import { unpackContext, unpackOwn } from './unpacked-decision.js';

/**
 * Records as lines of one text, for those that are stored together: the number of contexts, the contexts, and then a
 * line for each record: its reservation or nothing, the number of its context (from 0) or nothing, and its text, with
 * tabs between them. JSON has neither tabs nor ends of lines.
 */
export function formatLines(records: readonly AddedRecord[]): string {
  const contexts = new Map<string, number>();
  let lines = '';
  for (const { reservation, context, text } of records) {
    lines += `\n${reservation ?? ''}\t${numberOf(context, contexts)}\t${text}`;
  }
  let head = String(contexts.size);
  for (const context of contexts.keys()) head += `\n${context}`;
  return head + lines;
}

/** The number of a context among those that were met before; nothing if there is none. */
function numberOf(context: string | undefined, contexts: Map<string, number>): string {
  if (context === undefined) return '';
  const known = contexts.get(context);
  if (known === undefined) contexts.set(context, contexts.size);
  return String(known ?? contexts.size - 1);
}

/** The number of records in a feed's entry. */
export function recordsIn({ text }: EntryText): number {
  if (isOne(text)) return 1;
  const lines = text.split('\n');
  return lines.length - 1 - Number(lines[0]);
}

function isOne(text: string): boolean {
  return !/^\d+\n/.test(text);
}

/** A record with its text, as it was written. */
export type ReadLine = LedgerEntry & { readonly context?: string; readonly text: string };

export type LineReader = {
  /**
   * The records of a feed's entry, in their order. Undefined for what is not a record that this release can read.
   */
  read(entry: EntryText): readonly (ReadLine | undefined)[];
  /** Reads a text without its context. Throws SyntaxError or TypeError for a text of another kind. */
  readOwn(context: string, text: string): ReadLine['record'];
};

/** So many contexts stay in memory, a thousand bytes each. */
const mostContexts = 1_000;

export function createLineReader(): LineReader {
  const known = new Map<string, DecisionContext>();

  function contextOf(text: string): DecisionContext {
    const before = known.get(text);
    if (before !== undefined) return before;
    if (known.size >= mostContexts) known.clear();
    const made = unpackContext(JSON.parse(text) as readonly unknown[]);
    known.set(text, made);
    return made;
  }

  function readOwn(context: string, text: string): ReadLine['record'] {
    return unpackOwn(contextOf(context), JSON.parse(text) as readonly unknown[]);
  }

  function readLine(line: string, contexts: readonly string[]): ReadLine | undefined {
    const { reservation, number, text } = splitLine(line);
    if (number === '') return whole(text, reservation);
    const context = contexts[Number(number)];
    if (context === undefined) return undefined;
    try {
      return { record: readOwn(context, text), reservation, context, text };
    } catch (error) {
      if (error instanceof SyntaxError || error instanceof TypeError) return undefined;
      throw error;
    }
  }

  return {
    readOwn,
    read: ({ text, reservation }) => {
      if (isOne(text)) return [whole(text, reservation)];
      const lines = text.split('\n');
      const first = 1 + Number(lines[0]);
      if (first > lines.length) return [undefined];
      const contexts = lines.slice(1, first);
      return lines.slice(first).map((line) => readLine(line, contexts));
    },
  };
}

function whole(text: string, reservation: RecordId | undefined): ReadLine | undefined {
  const record = readRecord(text);
  return record && { record, reservation, text };
}

/** The parts of a record's line. */
export function splitLine(line: string) {
  const first = line.indexOf('\t');
  const second = line.indexOf('\t', first + 1);
  const reservation = line.slice(0, first);
  return {
    reservation: reservation === '' ? undefined : reservation,
    number: line.slice(first + 1, second),
    text: line.slice(second + 1),
  };
}
