import type { LedgerEntry } from '../../../core/ledger/ledger.js';
import { isPromise, minedDecision, outcomeOf } from '../../../core/ledger/outcome.js';
import { packContext, packOwn } from '../../../core/ledger/packed-decision.js';
import { formatRecord } from '../../../core/ledger/record-text.js';
import type { Decision, RecordId, Reversal, Settlement } from '../../../core/ledger/record.js';
import { createTally, type Tally } from '../../../core/ledger/rollup.js';
import type { BlockEntry, StoredDecision } from './decision-blocks.js';
import type { MonthFile } from './month-file.js';
import { endingsOf, outcomeRow, promisesOf, type OutcomeRow } from './month-records.js';
import { operationShares } from './operation-series.js';
import { storeTally } from './rollup-rows.js';

/** `text`: the record as it came, if it came as a text; of a decision, what is not in `context`. */
export type MonthEntry = LedgerEntry & { readonly context?: string; readonly text?: string };

/** What a batch adds to a reservation. */
type Touched = { readonly promises: Decision[]; hasEndings: boolean };

/** Stores entries of the month with their roll-ups, in one transaction; ignores those that are stored. */
export function appendToMonth(month: MonthFile, entries: readonly MonthEntry[]): void {
  month.transaction(() => {
    const tally = createTally(operationShares);
    const reservations = new Map<RecordId, Touched>();
    const decisions = new Map<string, DecisionEntry[]>();
    for (const entry of entries) {
      const { record } = entry;
      if (record.kind === 'decision') push(decisions, record.organisation, decisionEntry(entry, record));
      else insert(month, entry, tally, reservations);
    }
    for (const [organisation, made] of decisions)
      for (const added of insertDecisions(month, month.ownOrganisation(organisation), made))
        count(added, tally, reservations);
    for (const [reservation, touched] of reservations) settle(month, reservation, touched, tally);
    storeTally(month, tally);
  });
}

type DecisionEntry = BlockEntry & { readonly decision: Decision };

function decisionEntry({ reservation, context, text }: MonthEntry, decision: Decision): DecisionEntry {
  const packed =
    context === undefined || text === undefined
      ? { context: packContext(decision), text: packOwn(decision) }
      : { context, text };
  return { id: decision.id, reservation, ...packed, decision };
}

function insertDecisions(
  month: MonthFile,
  organisation: number,
  entries: readonly DecisionEntry[],
): readonly DecisionEntry[] {
  const added = month.blocks.insert(organisation, entries);
  for (const { id, decision } of added) {
    const { at, sender, requestId, callerRequestId, userOpHash } = decision;
    month.lookup.add(organisation, id, { sender, requestId, userOpHash });
    if (callerRequestId !== undefined && callerRequestId !== requestId)
      month.lookup.add(organisation, id, { requestId: callerRequestId });
    month.widen(at);
  }
  return added;
}

function count(
  { decision, reservation }: DecisionEntry,
  tally: Tally,
  reservations: Map<RecordId, Touched>,
): void {
  tally.addDecision(decision);
  if (reservation !== undefined && isPromise(decision))
    touch(reservations, reservation).promises.push(decision);
}

function insert(
  month: MonthFile,
  { record, reservation, text }: MonthEntry,
  tally: Tally,
  reservations: Map<RecordId, Touched>,
): void {
  switch (record.kind) {
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
    case 'decision':
    case 'funds':
    case 'inputs':
      // Decisions are stored together; the others have files of their own.
      return;
  }
}

function touch(reservations: Map<RecordId, Touched>, reservation: RecordId): Touched {
  const touched = reservations.get(reservation) ?? { promises: [], hasEndings: false };
  reservations.set(reservation, touched);
  return touched;
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
  const mined = minedDecision(settlement, decisionsOf(promisesOf(month, reservation)));
  const isSame = before?.settlement?.id === settlement?.id && before?.mined === mined;

  if (isSame && settlement !== undefined)
    for (const promise of touched.promises) tally.addOutcome(promise, settlement, mined, 1);
  if (!isSame) {
    const added = new Set(touched.promises.map(({ id }) => id));
    for (const promise of decisionsOf(promisesOf(month, reservation))) {
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
  for (const { organisation, decision } of promisesOf(month, reservation))
    if (decision.id === mined) month.lookup.add(organisation, mined, { userOpHash });
}

function* decisionsOf(stored: Iterable<StoredDecision>): Iterable<Decision> {
  for (const { decision } of stored) yield decision;
}

function push<Value>(lists: Map<string, Value[]>, name: string, value: Value): void {
  const list = lists.get(name);
  if (list === undefined) lists.set(name, [value]);
  else list.push(value);
}
