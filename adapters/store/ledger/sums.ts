import {
  addAmounts,
  addToken,
  noAmounts,
  type Amounts,
  type MutableAmounts,
} from '../../../core/ledger/amounts.js';
import type { Tally } from '../../../core/ledger/rollup.js';
import { startOf, type RollupUnit } from '../../../core/ledger/steps.js';
import type { AddressKey } from '../../../core/units/address.js';
import type { EpochMs } from '../../../core/units/time.js';
import { usageKey, type RowOf } from './columns.js';
import type { Reader } from './reader.js';
import { parseJsonColumn, type Row } from './record-rows.js';
import { keyText } from './text.js';

type Key = Readonly<Record<(typeof usageKey)[number], string | number>> & { readonly start: EpochMs };
export type Sum = { readonly key: Key; readonly amounts: MutableAmounts };
/** By key. */
export type Sums = ReadonlyMap<string, Sum>;

const units: readonly RollupUnit[] = ['minute', 'hour', 'day'];

/** What a tally adds to the sums of minutes, hours and days, and to those of senders. */
export function sumTally(tally: Tally): Sums {
  const sums = new Map<string, Sum>();
  for (const { minute, organisation, paymasterId, dimension, value, amounts } of tally.rollups())
    for (const unit of units) {
      const key = { unit, start: startOf(minute, unit), ...ownedBy(organisation, paymasterId) };
      addTo(sums, { ...key, dimension, value: keyText(value) }, amounts);
    }
  for (const { day, organisation, paymasterId, sender, amounts } of tally.senders()) {
    const key = { unit: 'day', start: day, ...ownedBy(organisation, paymasterId) };
    addTo(sums, { ...key, dimension: 'sender', value: keyText(sender) }, amounts);
  }
  return sums;
}

function ownedBy(organisation: string, paymasterId: string) {
  return { organisation: keyText(organisation), paymaster_id: keyText(paymasterId) };
}

/** Adds what is stored for the same keys. So the rows of these sums replace the stored ones. */
export async function addStored({ dialect, query }: Reader, sums: Sums): Promise<void> {
  const keys = [...sums.values()].map(({ key }) => key);
  if (keys.length === 0) return;
  const starts = keys.map(({ start }) => start);
  const columns = {
    organisation: 'text',
    dimension: 'text',
    paymaster_id: 'text',
    unit: 'text',
    start: 'integer',
    value: 'text',
  } as const;
  const same = usageKey.map((name) => `old.${name} = asked.${name}`).join(' AND ');
  const rows = await query(
    `SELECT old.* FROM ${dialect.rows('$1', 'asked', columns)} CROSS JOIN ${dialect.table('usage')} AS old
     WHERE ${same} AND old.start BETWEEN $2 AND $3`,
    [JSON.stringify(keys), Math.min(...starts), Math.max(...starts)],
  );
  const found = sums as Map<string, Sum>;
  for (const row of rows) addTo(found, toSumKey(row), toAmounts(row));
}

export function addSums(sums: Map<string, Sum>, more: Sums): void {
  for (const { key, amounts } of more.values()) addTo(sums, key, amounts);
}

function addTo(sums: Map<string, Sum>, key: Key, amounts: Amounts): void {
  const name = usageKey.map((column) => key[column]).join('\n');
  let sum = sums.get(name);
  if (sum === undefined) {
    sum = { key, amounts: noAmounts() };
    sums.set(name, sum);
  }
  addAmounts(sum.amounts, amounts);
}

export function usageRows(sums: Sums): readonly RowOf<'usage'>[] {
  return [...sums.values()].map(({ key, amounts }) => ({
    unit: key.unit,
    start: key.start,
    organisation: key.organisation,
    paymaster_id: key.paymaster_id,
    dimension: key.dimension,
    value: key.value,
    asks: amounts.asks,
    sponsored: amounts.sponsored,
    refused: amounts.refused,
    mined: amounts.mined,
    reverted: amounts.reverted,
    expired: amounts.expired,
    promised_wei: String(amounts.promisedWei),
    spent_wei: String(amounts.spentWei),
    tokens: JSON.stringify(
      [...amounts.tokens].map(([token, { amount, decimals }]) => [token, decimals ?? null, String(amount)]),
    ),
  }));
}

function toSumKey(row: Row): Key {
  return {
    unit: String(row['unit']),
    start: Number(row['start']) as EpochMs,
    organisation: String(row['organisation']),
    paymaster_id: String(row['paymaster_id']),
    dimension: String(row['dimension']),
    value: String(row['value']),
  };
}

/** Sums of a row of usage, or of several added up. */
export function toAmounts(row: Row): MutableAmounts {
  const amounts: MutableAmounts = {
    asks: Number(row['asks']),
    sponsored: Number(row['sponsored']),
    refused: Number(row['refused']),
    mined: Number(row['mined']),
    reverted: Number(row['reverted']),
    expired: Number(row['expired']),
    promisedWei: BigInt(String(row['promised_wei'])),
    spentWei: BigInt(String(row['spent_wei'])),
    tokens: new Map(),
  };
  for (const [address, decimals, amount] of parseJsonColumn(row['tokens'] ?? []) as [
    AddressKey,
    number | null,
    string,
  ][])
    addToken(amounts, address, { amount: BigInt(amount), decimals: decimals ?? undefined });
  return amounts;
}
