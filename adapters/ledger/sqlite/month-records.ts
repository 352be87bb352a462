import { isPromise, type Outcome } from '../../../core/ledger/outcome.js';
import type { DecisionView } from '../../../core/ledger/query.js';
import { parseRecord } from '../../../core/ledger/record-text.js';
import type { LedgerRecord, RecordId, Reversal, Settlement } from '../../../core/ledger/record.js';
import { integerOf, textOf, type Row } from '../../sqlite/row.js';
import type { StoredDecision } from './decision-blocks.js';
import type { MonthFile } from './month-file.js';

/** The records of a reservation as a month's file has them, and what is known about its end. */

export type OutcomeRow = Outcome & { readonly mined: RecordId | undefined };

export function outcomeRow(month: MonthFile, reservation: RecordId): OutcomeRow | undefined {
  const row = month
    .statement(
      'SELECT mined, taken_back, record FROM outcomes o LEFT JOIN endings e ON e.id = o.settlement WHERE o.reservation = ?',
    )
    .get(reservation);
  if (row === undefined) return undefined;
  const settlement = row['record'] === null ? undefined : recordOf(row);
  if (settlement !== undefined && settlement.kind !== 'settlement')
    throw new TypeError(`outcome of ${reservation} names a record of kind ${settlement.kind}`);
  return { settlement, mined: optionalText(row, 'mined'), takenBack: integerOf(row, 'taken_back') };
}

export function* endingsOf(month: MonthFile, reservation: RecordId): Iterable<Settlement | Reversal> {
  const rows = month.statement('SELECT record FROM endings WHERE reservation = ?').all(reservation);
  for (const row of rows) {
    const record = recordOf(row);
    if (record.kind === 'settlement' || record.kind === 'reversal') yield record;
  }
}

/** The decisions of a reservation that promised something. */
export function* promisesOf(month: MonthFile, reservation: RecordId): Iterable<StoredDecision> {
  for (const stored of month.blocks.ofReservation(reservation)) if (isPromise(stored.decision)) yield stored;
}

/** Undefined when the organisation has no such decision in this file. */
export function viewOf(month: MonthFile, organisation: number, id: RecordId): DecisionView | undefined {
  const stored = month.blocks.find(organisation, id);
  if (stored === undefined) return undefined;
  const { decision, reservation } = stored;
  const none = { decision, settlement: undefined };
  if (reservation === undefined || decision.verdict !== 'sponsored') return none;
  const outcome = outcomeRow(month, reservation);
  if (outcome?.settlement === undefined) return none;
  const { settlement, takenBack, mined } = outcome;
  const { at } = settlement;
  if (settlement.outcome === 'mined' && mined !== decision.id)
    return { decision, settlement: { outcome: 'spent-elsewhere', at, mined: undefined, takenBack } };
  return { decision, settlement: { outcome: settlement.outcome, at, mined: settlement.mined, takenBack } };
}

function recordOf(row: Row): LedgerRecord {
  const record = parseRecord(textOf(row, 'record'));
  // Only an append of this release or an earlier one writes rows: a newer one raises the version of the file.
  if (record === undefined) throw new TypeError('a row holds a record of a newer form');
  return record;
}

function optionalText(row: Row, column: string): string | undefined {
  return row[column] === null ? undefined : textOf(row, column);
}
