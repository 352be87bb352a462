import { addAmounts, noAmounts, type Amounts, type MutableAmounts } from '../../../core/ledger/amounts.js';
import type { RollupDelta } from '../../../core/ledger/rollup.js';
import { startOf, type RollupUnit } from '../../../core/ledger/steps.js';
import type { Session } from '../../postgres/transactions.js';
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
    const [owner, paymaster, shown] = [keyText(organisation), keyText(paymasterId), keyText(value)];
    const name = `${start}\n${owner}\n${paymaster}\n${dimension}\n${shown}`;
    let sum = sums.get(name);
    if (sum === undefined) {
      const key = {
        start: timestamp(start),
        organisation: owner,
        paymaster_id: paymaster,
        dimension,
        value: shown,
      };
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

/** Sums without zeros, of which there are many. */
export function sumsOf(amounts: Amounts): { readonly [Name in keyof typeof sumColumns]?: number | string } {
  const { sponsored, refused, mined, reverted, expired, promisedWei, spentWei } = amounts;
  return {
    ...(sponsored !== 0 && { sponsored }),
    ...(refused !== 0 && { refused }),
    ...(mined !== 0 && { mined }),
    ...(reverted !== 0 && { reverted }),
    ...(expired !== 0 && { expired }),
    ...(promisedWei !== 0n && { promised_wei: String(promisedWei) }),
    ...(spentWei !== 0n && { spent_wei: String(spentWei) }),
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

/** A sum that {@link sumsOf} has left out. */
export function orZero(name: string): string {
  return `coalesce(${name}, 0)`;
}

async function add(
  session: Session,
  table: string,
  keys: Readonly<Record<string, string>>,
  sums: Readonly<Record<string, string>>,
  rows: readonly object[],
): Promise<void> {
  if (rows.length === 0) return;
  const keyNames = Object.keys(keys).join(', ');
  const sumNames = Object.keys(sums);
  const changes = sumNames.map((name) => `${name} = old.${name} + excluded.${name}`);
  await session.query(
    `INSERT INTO ledger.${table} AS old (${keyNames}, ${sumNames.join(', ')})
     SELECT ${keyNames}, ${sumNames.map(orZero).join(', ')} FROM ${rowsOf('added', { ...keys, ...sums })}
     ON CONFLICT (${keyNames}) DO UPDATE SET ${changes.join(', ')}`,
    [jsonOf(rows)],
  );
}
