import { DomainError } from '../../../core/errors.js';
import type { RowOf } from './columns.js';
import { readMark, type Mark, type Position } from './position.js';
import type { Reader } from './reader.js';
import { addStored, addSums, sumTally, usageRows, type Sum, type Sums } from './sums.js';
import { isPromise } from '../../../core/ledger/outcome.js';
import type { RecordId, Settlement } from '../../../core/ledger/record.js';
import { recordTime } from '../../../core/ledger/record-id.js';
import { createTally, type CountedDecision, type Tally } from '../../../core/ledger/rollup.js';
import { rollupUnits } from '../../../core/ledger/steps.js';
import type { EpochMs } from '../../../core/units/time.js';
import {
  endedReservations,
  listEnds,
  repeatedReservations,
  type End,
  type Ends,
  type Placed,
  type Reservation,
} from './ends.js';
import {
  countedColumns,
  toCountedDecision,
  createJsonParser,
  toGap,
  toSettlement,
  type Row,
} from './record-rows.js';

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
    const sums = sumTally(await tallyRows(reader, from, to));
    await addStored(reader, sums);
    return { from, to, isLast, rows: usageRows(sums) };
  });
  if (slice === undefined) return true;
  const { from, to, isLast, rows } = slice;
  if (isSame(from, to)) return false;
  return !(await tables.store(rows, from, to)) || !isLast;
}

/** So many slices are read with a question; a job that is further behind than that does not run. */
const maxSlices = 25;
/** Nobody waits while they are read. */
const tailRows = 4_000;

/** What the rows after the mark add to the sums, as this snapshot shows them. Throws UNAVAILABLE when there are too many. */
export async function readTail(tables: RollUpTables, reader: Reader): Promise<Sums> {
  const sums = new Map<string, Sum>();
  let from = await readMark(reader);
  for (let slice = 0; slice < maxSlices; slice++) {
    const { to, isLast } = await tables.endOfSlice(reader, from, tailRows);
    addSums(sums, sumTally(await tallyRows(reader, from, isLast ? undefined : to)));
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

/**
 * What the rows from one position to another add to the sums. What held of a reservation before these rows and what holds with them
 * follows from its records alone, and the difference counts. So the order in which records are written does not matter, nor
 * how they are cut into slices.
 */
async function tallyRows(reader: Reader, from: Position, to?: Position): Promise<Tally> {
  const tally = createTally();
  const reservations = new Set<RecordId>();
  const asked = new Map<RecordId, Placed<CountedDecision>[]>();
  const json = createJsonParser();
  for (const row of await rowsBetween(reader, 'decision', from, to, countedColumns)) {
    const { reservation, id } = row;
    const decision = toCountedDecision(row, json);
    tally.addDecision(decision);
    if (typeof reservation === 'string') reservations.add(reservation);
    if (isPromise(decision))
      ensureEntry(asked, String(reservation ?? id)).push({ record: decision, place: from.decision });
  }
  const repeated = await repeatedReservations(reader, asked.keys(), to);
  for (const [name, fresh] of asked) tallyReservation(tally, repeated.get(name) ?? fresh, from);
  for (const row of await rowsBetween(reader, 'settlement', from, to)) {
    const record = toSettlement(row);
    const { reservation } = row;
    if (typeof reservation === 'string') reservations.add(reservation);
    else if (record.kind === 'settlement') tally.addUnmatched(clampTime(record), 1);
  }
  for (const row of await rowsBetween(reader, 'gap', from, to)) tally.addGap(toGap(row));
  for (const reservation of await endedReservations(reader, reservations, to)) {
    const before = countedEnds(reservation, from);
    const after = countedEnds(reservation, to);
    tallyEnds(tally, before, after, -1);
    tallyEnds(tally, after, before, 1);
    if (before.unmatched?.id === after.unmatched?.id) continue;
    if (before.unmatched !== undefined) tally.addUnmatched(clampTime(before.unmatched), -1);
    if (after.unmatched !== undefined) tally.addUnmatched(clampTime(after.unmatched), 1);
  }
  return tally;
}

/** Counts the ends that the others do not have. */
function tallyEnds(tally: Tally, { ends }: Ends, others: Ends, sign: 1 | -1): void {
  for (const [id, end] of ends) {
    const { settlement, outcome } = others.ends.get(id) ?? {};
    if (end.settlement.id === settlement?.id && end.outcome === outcome) continue;
    tally.addOutcome(end.decision, clampTime(end.settlement), end.mined, sign);
  }
}

/** What the decisions from `from` on add to a reservation that counts once. */
function tallyReservation(tally: Tally, placed: readonly Placed<CountedDecision>[], from: Position): void {
  const promises = placed.filter(({ record }) => isPromise(record));
  const before = reservationAmong(promises.filter(({ place }) => place < from.decision));
  const after = reservationAmong(promises);
  if (after === undefined) return;
  if (before?.oldest.id === after.oldest.id && before.promisedWei === after.promisedWei) return;
  if (before !== undefined) tally.addReservation(before.oldest, before.promisedWei, -1);
  tally.addReservation(after.oldest, after.promisedWei, 1);
}

function reservationAmong(
  promises: readonly Placed<CountedDecision>[],
): { readonly oldest: CountedDecision; readonly promisedWei: bigint } | undefined {
  const [first, ...others] = promises.map(({ record }) => record);
  if (first === undefined) return undefined;
  let oldest = first;
  let promisedWei = first.maxCostWei ?? 0n;
  for (const one of others) {
    if (one.id < oldest.id) oldest = one;
    if ((one.maxCostWei ?? 0n) > promisedWei) promisedWei = one.maxCostWei ?? 0n;
  }
  return { oldest, promisedWei };
}

/** Of a reservation one decision counts as ended: the mined one, or where none was mined the oldest. */
function countedEnds(reservation: Reservation, to?: Position): Ends {
  const { ends, unmatched } = listEnds(reservation, to);
  const all = [...ends.values()];
  const oldest = all.reduce<End | undefined>(
    (found, end) => (found !== undefined && found.decision.id < end.decision.id ? found : end),
    undefined,
  );
  const counting = all.filter(
    (end) => end.outcome === 'mined' || (end.settlement.mined === undefined && end === oldest),
  );
  return { ends: new Map(counting.map((end) => [end.decision.id, end])), unmatched };
}

function ensureEntry(
  map: Map<RecordId, Placed<CountedDecision>[]>,
  name: RecordId,
): Placed<CountedDecision>[] {
  const known = map.get(name);
  if (known !== undefined) return known;
  const made: Placed<CountedDecision>[] = [];
  map.set(name, made);
  return made;
}

function rowsBetween(
  { dialect, query }: Reader,
  table: keyof Position,
  from: Position,
  to: Position | undefined,
  columns = '*',
): Promise<readonly Row[]> {
  const { position } = dialect;
  const values = [from[table], ...(to === undefined ? [] : [to[table]])];
  return query(
    `SELECT ${columns} FROM ${dialect.table(table)} WHERE ${position} >= $1 ${to === undefined ? '' : `AND ${position} < $2`}`,
    values,
  );
}

const maxApartMs = 31 * rollupUnits.day;

/**
 * Outcomes count at the time of their block, which is what a node says. A time that is far from that of the record counts as one a month
 * away, so that no node makes tables of sums for all months of a thousand years.
 */
function clampTime(settlement: Settlement): Settlement {
  const recordedAt = recordTime(settlement.id);
  const at = Math.min(Math.max(settlement.at, recordedAt - maxApartMs), recordedAt + maxApartMs) as EpochMs;
  return at === settlement.at ? settlement : { ...settlement, at };
}
