import { addAmounts, noAmounts, type Amounts, type MutableAmounts } from '../../../core/ledger/amounts.js';
import type { RollupDelta } from '../../../core/ledger/rollup.js';
import { startOf, type RollupUnit } from '../../../core/ledger/steps.js';
import type { Session } from './connection.js';
import { jsonOf, keyText, rowsOf } from './insert.js';
import { timestamp } from './record-rows.js';

const keyColumns = {
  start: 'timestamptz',
  organisation: 'text',
  paymaster_id: 'text',
  dimension: 'text',
  value: 'text',
} as const;

export const sumColumns = {
  sponsored: 'bigint',
  refused: 'bigint',
  mined: 'bigint',
  reverted: 'bigint',
  expired: 'bigint',
  promised_wei: 'numeric',
  spent_wei: 'numeric',
} as const;

/** No decimals are known: no token has as many. */
export const unknownDecimals = -1;

const units: readonly RollupUnit[] = ['minute', 'hour', 'day'];

/** Adds to the sums of minutes, hours and days. */
export async function storeRollups(session: Session, deltas: readonly RollupDelta[]): Promise<void> {
  for (const unit of units) {
    const sums = summed(deltas, unit);
    await add(session, `usage_${unit}`, keyColumns, sumColumns, sums.map(sumsRow));
    await add(
      session,
      `tokens_${unit}`,
      { ...keyColumns, token: 'text', decimals: 'integer' },
      { amount: 'numeric' },
      sums.flatMap(tokenRows),
    );
  }
}

type Sum = { readonly key: Record<keyof typeof keyColumns, string>; readonly amounts: MutableAmounts };

function summed(deltas: readonly RollupDelta[], unit: RollupUnit): readonly Sum[] {
  const sums = new Map<string, Sum>();
  for (const { minute, organisation, paymasterId, dimension, value, amounts } of deltas) {
    const start = startOf(minute, unit);
    const key = {
      start: timestamp(start),
      organisation: keyText(organisation),
      paymaster_id: keyText(paymasterId),
      dimension,
      value: keyText(value),
    };
    const name = Object.values(key).join('\n');
    let sum = sums.get(name);
    if (sum === undefined) {
      sum = { key, amounts: noAmounts() };
      sums.set(name, sum);
    }
    addAmounts(sum.amounts, amounts);
  }
  return [...sums.values()];
}

function sumsRow({ key, amounts }: Sum): object {
  return { ...key, ...sumsOf(amounts) };
}

export function sumsOf(amounts: Amounts): { readonly [Name in keyof typeof sumColumns]: number | string } {
  return {
    sponsored: amounts.sponsored,
    refused: amounts.refused,
    mined: amounts.mined,
    reverted: amounts.reverted,
    expired: amounts.expired,
    promised_wei: String(amounts.promisedWei),
    spent_wei: String(amounts.spentWei),
  };
}

function tokenRows({ key, amounts }: Sum): readonly object[] {
  return [...amounts.tokens].map(([token, { amount, decimals }]) => ({
    ...key,
    token,
    decimals: decimals ?? unknownDecimals,
    amount: String(amount),
  }));
}

async function add(
  session: Session,
  table: string,
  keys: Readonly<Record<string, string>>,
  sums: Readonly<Record<string, string>>,
  rows: readonly object[],
): Promise<void> {
  if (rows.length === 0) return;
  const columns = { ...keys, ...sums };
  const names = Object.keys(columns).join(', ');
  const changes = Object.keys(sums).map((name) => `${name} = old.${name} + excluded.${name}`);
  await session.query(
    `INSERT INTO ledger.${table} AS old (${names}) SELECT ${names} FROM ${rowsOf('added', columns)}
     ON CONFLICT (${Object.keys(keys).join(', ')}) DO UPDATE SET ${changes.join(', ')}`,
    [jsonOf(rows)],
  );
}
