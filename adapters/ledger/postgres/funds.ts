import type { AccountName, FundsHistory, FundsQuery } from '../../../core/ledger/query.js';
import { accountValue } from '../../../core/ledger/shares.js';
import { spansOf, startOf, endOf } from '../../../core/ledger/steps.js';
import type { EpochMs } from '../../../core/units/time.js';
import { Values, type Session } from '../../postgres/transactions.js';
import { epochMs, timestamp } from './record-rows.js';

export async function readFunds(session: Session, query: FundsQuery): Promise<readonly FundsHistory[]> {
  const { accounts, samples: isAsked = true } = query;
  const spent = await readSpent(session, query);
  const histories: FundsHistory[] = [];
  for (const account of accounts) {
    const samples = isAsked ? await readSamples(session, account, query) : [];
    histories.push({ account, samples, spentWei: spent.get(accountValue(account) ?? '') ?? 0n });
  }
  return histories;
}

/** Those of minutes as long as they are kept, and of hours, which are some of them. */
async function readSamples(
  session: Session,
  { chainId, contract, fundingAddress }: AccountName,
  { from, to }: FundsQuery,
): Promise<FundsHistory['samples']> {
  // A sample belongs to the minute or hour that began before it.
  const part = (unit: 'minute' | 'hour', first: string): string =>
    `SELECT at, balance_wei, promised_wei FROM ledger.funds_${unit}
     WHERE chain_id = $1 AND contract = $2 AND funding_address = $3
     AND ${unit} >= ${first} AND ${unit} < $5 AND at >= $4 AND at < $5`;
  const rows = await session.query(`${part('minute', '$6')} UNION ${part('hour', '$7')} ORDER BY at`, [
    chainId,
    contract,
    fundingAddress ?? '',
    timestamp(from),
    timestamp(to),
    timestamp(startOf(from, 'minute')),
    timestamp(startOf(from, 'hour')),
  ]);
  return rows.map((row) => ({
    at: epochMs(row['at']),
    balanceWei: BigInt(String(row['balance_wei'])),
    promisedWei: BigInt(String(row['promised_wei'])),
  }));
}

/** By account, in whole minutes, over all organisations whose operations the account paid. */
async function readSpent(
  session: Session,
  { accounts, from, to }: FundsQuery,
): Promise<ReadonlyMap<string, bigint>> {
  const range = { from: startOf(from, 'minute'), to: endOf((to - 1) as EpochMs, 'minute') };
  const values = new Values();
  const names = values.add(accounts.map(accountValue));
  const parts = spansOf(range, 'month').map(
    (span) =>
      `SELECT value, spent_wei FROM ledger.usage_${span.unit} WHERE dimension = 'account' AND value = ANY(${names})
       AND start >= ${values.add(timestamp(span.from))} AND start < ${values.add(timestamp(span.to))}`,
  );
  if (parts.length === 0) return new Map();
  const rows = await session.query(
    `SELECT value, sum(spent_wei) AS spent FROM (${parts.join(' UNION ALL ')}) AS part GROUP BY value`,
    values.list,
  );
  return new Map(rows.map((row) => [String(row['value']), BigInt(String(row['spent']))]));
}
