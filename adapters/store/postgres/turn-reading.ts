import type { Wanted } from '../../../core/usage/row-store.js';
import type { RowChanges } from '../../../core/usage/rows.js';
import type { Turn } from '../../../core/usage/turn.js';
import type { EpochMs } from '../../../core/units/time.js';
import type { Answer } from '../../postgres/pipeline.js';
import { isSharedFence } from './names.js';
import { serverOf, type Server } from './server-facts.js';
import { textOf, type ReadRows, type Row, type TurnRows } from './turn-rows.js';
import type { WriterRow } from './writers.js';

// What a turn has read, and what its calls decide over it.

/** A call that waits for a turn. */
export type Call = {
  readonly wanted: Wanted;
  readonly decide: (turn: Turn, now: EpochMs) => unknown;
  readonly promisesNothing: ((result: never) => boolean) | undefined;
  readonly resolve: (result: never) => void;
  readonly reject: (error: unknown) => void;
};

export type Expected = {
  readonly isIntact: (writers: readonly WriterRow[]) => boolean;
  readonly text: string;
  readonly sequence: number;
};

export type Decided = { readonly call: Call; readonly result: unknown };

export function decideAll(calls: readonly Call[], turn: Turn, now: EpochMs): readonly Decided[] {
  return calls.flatMap((call) => {
    try {
      return [{ call, result: call.decide(turn, now) }];
    } catch (error) {
      call.reject(error);
      return [];
    }
  });
}

/** A refusal promises nothing, so it need not wait for the commit of a generation that came with it. */
export function isRefusal({ promisesNothing }: Call, result: unknown): boolean {
  return promisesNothing?.(result as never) === true;
}

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
    heldLocks: new Set((locks ?? []).map((row) => textOf(row, 'name'))),
    server: serverOf(server ?? []),
    turn: turn?.[0] ?? {},
    lateLocks: rows.reservations.flatMap((row) => row['locks'] as readonly string[]),
  };
}
