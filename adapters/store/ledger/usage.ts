import {
  addToken,
  noAmounts,
  shownAmounts,
  withoutKey,
  type MutableAmounts,
} from '../../../core/ledger/amounts.js';
import type { UsageQuery, UsageRow } from '../../../core/ledger/query.js';
import { rollupUnits, rowRange, listSpans, startOf } from '../../../core/ledger/steps.js';
import type { AddressKey } from '../../../core/units/address.js';
import type { EpochMs } from '../../../core/units/time.js';
import { Values } from '../../postgres/transactions.js';
import { columns, sumColumns } from './columns.js';
import type { Reader } from './reader.js';
import type { Row } from './record-rows.js';
import { toAmounts, usageRows, type Sums } from './sums.js';

/**
 * Rows of usage: from the largest sums that make up the range, and from `tail`, the sums of rows that were written after them. Senders have
 * sums of days only.
 */
export async function readUsage(reader: Reader, query: UsageQuery, tail: Sums): Promise<readonly UsageRow[]> {
  const rows = await readRows(reader, query, tail);
  if (query.groupBy !== 'key') return rows;
  const all = await readRows(reader, { ...query, groupBy: undefined }, tail);
  return withoutKey(rows, all).slice(0, query.limit + 1);
}

async function readRows(reader: Reader, query: UsageQuery, tail: Sums): Promise<readonly UsageRow[]> {
  const { dialect } = reader;
  const parts = usageParts(reader, query, tail);
  const values = new Values();
  const source = parts(queryDimension(query), values);
  if (source === undefined) return [];
  const sumColumn = (name: (typeof sumColumns)[number]): string =>
    columns.usage[name] === 'wei' ? dialect.sum(name) : `sum(${name})`;
  const rows = await reader.query(
    `SELECT bucket, value, ${sumColumns.map((name) => `${sumColumn(name)} AS ${name}`).join(', ')} FROM (${source}) AS part
     GROUP BY bucket, value
     HAVING ${sumColumns.map((name) => `${sumColumn(name)} <> ${columns.usage[name] === 'wei' ? `'0'` : '0'}`).join(' OR ')}
     ORDER BY bucket, value LIMIT ${query.limit + 1}`,
    values.list,
  );
  if (rows.length === 0) return [];
  const found = new Map<string, { readonly row: Row; readonly amounts: MutableAmounts }>();
  for (const row of rows) found.set(rowKey(row), { row, amounts: toAmounts(row) });
  for (const token of await readTokens(reader, query, parts)) {
    const amounts = found.get(rowKey(token))?.amounts ?? noAmounts();
    addToken(amounts, String(token['token']) as AddressKey, {
      amount: BigInt(String(token['amount'])),
      decimals: token['decimals'] === null ? undefined : Number(token['decimals']),
    });
  }
  return [...found.values()].map(({ row, amounts }) => ({
    ...rowRange(Number(row['bucket']) as EpochMs, query.step, query),
    group: query.groupBy === undefined ? undefined : String(row['value']),
    ...shownAmounts(amounts),
  }));
}

/** Sums are kept of each paymaster, so those without a group are found there. */
function queryDimension({ groupBy }: UsageQuery): string {
  return groupBy ?? 'paymaster';
}

type Parts = ReturnType<typeof usageParts>;

/** The rows of a dimension in the range, with their `bucket`: the step that they belong to. Undefined for an empty range. */
function usageParts({ dialect }: Reader, query: UsageQuery, tail: Sums) {
  const { organisation, paymasterId, step } = query;
  const bucket = step === 'month' ? dialect.monthOf('start') : `start - start % ${rollupUnits[step]}`;
  const value = query.groupBy === undefined ? `''` : 'value';
  const named = [...sumColumns].join(', ');

  return (dimension: string, values: Values): string | undefined => {
    const isSender = dimension === 'sender';
    const spans = isSender
      ? ([{ unit: 'day', from: startOf(query.from, 'day'), to: query.to }] as const).filter(
          ({ from, to }) => from < to,
        )
      : listSpans(query, step);
    if (spans.length === 0) return undefined;
    const where = [
      `organisation = ${values.add(organisation)}`,
      `dimension = ${values.add(dimension)}`,
      ...(paymasterId === undefined ? [] : [`paymaster_id = ${values.add(paymasterId)}`]),
    ].join(' AND ');
    const kept = usageRows(
      new Map(
        [...tail].filter(
          ([, { key }]) =>
            key.organisation === organisation &&
            key.dimension === dimension &&
            (paymasterId === undefined || key.paymaster_id === paymasterId) &&
            spans.some(({ unit, from, to }) => key.unit === unit && key.start >= from && key.start < to),
        ),
      ),
    );
    // One type for both: amounts of a parameter are text.
    const tailColumns = `start, value, ${named}, ${dialect.json('tokens')} AS tokens`;
    const all = [
      ...spans.map(
        ({ unit, from, to }) =>
          `SELECT start, value, ${named}, tokens FROM ${dialect.table('usage')}
           WHERE ${where} AND unit = '${unit}' AND start >= ${values.add(from)} AND start < ${values.add(to)}`,
      ),
      ...(kept.length === 0
        ? []
        : [
            `SELECT ${tailColumns} FROM ${dialect.rows(values.add(JSON.stringify(kept)), 'added', columns.usage)}`,
          ]),
    ].join(' UNION ALL ');
    return `SELECT ${bucket} AS bucket, ${value} AS value, ${named}, tokens FROM (${all}) AS each_sum`;
  };
}

function readTokens(
  { dialect, query: ask }: Reader,
  query: UsageQuery,
  parts: Parts,
): Promise<readonly Row[]> {
  const values = new Values();
  const source = parts(queryDimension(query), values);
  return ask(
    `SELECT bucket, value, token, decimals, ${dialect.sum('amount')} AS amount FROM (
       SELECT bucket, part.value AS value, item.value ->> 0 AS token, CAST(item.value ->> 1 AS bigint) AS decimals,
         ${dialect.wei('item.value ->> 2')} AS amount
       FROM (${source}) AS part, ${dialect.elements('part.tokens', 'item')}) AS token
     GROUP BY bucket, value, token, decimals`,
    values.list,
  );
}

function rowKey(row: Row): string {
  return `${String(row['bucket'])} ${String(row['value'])}`;
}
