import { isPromise, minedDecision, outcomeOf } from '../../../core/ledger/outcome.js';
import type { Decision, RecordId, Reversal, Settlement } from '../../../core/ledger/record.js';
import { recordTime } from '../../../core/ledger/record-id.js';
import type { Tally } from '../../../core/ledger/rollup.js';
import type { EpochMs } from '../../../core/units/time.js';
import type { Session } from '../../postgres/transactions.js';
import { insertNew } from './insert.js';
import { dayOf, decisionOf, settlementOf, timestamp } from './record-rows.js';

/** What a transaction has added to reservations. */
export type Added = {
  readonly decisions: ReadonlySet<RecordId>;
  readonly endings: ReadonlySet<RecordId>;
  /** Reservations of all that was added. */
  readonly reservations: ReadonlySet<RecordId>;
};

type Reservation = { readonly decisions: Decision[]; readonly endings: (Settlement | Reversal)[] };

/** An end of one promise, as the table `outcomes` holds it. */
type PromiseEnd = {
  readonly decision: Decision;
  readonly settlement: Settlement;
  readonly mined: RecordId | undefined;
  readonly outcome: Settlement['outcome'];
  readonly takenBack: number;
};

/**
 * Applies settlements to the decisions of their reservations, after both were stored. What held before this
 * transaction and what holds now follow from the records alone; the difference changes the roll-ups and the table of
 * outcomes. So the order in which records come does not matter, nor how often.
 */
export async function settleReservations(session: Session, added: Added, tally: Tally): Promise<void> {
  const changed: PromiseEnd[] = [];
  const gone: Decision[] = [];
  for (const { decisions, endings } of await endedReservations(session, added.reservations)) {
    const before = endsOf(
      decisions.filter(({ id }) => !added.decisions.has(id)),
      endings.filter(({ id }) => !added.endings.has(id)),
    );
    const after = endsOf(decisions, endings);
    for (const [id, end] of before.ends) {
      if (isSame(end, after.ends.get(id))) continue;
      tally.addOutcome(end.decision, end.settlement, end.mined, -1);
      if (!after.ends.has(id)) gone.push(end.decision);
    }
    for (const [id, end] of after.ends) {
      const former = before.ends.get(id);
      const isCounted = isSame(end, former);
      if (!isCounted) tally.addOutcome(end.decision, end.settlement, end.mined, 1);
      if (!isCounted || end.takenBack !== former?.takenBack) changed.push(end);
    }
    if (before.unmatched?.id === after.unmatched?.id) continue;
    if (before.unmatched !== undefined) tally.addUnmatched(before.unmatched, -1);
    if (after.unmatched !== undefined) tally.addUnmatched(after.unmatched, 1);
  }
  await storeOutcomes(session, changed, gone);
}

/** The ends of all promises by decision, and the mined settlement whose decision is not stored. */
function endsOf(
  decisions: readonly Decision[],
  endings: readonly (Settlement | Reversal)[],
): { readonly ends: ReadonlyMap<RecordId, PromiseEnd>; readonly unmatched: Settlement | undefined } {
  const ends = new Map<RecordId, PromiseEnd>();
  const { settlement, takenBack } = outcomeOf(endings);
  if (settlement === undefined) return { ends, unmatched: undefined };
  const promises = decisions.filter(isPromise);
  const mined = minedDecision(settlement, promises);
  for (const decision of promises) {
    const isSpent = settlement.mined !== undefined && decision.id !== mined;
    const outcome = isSpent ? 'spent-elsewhere' : settlement.outcome;
    ends.set(decision.id, { decision, settlement, mined, outcome, takenBack });
  }
  return { ends, unmatched: settlement.mined !== undefined && mined === undefined ? settlement : undefined };
}

/** Whether both count the same in roll-ups. */
function isSame(a: PromiseEnd, b: PromiseEnd | undefined): boolean {
  return a.settlement.id === b?.settlement.id && a.outcome === b.outcome;
}

/** Those of the reservations that have a settlement or reversal, with all of their records. */
async function endedReservations(
  session: Session,
  reservations: ReadonlySet<RecordId>,
): Promise<Iterable<Reservation>> {
  const found = new Map<RecordId, Reservation>();
  if (reservations.size === 0) return found.values();
  const endings = await session.query(
    'SELECT * FROM ledger.settlements WHERE reservation = ANY($1::uuid[]) AND day >= $2::date',
    [[...reservations], firstDay(reservations)],
  );
  for (const row of endings) reservationOf(found, row['reservation']).endings.push(settlementOf(row));
  if (found.size === 0) return found.values();
  const decisions = await session.query(
    `SELECT * FROM ledger.decisions WHERE id = ANY($1::uuid[]) AND reservation = id AND day >= $2::date
     UNION ALL
     SELECT * FROM ledger.decisions WHERE reservation = ANY($1::uuid[]) AND reservation <> id AND day >= $2::date`,
    [[...found.keys()], firstDay(found.keys())],
  );
  for (const row of decisions) reservationOf(found, row['reservation']).decisions.push(decisionOf(row));
  return found.values();
}

/** Ids are made by several processes, whose clocks differ. */
const roomMs = 4 * 86_400_000;

/** The oldest part of a table that records of reservations can be in: a reservation's name is its first decision's id. */
function firstDay(reservations: Iterable<RecordId>): string {
  let first = Infinity;
  for (const id of reservations) first = Math.min(first, recordTime(id));
  return timestamp(Math.max(0, first - roomMs) as EpochMs);
}

function reservationOf(found: Map<RecordId, Reservation>, name: unknown): Reservation {
  const id = String(name);
  const reservation = found.get(id) ?? { decisions: [], endings: [] };
  found.set(id, reservation);
  return reservation;
}

const outcomeColumns = {
  day: 'date',
  decision: 'uuid',
  outcome: 'text',
  at: 'timestamptz',
  settlement: 'uuid',
  settlement_day: 'date',
  taken_back: 'integer',
} as const;

async function storeOutcomes(
  session: Session,
  changed: readonly PromiseEnd[],
  gone: readonly Decision[],
): Promise<void> {
  const keys = [...changed.map(({ decision }) => decision), ...gone];
  if (keys.length === 0) return;
  await session.query(
    'DELETE FROM ledger.outcomes WHERE decision = ANY($1::uuid[]) AND day = ANY($2::date[])',
    [keys.map(({ id }) => id), [...new Set(keys.map(dayOf))]],
  );
  const rows = changed.map(({ decision, outcome, settlement, takenBack }) => ({
    day: dayOf(decision),
    decision: decision.id,
    outcome,
    at: timestamp(settlement.at),
    settlement: settlement.id,
    settlement_day: dayOf(settlement),
    taken_back: takenBack,
  }));
  await insertNew(session, 'outcomes', outcomeColumns, rows);
}
