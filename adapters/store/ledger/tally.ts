import { isPromise } from '../../../core/ledger/outcome.js';
import type { RecordId } from '../../../core/ledger/record.js';
import { recordTime } from '../../../core/ledger/record-id.js';
import { createTally, type CountedDecision, type Tally } from '../../../core/ledger/rollup.js';
import { rollupUnits } from '../../../core/ledger/steps.js';
import type { Settlement } from '../../../core/ledger/record.js';
import type { EpochMs } from '../../../core/units/time.js';
import {
  endedReservations,
  endsOf,
  repeatedReservations,
  type End,
  type Ends,
  type Placed,
  type Reservation,
} from './ends.js';
import type { Position } from './position.js';
import type { Reader } from './reader.js';
import {
  countedColumns,
  countedDecisionOf,
  createJsonOf,
  gapOf,
  settlementOf,
  type Row,
} from './record-rows.js';

/**
 * What the rows from one position to another add to the sums. What held of a reservation before these rows and what holds with them
 * follows from its records alone, and the difference counts. So the order in which records are written does not matter, nor
 * how they are cut into slices.
 */
export async function tallyRows(reader: Reader, from: Position, to?: Position): Promise<Tally> {
  const tally = createTally();
  const reservations = new Set<RecordId>();
  const asked = new Map<RecordId, Placed<CountedDecision>[]>();
  const json = createJsonOf();
  for (const row of await rowsBetween(reader, 'decision', from, to, countedColumns)) {
    const { reservation, id } = row;
    const decision = countedDecisionOf(row, json);
    tally.addDecision(decision);
    if (typeof reservation === 'string') reservations.add(reservation);
    if (isPromise(decision))
      entryOf(asked, String(reservation ?? id)).push({ record: decision, place: from.decision });
  }
  const repeated = await repeatedReservations(reader, asked.keys(), to);
  for (const [name, fresh] of asked) tallyReservation(tally, repeated.get(name) ?? fresh, from);
  for (const row of await rowsBetween(reader, 'settlement', from, to)) {
    const record = settlementOf(row);
    const { reservation } = row;
    if (typeof reservation === 'string') reservations.add(reservation);
    else if (record.kind === 'settlement') tally.addUnmatched(counted(record), 1);
  }
  for (const row of await rowsBetween(reader, 'gap', from, to)) tally.addGap(gapOf(row));
  for (const reservation of await endedReservations(reader, reservations, to)) {
    const before = countedEnds(reservation, from);
    const after = countedEnds(reservation, to);
    for (const [id, end] of before.ends) {
      const { settlement, outcome } = after.ends.get(id) ?? {};
      if (end.settlement.id === settlement?.id && end.outcome === outcome) continue;
      tally.addOutcome(end.decision, counted(end.settlement), end.mined, -1);
    }
    for (const [id, end] of after.ends) {
      const { settlement, outcome } = before.ends.get(id) ?? {};
      if (end.settlement.id === settlement?.id && end.outcome === outcome) continue;
      tally.addOutcome(end.decision, counted(end.settlement), end.mined, 1);
    }
    if (before.unmatched?.id === after.unmatched?.id) continue;
    if (before.unmatched !== undefined) tally.addUnmatched(counted(before.unmatched), -1);
    if (after.unmatched !== undefined) tally.addUnmatched(counted(after.unmatched), 1);
  }
  return tally;
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
  const { ends, unmatched } = endsOf(reservation, to);
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

function entryOf(map: Map<RecordId, Placed<CountedDecision>[]>, name: RecordId): Placed<CountedDecision>[] {
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

const mostApart = 31 * rollupUnits.day;

/**
 * Outcomes count at the time of their block, which is what a node says. A time that is far from that of the record counts as one a month
 * away, so that no node makes tables of sums for all months of a thousand years.
 */
function counted(settlement: Settlement): Settlement {
  const recordedAt = recordTime(settlement.id);
  const at = Math.min(Math.max(settlement.at, recordedAt - mostApart), recordedAt + mostApart) as EpochMs;
  return at === settlement.at ? settlement : { ...settlement, at };
}
