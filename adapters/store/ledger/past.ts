import type { PastGap, PastPage, PastQuery, PastRecord } from '../../../core/ledger/past.js';
import { minRecordId } from '../../../core/ledger/record-id.js';
import { Values } from '../../postgres/transactions.js';
import type { Reader } from './reader.js';
import { recordDay, dayOfTime, type Row } from './record-rows.js';

/** Decisions and ends of one paymaster in the order of their ids. */
export async function readPast(
  { dialect, query: ask }: Reader,
  { organisation, paymasterId, from, to, after, limit }: PastQuery,
): Promise<PastPage> {
  const values = new Values();
  const [first, end] = [after ?? minRecordId(from), minRecordId(to)];
  const within = [
    `organisation = ${values.add(organisation)} AND paymaster_id = ${values.add(paymasterId)}`,
    `id > ${values.add(first)} AND id < ${values.add(end)}`,
    `day >= ${values.add(recordDay(first))} AND day <= ${values.add(recordDay(end))}`,
  ].join(' AND ');
  const text = (column: string): string => `CAST(${column} AS text) AS ${column}`;
  const none = (column: string): string => `CAST(NULL AS text) AS ${column}`;
  const part = (table: 'decision' | 'settlement', columns: readonly string[]): string =>
    `SELECT * FROM (SELECT ${columns.join(', ')} FROM ${dialect.table(table)} AS stored
     WHERE ${within} ORDER BY stored.id LIMIT ${limit}) AS of_${table}`;
  const only = [
    'verdict',
    'reason',
    'mode',
    'entry_point',
    'sender',
    'nonce',
    'factory',
    'calls',
    'calls_left_out',
    'policies',
    'max_cost_wei',
    'usd_per_native',
  ];
  const ends = ['outcome', 'actual_gas_cost_wei'];
  const rows = await ask(
    `${part('decision', [...['id', 'reservation', ...only].map(text), ...ends.map(none)])}
     UNION ALL ${part('settlement', [...['id', 'reservation'].map(text), ...only.map(none), ...ends.map(text)])}
     ORDER BY id LIMIT ${limit}`,
    values.list,
  );
  const last = rows.length < limit ? undefined : String(rows.at(-1)?.['id']);
  return { text: JSON.stringify(rows.map(toPastRecord)), last };
}

export async function readGaps(
  { dialect, query: ask }: Reader,
  { organisation, paymasterId, from, to }: Omit<PastQuery, 'after' | 'limit'>,
): Promise<readonly PastGap[]> {
  const rows = await ask(
    `SELECT cause, reason, CAST(sum(count) AS bigint) AS count FROM ${dialect.table('gap')}
     WHERE organisation = $1 AND paymaster_id = $2 AND at >= $3 AND at < $4 AND day >= $5 AND day <= $6
     GROUP BY cause, reason ORDER BY cause, reason`,
    [organisation, paymasterId, from, to, dayOfTime(from), dayOfTime(to)],
  );
  return rows.map(({ cause, reason, count }) => ({
    cause: String(cause) as PastGap['cause'],
    reason: typeof reason === 'string' ? reason : undefined,
    count: Number(count),
  }));
}

function toPastRecord(row: Row): PastRecord {
  const { id, reservation, verdict } = row as Record<string, string>;
  if (verdict === null)
    return {
      id,
      reservation,
      verdict,
      outcome: row['outcome'],
      cost: row['actual_gas_cost_wei'],
    } as PastRecord;
  // The columns hold what `decisionRow` has written.
  return {
    id,
    verdict,
    reason: row['reason'],
    mode: row['mode'],
    reservation,
    entryPoint: row['entry_point'],
    sender: row['sender'],
    nonce: row['nonce'],
    factory: row['factory'],
    calls: row['calls'],
    callsLeftOut: row['calls_left_out'] === null ? null : Number(row['calls_left_out']),
    campaign: campaignIn(String(row['policies'])),
    maxCost: row['max_cost_wei'],
    usdPerNative: row['usd_per_native'],
  } as PastRecord;
}

/** Few decisions have one, and reading JSON of each would take a third of the time. */
function campaignIn(policies: string): string | null {
  if (!policies.includes('"campaign"')) return null;
  const all = JSON.parse(policies) as readonly { policyId: string; effect: string }[];
  return all.find(({ effect }) => effect === 'campaign')?.policyId ?? null;
}
