import { addToken, noAmounts, shownAmounts, type MutableAmounts } from '../../../core/ledger/amounts.js';
import type { UsageQuery, UsageRow } from '../../../core/ledger/query.js';
import { rollupUnits, rowRange, spansOf, startOf } from '../../../core/ledger/steps.js';
import type { AddressKey } from '../../../core/units/address.js';
import type { EpochMs } from '../../../core/units/time.js';
import { Values, type Row, type Session } from '../../postgres/transactions.js';
import { timestamp } from './record-rows.js';
import { sumColumns, unknownDecimals } from './rollup-rows.js';
import { senderAmounts } from './sender-rows.js';

/** Rows of usage, from the largest roll-ups that make up the range. */
export async function readUsage(session: Session, query: UsageQuery): Promise<readonly UsageRow[]> {
  const values = new Values();
  const source =
    query.groupBy === 'sender' ? senderSource(query, values) : rollupSource(query, values, 'usage');
  if (source === undefined) return [];
  const sums = Object.keys(sumColumns);
  const rows = await session.query(
    `SELECT ${bucketMs}, value, ${sums.map((name) => `sum(${name}) AS ${name}`).join(', ')} FROM (${source}) AS part
     GROUP BY bucket, value HAVING ${sums.map((name) => `sum(${name}) <> 0`).join(' OR ')}
     ORDER BY bucket, value COLLATE "C" LIMIT ${query.limit + 1}`,
    values.list,
  );
  if (rows.length === 0) return [];
  const found = new Map<string, { readonly row: Row; readonly amounts: MutableAmounts }>();
  for (const row of rows) found.set(nameOf(row), { row, amounts: senderAmounts(row) });
  for (const token of await readTokens(session, query)) {
    const decimals = token['decimals'] === unknownDecimals ? undefined : Number(token['decimals']);
    const amount = BigInt(String(token['amount']));
    const amounts = found.get(nameOf(token))?.amounts ?? noAmounts();
    addToken(amounts, String(token['token']) as AddressKey, { amount, decimals });
  }
  const senders = await readSenders(session, query);
  return [...found].map(([name, { row, amounts }]) => {
    const range = rowRange(bucketOf(row), query.step, query);
    return {
      ...range,
      group: query.groupBy === undefined ? undefined : String(row['value']),
      ...shownAmounts(amounts),
      senders: senders === undefined ? undefined : senders.has(name) ? senders.get(name) : 0,
    };
  });
}

/** Sums are kept of each paymaster, so those without a group are found there. */
function dimensionOf({ groupBy }: UsageQuery): string {
  return groupBy ?? 'paymaster';
}

function rollupSource(query: UsageQuery, values: Values, table: 'usage' | 'tokens'): string | undefined {
  const columns = table === 'usage' ? Object.keys(sumColumns) : ['token', 'decimals', 'amount'];
  const where = [...ownerFilter(query, values), `dimension = ${values.add(dimensionOf(query))}`].join(
    ' AND ',
  );
  const parts = spansOf(query, query.step).map(
    ({ unit, from, to }) =>
      `SELECT date_trunc('${query.step}', start) AS bucket, ${valueOf(query)} AS value, ${columns.join(', ')}
       FROM ledger.${table}_${unit}
       WHERE ${where} AND start >= ${values.add(timestamp(from))} AND start < ${values.add(timestamp(to))}`,
  );
  return parts.length === 0 ? undefined : parts.join(' UNION ALL ');
}

function valueOf({ groupBy }: UsageQuery): string {
  if (groupBy === 'sender') return 'sender';
  return groupBy === undefined ? "''::text" : 'value';
}

function ownerFilter({ organisation, paymasterId }: UsageQuery, values: Values): readonly string[] {
  const owner = `organisation = ${values.add(organisation)}`;
  return paymasterId === undefined ? [owner] : [owner, `paymaster_id = ${values.add(paymasterId)}`];
}

/** Senders are counted per day: the range is whole days. */
function senderSource(query: UsageQuery, values: Values): string {
  return `SELECT date_trunc('${query.step}', day) AS bucket, sender AS value, ${Object.keys(sumColumns).join(', ')}, tokens
    FROM ledger.senders_day WHERE ${[...ownerFilter(query, values), ...dayFilter(query, values)].join(' AND ')}`;
}

function dayFilter({ from, to }: UsageQuery, values: Values): readonly string[] {
  return [`day >= ${values.add(timestamp(startOf(from, 'day')))}`, `day < ${values.add(timestamp(to))}`];
}

function readTokens(session: Session, query: UsageQuery): Promise<readonly Row[]> {
  const values = new Values();
  const source =
    query.groupBy === 'sender'
      ? `SELECT bucket, value, item ->> 0 AS token, coalesce((item ->> 1)::integer, ${unknownDecimals}) AS decimals,
           (item ->> 2)::numeric AS amount
         FROM (${senderSource(query, values)}) AS day, jsonb_array_elements(tokens) AS one (item)`
      : rollupSource(query, values, 'tokens');
  return session.query(
    `SELECT ${bucketMs}, value, token, decimals, sum(amount) AS amount FROM (${source}) AS part
     GROUP BY bucket, value, token, decimals`,
    values.list,
  );
}

/**
 * Distinct senders by row. A sender of a day has the minutes of its first and last operation: it counts for a row that
 * holds either. Between them it cannot be told, and such a row has no number.
 */
async function readSenders(
  session: Session,
  query: UsageQuery,
): Promise<ReadonlyMap<string, number | undefined> | undefined> {
  if (!query.senders || query.step === 'month') return undefined;
  const values = new Values();
  const where = [...ownerFilter(query, values), ...dayFilter(query, values)].join(' AND ');
  const dimension = query.groupBy === 'sender' ? 'paymaster' : dimensionOf(query);
  const value = query.groupBy === undefined || query.groupBy === 'sender' ? valueOf(query) : 'item ->> 1';
  const length = `interval '${rollupUnits[query.step] / 60_000} minutes'`;
  const rows = await session.query(
    `WITH seen AS (
       SELECT sender, ${value} AS value, day + (item ->> 2)::integer * interval '1 minute' AS first,
         day + (item ->> 3)::integer * interval '1 minute' AS last
       FROM ledger.senders_day, jsonb_array_elements(seen) AS one (item)
       WHERE ${where} AND item ->> 0 = ${values.add(dimension)}
     ), spread AS (
       SELECT *, greatest(bucket, ${values.add(timestamp(query.from))}::timestamptz) AS row_from,
         least(bucket + ${length}, ${values.add(timestamp(query.to))}::timestamptz) AS row_to
       FROM seen, generate_series(date_trunc('${query.step}', first), last, ${length}) AS bucket
     )
     SELECT ${bucketMs}, value,
       count(DISTINCT sender) FILTER (
         WHERE (first >= row_from AND first < row_to) OR (last >= row_from AND last < row_to)
       ) AS senders,
       bool_or(first < row_from AND last >= row_to) AS is_unknown
     FROM spread GROUP BY bucket, value`,
    values.list,
  );
  return new Map(
    rows.map((row) => [nameOf(row), row['is_unknown'] === true ? undefined : Number(row['senders'])]),
  );
}

/** Milliseconds, because to read a time from its text costs more than all the rest of a row. */
const bucketMs = '(extract(epoch FROM bucket) * 1000)::bigint AS bucket_ms';

function bucketOf(row: Row): EpochMs {
  return Number(row['bucket_ms']) as EpochMs;
}

function nameOf(row: Row): string {
  return `${bucketOf(row)} ${String(row['value'])}`;
}
