import type { AccountName, FundsHistory, FundsQuery } from '../../../core/ledger/query.js';
import { accountValue } from '../../../core/ledger/shares.js';
import { endOf, listSpans, startOf } from '../../../core/ledger/steps.js';
import type { EpochMs } from '../../../core/units/time.js';
import { Values } from '../../postgres/transactions.js';
import type { Reader } from './reader.js';
import { dayOfTime, optional } from './record-rows.js';
import type { Sums } from './sums.js';

/** `tail`: the sums of records that were written after the stored sums. */
export async function readFunds(
  reader: Reader,
  query: FundsQuery,
  tail: Sums,
): Promise<readonly FundsHistory[]> {
  const { accounts, samples: isAsked = true } = query;
  if (accounts.length === 0) return [];
  const spent = await readSpent(reader, query, tail);
  const histories: FundsHistory[] = [];
  for (const account of accounts) {
    const samples = isAsked ? await readSamples(reader, account, query) : [];
    histories.push({ account, samples, spentWei: spent.get(accountValue(account) ?? '') ?? 0n });
  }
  return histories;
}

/** Those of minutes as long as they are kept, and of hours, which are some of them. */
async function readSamples(
  { dialect, query: ask }: Reader,
  { chainId, contract, fundingAddress }: AccountName,
  { from, to }: FundsQuery,
): Promise<FundsHistory['samples']> {
  // A sample belongs to the minute or hour that began before it.
  const part = (unit: 'minute' | 'hour', first: string): string =>
    `SELECT at, balance_wei, promised_wei, usd_per_native FROM ${dialect.table('funds')}
     WHERE chain_id = $1 AND contract = $2 AND funding_address = $3 AND unit = '${unit}'
     AND start >= ${first} AND start < $5 AND at >= $4 AND at < $5 AND day >= $8 AND day <= $9`;
  const rows = await ask(`${part('minute', '$6')} UNION ${part('hour', '$7')} ORDER BY at`, [
    chainId,
    contract,
    fundingAddress ?? '',
    from,
    to,
    startOf(from, 'minute'),
    startOf(from, 'hour'),
    dayOfTime(from),
    dayOfTime(to),
  ]);
  return rows.map((row) => ({
    at: Number(row['at']) as EpochMs,
    balanceWei: BigInt(String(row['balance_wei'])),
    promisedWei: BigInt(String(row['promised_wei'])),
    usdPerNative: optional(row['usd_per_native'], (price) => BigInt(String(price))),
  }));
}

/** By account, in whole minutes, over all organisations whose operations the account paid. */
async function readSpent(
  { dialect, query: ask }: Reader,
  { accounts, from, to }: FundsQuery,
  tail: Sums,
): Promise<ReadonlyMap<string, bigint>> {
  const spans = listSpans(
    { from: startOf(from, 'minute'), to: endOf((to - 1) as EpochMs, 'minute') },
    'month',
  );
  if (spans.length === 0) return new Map();
  const names = accounts.map((account) => accountValue(account) ?? '');
  const values = new Values();
  const isOne = dialect.among(values.add(JSON.stringify(names)), 'text');
  const parts = spans.map(
    (span) =>
      `SELECT value, spent_wei FROM ${dialect.table('usage')}
       WHERE dimension = 'account' AND value ${isOne} AND unit = '${span.unit}'
       AND start >= ${values.add(span.from)} AND start < ${values.add(span.to)}`,
  );
  const rows = await ask(
    `SELECT value, ${dialect.sum('spent_wei')} AS spent FROM (${parts.join(' UNION ALL ')}) AS part GROUP BY value`,
    values.list,
  );
  const spent = new Map(rows.map((row) => [String(row['value']), BigInt(String(row['spent']))]));
  const wanted = new Set(names);
  for (const { key, amounts } of tail.values()) {
    const value = String(key.value);
    const isWithin = spans.some(
      ({ unit, ...span }) => key.unit === unit && key.start >= span.from && key.start < span.to,
    );
    if (key.dimension === 'account' && wanted.has(value) && isWithin)
      spent.set(value, (spent.get(value) ?? 0n) + amounts.spentWei);
  }
  return spent;
}
