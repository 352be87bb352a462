import { setPriority } from 'node:os';
import { parentPort, workerData } from 'node:worker_threads';
import { defaultRetention, prunedShare, type Ledger, type Retention } from '../../../core/ledger/ledger.js';
import type { ChangeQuery, ChangeWrite } from '../../../core/ledger/change.js';
import type { NamedKind, ObjectName } from '../../../core/ledger/object-names.js';
import type { PastQuery } from '../../../core/ledger/past.js';
import type { PriceQuery } from '../../../core/ledger/prices.js';
import type { FundsQuery } from '../../../core/ledger/query.js';
import type { StatementQuery } from '../../../core/ledger/statement.js';
import type { EpochMs } from '../../../core/units/time.js';
import { plainError, type PlainError } from '../../sqlite/plain-error.js';
import { readChanges, recordChange } from './changes.js';
import { readFunds } from './funds.js';
import { namesAtOnce, newNames, readNames, writeNames } from './object-names.js';
import { readGaps, readPast } from './past.js';
import { readTail, rollUpSlice } from './roll-up.js';
import { findDecision, searchDecisions } from './search.js';
import { pruneSqlite } from './sqlite-retention.js';
import { openSqliteTables, type SqliteTables } from './sqlite-tables.js';
import { readSpent } from './spent.js';
import { readPrices, readStatement } from './statements.js';
import { readUsage } from './usage.js';

// The thread that reads the ledger and keeps its sums: it answers one request after another, so that no question, however long, delays
// the thread that signs.

export type ThreadOptions = {
  readonly path: string;
  readonly retention?: Retention;
  readonly maxBytes: number;
  readonly searchMs: number;
};

export type Methods = ReturnType<typeof createMethods>;
export type Request = {
  readonly call: number;
  readonly method: keyof Methods;
  readonly arguments: readonly unknown[];
};
/** `call` 0 says how opening the file went. */
export type Answer = { readonly call: number } & (
  { readonly value: unknown } | { readonly error: PlainError }
);

function createMethods(
  tables: SqliteTables,
  { retention = defaultRetention, maxBytes, searchMs }: ThreadOptions,
) {
  const { read } = tables;
  return {
    usage: (query: Parameters<Ledger['usage']>[0]) =>
      read(async (reader) => readUsage(reader, query, await readTail(tables, reader))),
    spent: (query: Parameters<Ledger['spent']>[0]) =>
      read(async (reader) => readSpent(reader, query, await readTail(tables, reader))),
    decisions: (query: Parameters<Ledger['decisions']>[0]) =>
      read((reader) => searchDecisions(reader, query, searchMs)),
    decision: (organisation: string, id: string) => read((reader) => findDecision(reader, organisation, id)),
    funds: (query: FundsQuery) =>
      read(async (reader) => readFunds(reader, query, await readTail(tables, reader))),
    statement: (query: StatementQuery) => read((reader) => readStatement(reader, query)),
    past: (query: PastQuery) => read((reader) => readPast(reader, query)),
    gaps: (query: Omit<PastQuery, 'after' | 'limit'>) => read((reader) => readGaps(reader, query)),
    prices: (query: PriceQuery) => read((reader) => readPrices(reader, query)),
    recordChange: (write: ChangeWrite) => tables.change((reader) => recordChange(reader, write)),
    changes: (query: ChangeQuery) => read((reader) => readChanges(reader, query)),
    keepNames: async (names: readonly ObjectName[]) => {
      for (let from = 0; from < names.length; from += namesAtOnce) {
        const added = await read((reader) => newNames(reader, names.slice(from, from + namesAtOnce)));
        if (added.length > 0) await tables.change((reader) => writeNames(reader, added));
      }
    },
    names: (organisation: string, kind: NamedKind) => read((reader) => readNames(reader, organisation, kind)),
    rollUp: async () => {
      const isMore = await rollUpSlice(tables);
      tables.checkpoint();
      return isMore;
    },
    prune: (now: EpochMs) => pruneSqlite(tables, now, retention, maxBytes * prunedShare),
    usedBytes: async () => tables.usedBytes(),
    close: async () => tables.close(),
  };
}

function serve(port: NonNullable<typeof parentPort>, options: ThreadOptions): void {
  async function answer(call: number, work: () => Promise<unknown>): Promise<void> {
    let message: Answer;
    try {
      message = { call, value: await work() };
    } catch (error) {
      message = { call, error: plainError(error) };
    }
    port.postMessage(message);
  }
  let methods: Methods | undefined;
  let last = answer(0, async () => {
    methods = createMethods(openSqliteTables(options.path), options);
  }).then(() => {
    if (methods === undefined) port.close();
  });
  port.on('message', ({ call, method, arguments: given }: Request) => {
    last = last.then(async () => {
      await answer(call, async () => {
        const named = methods as unknown as Record<
          string,
          (...values: readonly unknown[]) => Promise<unknown>
        >;
        return named[method]?.(...given);
      });
      if (method === 'close') port.close();
    });
  });
}

/** On Linux this is about the calling thread, elsewhere about all of them. */
function yieldToSigning(): void {
  if (process.platform !== 'linux') return;
  try {
    setPriority(0, 5);
  } catch {
    // A sandbox may forbid it, and the thread works without.
  }
}

if (parentPort === null) throw new Error('the thread of the ledger must be started as a thread');
yieldToSigning();
serve(parentPort, workerData as ThreadOptions);
