import type { DecisionPage, DecisionQuery, DecisionView } from '../../../core/ledger/query.js';
import { isRecordId, minRecordId, recordTime } from '../../../core/ledger/record-id.js';
import type { Decision, RecordId } from '../../../core/ledger/record.js';
import type { EpochMs } from '../../../core/units/time.js';
import type { Hex } from '../../../core/units/hex.js';
import { Values } from '../../postgres/transactions.js';
import { endedReservations, listEnds, toSettlementView, type End } from './ends.js';
import type { Reader } from './reader.js';
import { recordDay, toDecision, type Row } from './record-rows.js';

/** The first slice of time that is searched; the next ones are longer while they take little time. */
const firstSliceMs = 3_600_000;
const minSliceMs = 60_000;
/** A slice that took less is followed by a longer one, one that took more by a shorter one. */
const quickMs = 100;
const slowMs = 500;

/**
 * Searches from the newest on, one slice of time after the other, and stops after `forMs` with what it has found: no index suits
 * every combination of filters, and a value that few decisions have would let a single query run into its time limit. The answer
 * then says where the next one goes on, also when it found nothing.
 */
export async function searchDecisions(
  reader: Reader,
  query: DecisionQuery,
  forMs: number,
): Promise<DecisionPage> {
  const { before, limit } = query;
  const from = minRecordId(query.from);
  const to = minRecordId(query.to);
  const until = performance.now() + forMs;
  const minedAs =
    query.userOpHash === undefined ? [] : await decisionsMinedAs(reader, query.userOpHash, from);
  const found: Row[] = [];
  let below = before !== undefined && before < to ? before : to;
  for (let sliceMs = firstSliceMs; below > from;) {
    const begun = performance.now();
    const start = minRecordId(Math.max(query.from, recordTime(below) - sliceMs) as EpochMs);
    const slice = { from: start, below, minedAs, most: limit + 1 - found.length };
    found.push(...(await searchSlice(reader, query, slice)));
    if (found.length > limit || performance.now() > until) {
      const page = await readViews(reader, found.slice(0, limit));
      const next = found.length > limit ? page.at(-1)?.decision.id : start;
      return { decisions: page, next: next === from ? undefined : next };
    }
    below = start;
    const tookMs = performance.now() - begun;
    if (tookMs < quickMs) sliceMs *= 2;
    if (tookMs > slowMs) sliceMs = Math.max(minSliceMs, sliceMs / 2);
  }
  return { decisions: await readViews(reader, found), next: undefined };
}

/** Undefined when the organisation has no such decision. */
export async function findDecision(
  reader: Reader,
  organisation: string,
  id: RecordId,
): Promise<DecisionView | undefined> {
  if (!isRecordId(id)) return undefined;
  const rows = await reader.query(
    `SELECT * FROM ${reader.dialect.table('decision')} WHERE id = $1 AND day = $2 AND organisation = $3`,
    [id, recordDay(id), organisation],
  );
  return (await readViews(reader, rows))[0];
}

type Slice = {
  readonly from: RecordId;
  readonly below: RecordId;
  readonly minedAs: readonly RecordId[];
  readonly most: number;
};

function searchSlice(
  { dialect, query: ask }: Reader,
  query: DecisionQuery,
  { from, below, minedAs, most }: Slice,
): Promise<readonly Row[]> {
  const values = new Values();
  const { paymasterId, sender, verdict, reason, requestId, userOpHash, key, selector, minCostWei } = query;
  const conditions = [
    `organisation = ${values.add(query.organisation)}`,
    `id >= ${values.add(from)} AND id < ${values.add(below)}`,
    `day >= ${values.add(recordDay(from))} AND day <= ${values.add(recordDay(below))}`,
  ];
  for (const [column, value] of Object.entries({ paymaster_id: paymasterId, sender, verdict, reason }))
    if (value !== undefined) conditions.push(`${column} = ${values.add(value)}`);
  if (requestId !== undefined) {
    const place = values.add(requestId);
    conditions.push(`(request_id = ${place} OR caller_request_id = ${place})`);
  }
  const contains = (column: 'calls' | 'policies', condition: string): string =>
    `EXISTS (SELECT 1 FROM ${dialect.elements(column, 'one')} WHERE ${condition})`;
  if (selector !== undefined)
    conditions.push(contains('calls', `one.value ->> 'selector' = ${values.add(selector)}`));
  if (key !== undefined)
    conditions.push(
      contains(
        'policies',
        `one.value ->> 'effect' = 'key' AND one.value ->> 'policyId' = ${values.add(key)}`,
      ),
    );
  if (minCostWei !== undefined)
    conditions.push(dialect.atLeast('max_cost_wei', values.add(String(minCostWei))));
  if (userOpHash !== undefined) {
    const isSigned = `user_op_hash = ${values.add(userOpHash)}`;
    const mined = minedAs.length === 0 ? undefined : dialect.among(values.add(JSON.stringify(minedAs)), 'id');
    // Without an alternative an index is used for certain.
    conditions.push(mined === undefined ? isSigned : `(${isSigned} OR id ${mined})`);
  }
  return ask(
    `SELECT * FROM ${dialect.table('decision')} WHERE ${conditions.join(' AND ')} ORDER BY id DESC LIMIT ${most}`,
    values.list,
  );
}

/** The hash of a signed operation may be unknown until the operation is mined. */
async function decisionsMinedAs(
  reader: Reader,
  userOpHash: Hex,
  from: RecordId,
): Promise<readonly RecordId[]> {
  const rows = await reader.query(
    `SELECT reservation FROM ${reader.dialect.table('settlement')}
     WHERE user_op_hash = $1 AND day >= $2 AND reservation IS NOT NULL`,
    [userOpHash, recordDay(from)],
  );
  const ended = await endedReservations(reader, new Set(rows.map((row) => String(row['reservation']))));
  return ended
    .flatMap((reservation) => [...listEnds(reservation).ends.values()])
    .filter(({ outcome, settlement }) => outcome === 'mined' && settlement.mined?.userOpHash === userOpHash)
    .map(({ decision }) => decision.id);
}

/** Each with the settlement that stands. */
async function readViews(reader: Reader, rows: readonly Row[]): Promise<readonly DecisionView[]> {
  const reservations = new Set<string>();
  for (const { reservation } of rows) if (typeof reservation === 'string') reservations.add(reservation);
  const ends = new Map<RecordId, End>();
  for (const reservation of await endedReservations(reader, reservations))
    for (const [id, end] of listEnds(reservation).ends) ends.set(id, end);
  return rows.map(toDecision).map((decision: Decision) => {
    const end = ends.get(decision.id);
    return { decision, settlement: end && toSettlementView(end) };
  });
}
