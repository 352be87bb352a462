import type { SettlementView } from '../../../core/ledger/query.js';
import { isPromise, minedDecision, findOutcome } from '../../../core/ledger/outcome.js';
import type { Decision, RecordId, Reversal, Settlement } from '../../../core/ledger/record.js';
import { recordTime } from '../../../core/ledger/record-id.js';
import { Values } from '../../postgres/transactions.js';
import type { Position } from './position.js';
import type { Reader } from './reader.js';
import { dayOfTime, toDecision, toSettlement, type Row } from './record-rows.js';

/** A record, and its place among those that were written. */
export type Placed<R> = { readonly record: R; readonly place: number };
export type Reservation = {
  readonly decisions: Placed<Decision>[];
  readonly endings: Placed<Settlement | Reversal>[];
};

/** How a promise ended, as far as the records say. */
export type End = {
  readonly decision: Decision;
  readonly settlement: Settlement;
  readonly mined: RecordId | undefined;
  readonly outcome: Settlement['outcome'];
  readonly takenBack: number;
};
export type Ends = {
  readonly ends: ReadonlyMap<RecordId, End>;
  /** The mined settlement whose decision is not stored. */
  readonly unmatched: Settlement | undefined;
};

/** Those of the reservations that have a settlement or reversal, with all of their records that were written before `to`. */
export async function endedReservations(
  { dialect, query }: Reader,
  names: Iterable<RecordId>,
  to?: Position,
): Promise<readonly Reservation[]> {
  const { table, position, among } = dialect;
  const found = new Map<string, Reservation>();
  const asked = [...names];
  if (asked.length === 0) return [];
  const values = new Values();
  const before = (at: number | undefined): string =>
    // A sum, so that no index of it is used: almost every row was written before.
    at === undefined ? '' : `AND ${position} + 0 < ${values.add(at)}`;
  const select = `SELECT *, ${position} AS place FROM`;
  const endings = await query(
    `${select} ${table('settlement')} WHERE reservation ${among(values.add(JSON.stringify(asked)), 'id')}
     AND day >= ${values.add(firstDay(asked))} ${before(to?.settlement)}`,
    values.list,
  );
  for (const row of endings)
    ensureReservation(found, row).endings.push({ record: toSettlement(row), place: Number(row['place']) });
  if (found.size === 0) return [];
  values.list.length = 0;
  const isEnded = among(values.add(JSON.stringify([...found.keys()])), 'id');
  const day = values.add(firstDay(found.keys()));
  const limit = before(to?.decision);
  const decisions = await query(
    `${select} ${table('decision')} WHERE id ${isEnded} AND reservation = id AND day >= ${day} ${limit}
     UNION ALL
     ${select} ${table('decision')} WHERE reservation ${isEnded} AND reservation <> id AND day >= ${day} ${limit}`,
    values.list,
  );
  for (const row of decisions)
    ensureReservation(found, row).decisions.push({ record: toDecision(row), place: Number(row['place']) });
  return [...found.values()];
}

/** Of these reservations those that were asked for more than once, with all decisions that were written before `to`. */
export async function repeatedReservations(
  { dialect, query }: Reader,
  names: Iterable<RecordId>,
  to?: Position,
): Promise<ReadonlyMap<RecordId, readonly Placed<Decision>[]>> {
  const { table, position, among } = dialect;
  const found = new Map<string, Reservation>();
  const asked = [...names];
  if (asked.length === 0) return new Map();
  const select = async (where: string, of: readonly RecordId[]): Promise<void> => {
    const values = new Values();
    const isOne = `${where.includes('<>') ? 'reservation' : 'id'} ${among(values.add(JSON.stringify(of)), 'id')}`;
    // A sum, so that no index of it is used: almost every row was written before.
    const limit = to === undefined ? '' : `AND ${position} + 0 < ${values.add(to.decision)}`;
    const rows = await query(
      `SELECT *, ${position} AS place FROM ${table('decision')}
       WHERE ${isOne} AND ${where} AND day >= ${values.add(firstDay(of))} ${limit}`,
      values.list,
    );
    for (const row of rows)
      ensureReservation(found, row).decisions.push({ record: toDecision(row), place: Number(row['place']) });
  };
  await select('reservation <> id', asked);
  if (found.size > 0) await select('reservation = id', [...found.keys()]);
  return new Map(Array.from(found, ([name, { decisions }]) => [name, decisions]));
}

function ensureReservation(found: Map<string, Reservation>, row: Row): Reservation {
  const name = String(row['reservation']);
  const reservation = found.get(name) ?? { decisions: [], endings: [] };
  found.set(name, reservation);
  return reservation;
}

/** Ids are made by several processes, whose clocks differ. */
const roomDays = 4;

/** The oldest day that records of reservations can have: a reservation's name is its first decision's id. */
function firstDay(reservations: Iterable<RecordId>): number {
  let first = Infinity;
  for (const id of reservations) first = Math.min(first, recordTime(id));
  return dayOfTime(first) - roomDays;
}

/** How the promises of a reservation ended, by the records that were written before `to`. */
export function listEnds({ decisions, endings }: Reservation, to?: Position): Ends {
  const within = <R>(placed: readonly Placed<R>[], end = Infinity): readonly R[] =>
    placed.filter(({ place }) => place < end).map(({ record }) => record);
  const ends = new Map<RecordId, End>();
  const { settlement, takenBack } = findOutcome(within(endings, to?.settlement));
  if (settlement === undefined) return { ends, unmatched: undefined };
  const promises = within(decisions, to?.decision).filter(isPromise);
  const mined = minedDecision(settlement, promises);
  for (const decision of promises) {
    const isSpent = settlement.mined !== undefined && decision.id !== mined;
    const outcome = isSpent ? 'spent-elsewhere' : settlement.outcome;
    ends.set(decision.id, { decision, settlement, mined, outcome, takenBack });
  }
  return { ends, unmatched: settlement.mined !== undefined && mined === undefined ? settlement : undefined };
}

export function toSettlementView({ outcome, settlement, takenBack }: End): SettlementView {
  const { at, mined } = settlement;
  return { outcome, at, mined: outcome === 'mined' ? mined : undefined, takenBack };
}
