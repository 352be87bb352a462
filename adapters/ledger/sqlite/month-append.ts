import { formatDecision } from '../../../core/ledger/decision-text.js';
import type { LedgerEntry } from '../../../core/ledger/ledger.js';
import { isPromise, minedDecision, outcomeOf } from '../../../core/ledger/outcome.js';
import { formatRecord } from '../../../core/ledger/record-text.js';
import type { Decision, RecordId, Reversal, Settlement } from '../../../core/ledger/record.js';
import { createTally, type Tally } from '../../../core/ledger/rollup.js';
import type { MonthFile } from './month-file.js';
import { candidatesOf, endingsOf, outcomeRow, promisesOf, type OutcomeRow } from './month-records.js';
import { operationShares } from './operation-series.js';
import { storeTally } from './rollup-rows.js';

/** `text`: the record as it came, if it came as a text. */
export type MonthEntry = LedgerEntry & { readonly text?: string };

/** What a batch adds to a reservation. */
type Touched = { readonly promises: Decision[]; hasEndings: boolean };

/** Stores entries of the month with their roll-ups, in one transaction; ignores those that are stored. */
export function appendToMonth(month: MonthFile, entries: readonly MonthEntry[]): void {
  month.transaction(() => {
    const tally = createTally(operationShares);
    const reservations = new Map<RecordId, Touched>();
    for (const entry of entries) insert(month, entry, tally, reservations);
    for (const [reservation, touched] of reservations) settle(month, reservation, touched, tally);
    storeTally(month, tally);
  });
}

function insert(
  month: MonthFile,
  { record, reservation, text }: MonthEntry,
  tally: Tally,
  reservations: Map<RecordId, Touched>,
): void {
  switch (record.kind) {
    case 'decision':
      if (!insertDecision(month, record, reservation, text)) return;
      tally.addDecision(record);
      if (reservation !== undefined && isPromise(record))
        touch(reservations, reservation).promises.push(record);
      return;
    case 'settlement':
    case 'reversal':
      if (insertEnding(month, record, reservation ?? record.id, text))
        touch(reservations, reservation ?? record.id).hasEndings = true;
      return;
    case 'gap': {
      const { changes } = month
        .statement('INSERT INTO gaps (id, record) VALUES (?, ?) ON CONFLICT DO NOTHING')
        .run(record.id, text ?? formatRecord(record));
      if (changes > 0) tally.addGap(record);
      return;
    }
    case 'funds':
    case 'inputs':
      // They have files of their own.
      return;
  }
}

function touch(reservations: Map<RecordId, Touched>, reservation: RecordId): Touched {
  const touched = reservations.get(reservation) ?? { promises: [], hasEndings: false };
  reservations.set(reservation, touched);
  return touched;
}

function insertDecision(
  month: MonthFile,
  decision: Decision,
  reservation: RecordId | undefined,
  text: string | undefined,
): boolean {
  const organisation = month.ownOrganisation(decision.organisation);
  const { changes } = month
    .statement(
      'INSERT INTO decisions (organisation, id, reservation, promise, digest, user_op_hash, record) VALUES (?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING',
    )
    .run(
      organisation,
      decision.id,
      reservation ?? null,
      isPromise(decision) ? 1 : 0,
      decision.digest ?? null,
      decision.userOpHash ?? null,
      text ?? formatDecision(decision),
    );
  if (changes === 0) return false;
  const { sender, requestId, callerRequestId, userOpHash } = decision;
  month.lookup.add(organisation, decision.id, { sender, requestId, userOpHash });
  if (callerRequestId !== undefined && callerRequestId !== requestId)
    month.lookup.add(organisation, decision.id, { requestId: callerRequestId });
  month.widen(decision.at);
  return true;
}

function insertEnding(
  month: MonthFile,
  ending: Settlement | Reversal,
  reservation: RecordId,
  text: string | undefined,
): boolean {
  const { changes } = month
    .statement('INSERT INTO endings (id, reservation, record) VALUES (?, ?, ?) ON CONFLICT DO NOTHING')
    .run(ending.id, reservation, text ?? formatRecord(ending));
  return changes > 0;
}

/**
 * Brings the sums of a reservation's outcome up to date: takes back what no longer holds, and adds what holds now. A
 * reservation can have very many decisions, because anybody may ask again for the same nonce; they are read one by one.
 */
function settle(month: MonthFile, reservation: RecordId, touched: Touched, tally: Tally): void {
  const before = outcomeRow(month, reservation);
  if (before === undefined && !touched.hasEndings) return;
  const { settlement, takenBack } = outcomeOf(endingsOf(month, reservation));
  const mined = minedDecision(settlement, candidatesOf(month, reservation));
  const isSame = before?.settlement?.id === settlement?.id && before?.mined === mined;

  if (isSame && settlement !== undefined)
    for (const promise of touched.promises) tally.addOutcome(promise, settlement, mined, 1);
  if (!isSame) {
    const added = new Set(touched.promises.map(({ id }) => id));
    for (const promise of promisesOf(month, reservation)) {
      if (before?.settlement !== undefined && !added.has(promise.id))
        tally.addOutcome(promise, before.settlement, before.mined, -1);
      if (settlement !== undefined) tally.addOutcome(promise, settlement, mined, 1);
    }
    if (before !== undefined && before.mined === undefined && before.settlement !== undefined)
      tally.addUnmatched(before.settlement, -1);
    if (settlement !== undefined && mined === undefined) tally.addUnmatched(settlement, 1);
  }
  storeOutcome(month, reservation, { settlement, mined, takenBack });
  if (!isSame) findByHash(month, reservation, { settlement, mined });
}

function storeOutcome(
  month: MonthFile,
  reservation: RecordId,
  { settlement, mined, takenBack }: OutcomeRow,
): void {
  month
    .statement(
      'INSERT OR REPLACE INTO outcomes (reservation, settlement, mined, taken_back) VALUES (?, ?, ?, ?)',
    )
    .run(reservation, settlement?.id ?? null, mined ?? null, takenBack);
}

/** Only now may the hash of the operation be known. */
function findByHash(
  month: MonthFile,
  reservation: RecordId,
  { settlement, mined }: Pick<OutcomeRow, 'settlement' | 'mined'>,
): void {
  const userOpHash = settlement?.mined?.userOpHash;
  if (mined === undefined || userOpHash === undefined) return;
  // The decision's: the follower does not know the organisation of a paymaster that was deleted meanwhile.
  const owner = month
    .statement('SELECT organisation FROM decisions WHERE reservation = ? AND id = ?')
    .get(reservation, mined);
  month.lookup.add(Number(owner?.['organisation']), mined, { userOpHash });
}
