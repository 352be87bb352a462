import { DomainError } from '../../../core/errors.js';
import type { RowOf } from './columns.js';
import { readMark, type Mark, type Position } from './position.js';
import type { Reader } from './reader.js';
import { addStored, addSums, sumsOf, usageRows, type Sum, type Sums } from './sums.js';
import { tallyRows } from './tally.js';

/** What rolling up needs of a database, beside questions. */
export type RollUpTables = {
  /** Within one snapshot. */
  read<T>(work: (reader: Reader) => Promise<T>): Promise<T>;
  /** So many rows are added at once, of each table or of all; those of one transaction are not divided. */
  readonly sliceRows: number;
  /**
   * Where the next slice after `from` ends: rows before it are those of transactions that have ended. `isLast`: there is nothing
   * more yet.
   */
  endOfSlice(
    reader: Reader,
    from: Mark,
    rows: number,
  ): Promise<{ readonly to: Position; readonly isLast: boolean }>;
  /** Replaces rows of sums and moves the mark, in one transaction; nothing of it when the mark is elsewhere by now. */
  store(rows: readonly RowOf<'usage'>[], from: Mark, to: Position): Promise<boolean>;
  /** Forgets all sums when the rows are of another server than the mark. True when it did. */
  beginAnew?(reader: Reader, mark: Mark): Promise<boolean>;
};

/**
 * Adds a slice of rows to the sums. It reads in one transaction and writes in another, so that it holds nothing while it reads: nobody
 * else moves the mark meanwhile, or this slice counts for nothing. Answers whether there is more to do.
 */
export async function rollUpSlice(tables: RollUpTables): Promise<boolean> {
  const slice = await tables.read(async (reader) => {
    const from = await readMark(reader);
    if (await tables.beginAnew?.(reader, from)) return undefined;
    const { to, isLast } = await tables.endOfSlice(reader, from, tables.sliceRows);
    if (isSame(from, to)) return { from, to, isLast, rows: [] };
    const sums = sumsOf(await tallyRows(reader, from, to));
    await addStored(reader, sums);
    return { from, to, isLast, rows: usageRows(sums) };
  });
  if (slice === undefined) return true;
  const { from, to, isLast, rows } = slice;
  if (isSame(from, to)) return false;
  return !(await tables.store(rows, from, to)) || !isLast;
}

/** So many slices are read with a question; a job that is further behind than that does not run. */
const mostSlices = 25;
/** Nobody waits while they are read. */
const tailRows = 4_000;

/** What the rows after the mark add to the sums, as this snapshot shows them. Throws UNAVAILABLE when there are too many. */
export async function readTail(tables: RollUpTables, reader: Reader): Promise<Sums> {
  const sums = new Map<string, Sum>();
  let from = await readMark(reader);
  for (let slice = 0; slice < mostSlices; slice++) {
    const { to, isLast } = await tables.endOfSlice(reader, from, tailRows);
    addSums(sums, sumsOf(await tallyRows(reader, from, isLast ? undefined : to)));
    if (isLast) return sums;
    from = { ...from, ...to };
  }
  throw new DomainError('UNAVAILABLE', 'the sums of usage are far behind the records', {
    retryAfterSeconds: 10,
  });
}

function isSame(a: Position, b: Position): boolean {
  return a.decision === b.decision && a.settlement === b.settlement && a.gap === b.gap;
}
