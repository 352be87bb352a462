import type { HourPrice, PriceQuery } from '../../../core/ledger/prices.js';
import { formatAccount, type AccountName } from '../../../core/ledger/query.js';
import {
  maxTransfers,
  type AccountMovements,
  type BalanceAt,
  type MovementSum,
  type StatementQuery,
  type Transfer,
} from '../../../core/ledger/statement.js';
import { rollupUnits } from '../../../core/ledger/steps.js';
import type { AddressKey } from '../../../core/units/address.js';
import type { Hex } from '../../../core/units/hex.js';
import type { EpochMs } from '../../../core/units/time.js';
import { Values } from '../../postgres/transactions.js';
import type { Reader } from './reader.js';
import { dayOfTime, optional, type Row } from './record-rows.js';

export async function readStatement(
  reader: Reader,
  { accounts, paidFor, limit = Infinity, from, to }: StatementQuery,
): Promise<readonly AccountMovements[]> {
  const statements: AccountMovements[] = [];
  const names = new Set(accounts.map(formatAccount));
  const paid = paidFor === undefined ? [] : await readPaid(reader, paidFor, { from, to });
  const all = [...accounts, ...paid.filter((account) => !names.has(formatAccount(account)))];
  for (const account of all.slice(0, limit + 1))
    statements.push(await readAccount(reader, account, { from, to }));
  return statements;
}

/** Accounts that paid for an organisation in a range. */
async function readPaid(
  { dialect, query }: Reader,
  { organisation, paymasterId }: NonNullable<StatementQuery['paidFor']>,
  { from, to }: Pick<StatementQuery, 'from' | 'to'>,
): Promise<readonly AccountName[]> {
  const values = new Values();
  const ofPaymaster = paymasterId === undefined ? '' : `AND paymaster_id = ${values.add(paymasterId)}`;
  const rows = await query(
    `SELECT DISTINCT chain_id, contract, funding_address FROM ${dialect.table('movement')}
     WHERE organisation = ${values.add(organisation)} ${ofPaymaster} AND at >= ${values.add(from)} AND at < ${values.add(to)}
     ORDER BY chain_id, contract, funding_address`,
    values.list,
  );
  return rows.map((row) => ({
    chainId: Number(row['chain_id']),
    contract: String(row['contract']) as AddressKey,
    fundingAddress:
      row['funding_address'] === '' ? undefined : (String(row['funding_address']) as AddressKey),
  }));
}

async function readAccount(
  { dialect, query }: Reader,
  account: AccountName,
  { from, to }: Pick<StatementQuery, 'from' | 'to'>,
): Promise<AccountMovements> {
  const { chainId, contract, fundingAddress } = account;
  const movement = dialect.table('movement');
  const ofAccount = 'chain_id = $1 AND contract = $2 AND funding_address = $3';
  const values = [chainId, contract, fundingAddress ?? '', from, to];
  const balances = await query(
    `SELECT kind, at, block_number, amount_wei FROM ${movement}
     WHERE ${ofAccount} AND (kind = 'edge' AND (at = $4 OR at = $5) OR kind = 'seen' AND at >= $4 AND at < $5) ORDER BY block_number`,
    values,
  );
  const edge = (at: EpochMs) => balances.find((row) => row['kind'] === 'edge' && Number(row['at']) === at);
  const opening = toBalance(edge(from));
  const first = opening ?? toBalance(balances.find((row) => row['kind'] === 'seen'));
  const within = `${ofAccount} AND at >= $4 AND at < $5 AND block_number > $6 AND kind NOT IN ('edge', 'seen')`;
  const bounded = [...values, first?.blockNumber ?? -1];
  const hour = rollupUnits.hour;
  const sums = await query(
    `SELECT kind, organisation, paymaster_id, at - at % ${hour} AS hour, ${dialect.sum(`coalesce(amount_wei, ${dialect.wei(`'0'`)})`)} AS wei,
       sum(count) AS count, sum(CASE WHEN amount_wei IS NULL THEN 1 ELSE 0 END) AS unread
     FROM ${movement} WHERE ${within} GROUP BY kind, organisation, paymaster_id, at - at % ${hour}
     ORDER BY hour, kind, organisation, paymaster_id`,
    bounded,
  );
  const transfers = await query(
    `SELECT kind, at, block_number, transaction_hash, amount_wei, count FROM ${movement}
     WHERE ${within} AND kind IN ('deposit', 'withdrawal') ORDER BY block_number, kind LIMIT ${maxTransfers}`,
    bounded,
  );
  const covered = await query(
    `SELECT from_block, to_block FROM ${dialect.table('covered')} WHERE chain_id = $1 AND contract = $2 ORDER BY from_block`,
    [chainId, contract],
  );
  return {
    account,
    opening,
    first: opening === undefined ? first : undefined,
    closing: toBalance(edge(to)),
    sums: sums.map(toMovementSum),
    transfers: transfers.map(toTransfer),
    covered: covered.map((row) => ({
      fromBlock: Number(row['from_block']),
      toBlock: Number(row['to_block']),
    })),
  };
}

function toBalance(row: Row | undefined): BalanceAt | undefined {
  return (
    row && {
      blockNumber: Number(row['block_number']),
      at: Number(row['at']) as EpochMs,
      balanceWei: BigInt(String(row['amount_wei'])),
    }
  );
}

function toMovementSum(row: Row): MovementSum {
  return {
    kind: String(row['kind']) as MovementSum['kind'],
    organisation: String(row['organisation']),
    paymasterId: String(row['paymaster_id']),
    hour: Number(row['hour']) as EpochMs,
    wei: BigInt(String(row['wei'])),
    count: Number(row['count']),
    unread: Number(row['unread']),
  };
}

function toTransfer(row: Row): Transfer {
  return {
    kind: String(row['kind']) as Transfer['kind'],
    at: Number(row['at']) as EpochMs,
    blockNumber: Number(row['block_number']),
    transactionHash: optional(row['transaction_hash'], (hash) => String(hash) as Hex),
    amountWei: optional(row['amount_wei'], (wei) => BigInt(String(wei))),
    count: Number(row['count']),
  };
}

/** Of samples of contracts' deposits, which are taken of every chain that is followed. */
export async function readPrices(
  { dialect, query: ask }: Reader,
  { chainIds, from, to }: PriceQuery,
): Promise<readonly HourPrice[]> {
  if (chainIds.length === 0) return [];
  const values = new Values();
  const chains = chainIds.map((id) => values.add(id)).join(', ');
  const rows = await ask(
    `SELECT chain_id, start, at, usd_per_native FROM (
       SELECT chain_id, start, at, usd_per_native, row_number() OVER (PARTITION BY chain_id, start ORDER BY at, contract) AS place
       FROM ${dialect.table('funds')}
       WHERE chain_id IN (${chains}) AND unit = 'hour' AND funding_address = '' AND usd_per_native IS NOT NULL
         AND start >= ${values.add(from)} AND start < ${values.add(to)} AND day >= ${values.add(dayOfTime(from))} AND day <= ${values.add(dayOfTime(to))}
     ) AS sample WHERE place = 1 ORDER BY chain_id, start`,
    values.list,
  );
  return rows.map((row) => ({
    chainId: Number(row['chain_id']),
    hour: Number(row['start']) as EpochMs,
    at: Number(row['at']) as EpochMs,
    usdPerNative: BigInt(String(row['usd_per_native'])),
  }));
}
