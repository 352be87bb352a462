import type { Wanted } from '../../../core/usage/row-store.js';
import type { RowChanges } from '../../../core/usage/rows.js';
import type { Answer } from '../../postgres/pipeline.js';
import type { TurnCall } from '../calls.js';
import { isSharedFence } from './names.js';
import { toServer, type Server } from './server-facts.js';
import { readText, type ReadRows, type Row, type TurnRows } from './turn-rows.js';
import type { WriterRow } from './writers.js';

// What a turn has read.

/** A call that waits for a turn. */
export type Call = TurnCall & { readonly wanted: Wanted };

export type Expected = {
  readonly isIntact: (writers: readonly WriterRow[]) => boolean;
  readonly text: string;
  readonly sequence: number;
};

/** Other turns of the chain read such fences without a lock. A fence that was only named again has not changed for them. */
export function changesSharedFence({ fences }: RowChanges, rows: TurnRows): boolean {
  return fences.some((row) => {
    if (!isSharedFence(row.id)) return false;
    const before = rows.fence(row.id);
    return before?.generation !== row.generation || before.isSuspended !== row.isSuspended;
  });
}

export type Read = {
  readonly chain: Row;
  readonly rows: ReadRows;
  /** Undefined: the writer has no row any longer. */
  readonly ownSequence: unknown;
  readonly server: Server;
  readonly turn: Row;
  /** Locks that were taken because reservations hold them, and those that the reservations hold now. */
  readonly heldLocks: ReadonlySet<string>;
  readonly lateLocks: readonly string[];
};

/** The answers to the first trip, in the order in which it asks. */
export function readAnswers(answers: readonly Answer[]): Read {
  const [, writer, , locks, chain, reservations, counters, accounts, fences, server, turn] = answers.map(
    ({ rows }) => rows,
  );
  const rows = {
    reservations: reservations ?? [],
    counters: counters ?? [],
    accounts: accounts ?? [],
    fences: fences ?? [],
  };
  return {
    chain: chain?.[0] ?? {},
    rows,
    ownSequence: writer?.[0]?.['sequence'],
    heldLocks: new Set((locks ?? []).map((row) => readText(row, 'name'))),
    server: toServer(server ?? []),
    turn: turn?.[0] ?? {},
    lateLocks: rows.reservations.flatMap((row) => row['locks'] as readonly string[]),
  };
}
