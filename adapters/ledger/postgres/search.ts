import type {
  DecisionPage,
  DecisionQuery,
  DecisionView,
  SettlementView,
} from '../../../core/ledger/query.js';
import type { Decision, RecordId } from '../../../core/ledger/record.js';
import { isRecordId, lowestRecordId } from '../../../core/ledger/record-id.js';
import type { Hex } from '../../../core/units/hex.js';
import { Values, type Session } from './connection.js';
import { dayOf, decisionOf, epochMs, minedOf } from './record-rows.js';

export async function searchDecisions(session: Session, query: DecisionQuery): Promise<DecisionPage> {
  const { before, limit } = query;
  const from = lowestRecordId(query.from);
  const to = lowestRecordId(query.to);
  const below = before !== undefined && before < to ? before : to;
  if (below <= from) return { decisions: [], next: undefined };
  const values = new Values();
  const conditions = [
    `organisation = ${values.add(query.organisation)}`,
    `id >= ${values.add(from)} AND id < ${values.add(below)}`,
    `day BETWEEN ${values.add(dayOf({ id: from }))} AND ${values.add(dayOf({ id: below }))}`,
    ...(await filtersOf(session, query, values)),
  ];
  const rows = await session.query(
    `SELECT * FROM ledger.decisions WHERE ${conditions.join(' AND ')} ORDER BY id DESC LIMIT ${limit + 1}`,
    values.list,
  );
  const decisions = rows.slice(0, limit).map(decisionOf);
  return {
    decisions: await viewsOf(session, decisions),
    next: rows.length > limit ? decisions.at(-1)?.id : undefined,
  };
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

async function filtersOf(session: Session, query: DecisionQuery, values: Values): Promise<readonly string[]> {
  const columns = {
    paymaster_id: query.paymasterId,
    sender: query.sender,
    verdict: query.verdict,
    reason: query.reason,
  };
  const filters = Object.entries(columns)
    .filter(([, value]) => value !== undefined)
    .map(([name, value]) => `${name} = ${values.add(value)}`);
  const { requestId, userOpHash } = query;
  if (requestId !== undefined) {
    const place = values.add(requestId);
    filters.push(`(request_id = ${place} OR caller_request_id = ${place})`);
  }
  if (userOpHash !== undefined) {
    const mined = await decisionsMinedAs(session, userOpHash);
    const isSigned = `user_op_hash = ${values.add(userOpHash)}`;
    // Without an alternative an index is used for certain.
    filters.push(mined.length === 0 ? isSigned : `(${isSigned} OR id = ANY(${values.add(mined)}::uuid[]))`);
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
