import type {
  DecisionPage,
  DecisionQuery,
  DecisionView,
  SettlementView,
} from '../../../core/ledger/query.js';
import type { Decision, RecordId } from '../../../core/ledger/record.js';
import { isRecordId, lowestRecordId, recordTime } from '../../../core/ledger/record-id.js';
import type { EpochMs } from '../../../core/units/time.js';
import type { Hex } from '../../../core/units/hex.js';
import { Values, type Session } from '../../postgres/transactions.js';
import { dayOf, decisionOf, epochMs, minedOf } from './record-rows.js';

/** The first slice of time that is searched; the next ones are longer while they take little time. */
const firstSliceMs = 3_600_000;
const shortestSliceMs = 60_000;
/** A slice that took less is followed by a longer one, one that took more by a shorter one. */
const quickMs = 100;
const slowMs = 500;

/**
 * Searches from the newest on, one slice of time after the other, and stops after `forMs` with what it has found: no index suits
 * every combination of filters, and a value that few decisions have would let a single query run into its time limit. The answer
 * then says where the next one goes on, also when it found nothing.
 */
export async function searchDecisions(
  session: Session,
  query: DecisionQuery,
  forMs: number,
): Promise<DecisionPage> {
  const { before, limit } = query;
  const from = lowestRecordId(query.from);
  const to = lowestRecordId(query.to);
  const minedAs = query.userOpHash === undefined ? [] : await decisionsMinedAs(session, query.userOpHash);
  const until = performance.now() + forMs;
  const found: Decision[] = [];
  let below = before !== undefined && before < to ? before : to;
  for (let sliceMs = firstSliceMs; below > from;) {
    const begun = performance.now();
    const start = lowestRecordId(Math.max(query.from, recordTime(below) - sliceMs) as EpochMs);
    found.push(
      ...(await searchSlice(session, query, { from: start, below, minedAs, most: limit + 1 - found.length })),
    );
    if (found.length > limit || performance.now() > until) {
      const page = found.slice(0, limit);
      const next = found.length > limit ? page.at(-1)?.id : start;
      return { decisions: await viewsOf(session, page), next: next === from ? undefined : next };
    }
    below = start;
    const tookMs = performance.now() - begun;
    if (tookMs < quickMs) sliceMs *= 2;
    if (tookMs > slowMs) sliceMs = Math.max(shortestSliceMs, sliceMs / 2);
  }
  return { decisions: await viewsOf(session, found), next: undefined };
}

type Slice = {
  readonly from: RecordId;
  readonly below: RecordId;
  readonly minedAs: readonly unknown[];
  readonly most: number;
};

async function searchSlice(
  session: Session,
  query: DecisionQuery,
  { from, below, minedAs, most }: Slice,
): Promise<readonly Decision[]> {
  const values = new Values();
  const conditions = [
    `organisation = ${values.add(query.organisation)}`,
    `id >= ${values.add(from)} AND id < ${values.add(below)}`,
    `day BETWEEN ${values.add(dayOf({ id: from }))} AND ${values.add(dayOf({ id: below }))}`,
    ...filtersOf(query, minedAs, values),
  ];
  const rows = await session.query(
    `SELECT * FROM ledger.decisions WHERE ${conditions.join(' AND ')} ORDER BY id DESC LIMIT ${most}`,
    values.list,
  );
  return rows.map(decisionOf);
}

export async function findDecision(
  session: Session,
  organisation: string,
  id: RecordId,
): Promise<DecisionView | undefined> {
  if (!isRecordId(id)) return undefined;
  const rows = await session.query(
    'SELECT * FROM ledger.decisions WHERE id = $1 AND day = $2 AND organisation = $3',
    [id, dayOf({ id }), organisation],
  );
  const [view] = await viewsOf(session, rows.map(decisionOf));
  return view;
}

function filtersOf(query: DecisionQuery, minedAs: readonly unknown[], values: Values): readonly string[] {
  const columns = {
    paymaster_id: query.paymasterId,
    sender: query.sender,
    verdict: query.verdict,
    reason: query.reason,
  };
  const filters = Object.entries(columns)
    .filter(([, value]) => value !== undefined)
    .map(([name, value]) => `${name} = ${values.add(value)}`);
  const { reason, requestId, userOpHash } = query;
  // Their index has refusals only, and only they have a reason.
  if (reason !== undefined) filters.push("verdict = 'refused'");
  if (requestId !== undefined) {
    const place = values.add(requestId);
    filters.push(`(request_id = ${place} OR caller_request_id = ${place})`);
  }
  if (userOpHash !== undefined) {
    const isSigned = `user_op_hash = ${values.add(userOpHash)}`;
    // Without an alternative an index is used for certain.
    filters.push(
      minedAs.length === 0 ? isSigned : `(${isSigned} OR id = ANY(${values.add(minedAs)}::uuid[]))`,
    );
  }
  return filters;
}

/** The hash of a signed operation may be unknown until the operation is mined. */
async function decisionsMinedAs(session: Session, userOpHash: Hex): Promise<readonly unknown[]> {
  const rows = await session.query(
    `SELECT decision FROM ledger.settlements JOIN ledger.outcomes ON settlement = settlements.id
     WHERE user_op_hash = $1 AND outcomes.outcome = 'mined'`,
    [userOpHash],
  );
  return rows.map(({ decision }) => decision);
}

/** Each with the settlement that stands. */
async function viewsOf(session: Session, decisions: readonly Decision[]): Promise<readonly DecisionView[]> {
  if (decisions.length === 0) return [];
  const rows = await session.query(
    `SELECT settlements.*, decision, outcomes.outcome AS promise_outcome, taken_back
     FROM ledger.outcomes JOIN ledger.settlements
     ON settlements.id = settlement AND settlements.day = settlement_day
     WHERE decision = ANY($1::uuid[]) AND outcomes.day = ANY($2::date[])`,
    [decisions.map(({ id }) => id), [...new Set(decisions.map(dayOf))]],
  );
  const settlements = new Map<RecordId, SettlementView>();
  for (const row of rows) {
    const outcome = row['promise_outcome'] as SettlementView['outcome'];
    settlements.set(String(row['decision']), {
      outcome,
      at: epochMs(row['at']),
      mined: outcome === 'mined' ? minedOf(row) : undefined,
      takenBack: Number(row['taken_back']),
    });
  }
  return decisions.map((decision) => ({ decision, settlement: settlements.get(decision.id) }));
}
