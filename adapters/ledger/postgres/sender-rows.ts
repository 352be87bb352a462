import {
  addAmounts,
  addToken,
  noAmounts,
  type Amounts,
  type MutableAmounts,
} from '../../../core/ledger/amounts.js';
import type { Seen, SenderDelta } from '../../../core/ledger/rollup.js';
import type { RollupDimension } from '../../../core/ledger/shares.js';
import type { AddressKey } from '../../../core/units/address.js';
import type { EpochMs } from '../../../core/units/time.js';
import type { Row, Session } from '../../postgres/transactions.js';
import { jsonOf, keyText, rowsOf } from './insert.js';
import { epochMs, timestamp } from './record-rows.js';
import { orZero, sumColumns, sumsOf } from './rollup-rows.js';

const keyColumns = {
  day: 'timestamptz',
  organisation: 'text',
  paymaster_id: 'text',
  sender: 'text',
} as const;
const valueColumns = { ...sumColumns, tokens: 'jsonb', seen: 'jsonb' } as const;

type SenderDay = {
  readonly key: Record<keyof typeof keyColumns, string>;
  readonly amounts: MutableAmounts;
  readonly seen: Map<string, Seen>;
};

/**
 * Adds to the sums of senders, one row per sender and day. `seen` of a row is merged here and not by the database,
 * which is safe because there is one writer at a time.
 */
export async function storeSenders(session: Session, deltas: readonly SenderDelta[]): Promise<void> {
  if (deltas.length === 0) return;
  const senders = new Map<string, SenderDay>();
  for (const { day, organisation, paymasterId, sender, amounts, seen } of deltas)
    addTo(senders, { day, organisation, paymaster_id: paymasterId, sender }, amounts, seen);
  const keys = [...senders.values()].map(({ key }) => key);
  const days = keys.map(({ day }) => day).toSorted();
  const names = Object.keys(keyColumns);
  // The range of days, so that only their parts of the table are searched.
  const stored = await session.query(
    `SELECT old.* FROM ${rowsOf('key', keyColumns)} JOIN ledger.senders_day AS old USING (${names.join(', ')})
     WHERE old.day BETWEEN $2 AND $3`,
    [jsonOf(keys), days[0], days.at(-1)],
  );
  for (const row of stored)
    addTo(
      senders,
      {
        day: epochMs(row['day']),
        organisation: String(row['organisation']),
        paymaster_id: String(row['paymaster_id']),
        sender: String(row['sender']),
      },
      senderAmounts(row),
      seenOf(row),
    );
  const columns = [...names, ...Object.keys(valueColumns)].join(', ');
  const changes = Object.keys(valueColumns).map((name) => `${name} = excluded.${name}`);
  await session.query(
    `INSERT INTO ledger.senders_day (${columns})
     SELECT ${names.join(', ')}, ${Object.keys(sumColumns).map(orZero).join(', ')}, tokens, seen
     FROM ${rowsOf('added', { ...keyColumns, ...valueColumns })}
     ON CONFLICT (${names.join(', ')}) DO UPDATE SET ${changes.join(', ')}`,
    [jsonOf([...senders.values()].map(rowOf))],
  );
}

type Key = { readonly day: EpochMs } & Record<'organisation' | 'paymaster_id' | 'sender', string>;

function addTo(senders: Map<string, SenderDay>, key: Key, amounts: Amounts, seen: readonly Seen[]): void {
  const text = {
    day: timestamp(key.day),
    organisation: keyText(key.organisation),
    paymaster_id: keyText(key.paymaster_id),
    sender: keyText(key.sender),
  };
  const name = JSON.stringify(Object.values(text));
  const sum = senders.get(name) ?? { key: text, amounts: noAmounts(), seen: new Map<string, Seen>() };
  senders.set(name, sum);
  addAmounts(sum.amounts, amounts);
  for (const one of seen) see(sum.seen, { ...one, value: keyText(one.value) });
}

/** The time between the first and the last operation, of both. */
function see(seen: Map<string, Seen>, more: Seen): void {
  const name = `${more.dimension}\n${more.value}`;
  const before = seen.get(name) ?? more;
  seen.set(name, {
    ...more,
    first: Math.min(before.first, more.first) as EpochMs,
    last: Math.max(before.last, more.last) as EpochMs,
  });
}

const minuteMs = 60_000;

function rowOf({ key, amounts, seen }: SenderDay): object {
  const start = Date.parse(key.day);
  const minuteOfDay = (at: EpochMs): number => (at - start) / minuteMs;
  return {
    ...key,
    ...sumsOf(amounts),
    tokens: [...amounts.tokens].map(([address, { amount, decimals }]) => [
      address,
      decimals ?? null,
      String(amount),
    ]),
    seen: [...seen.values()].map(({ dimension, value, first, last }) => [
      dimension,
      value,
      minuteOfDay(first),
      minuteOfDay(last),
    ]),
  };
}

/** Sums of a row of `senders_day`. */
export function senderAmounts(row: Row): MutableAmounts {
  const amounts: MutableAmounts = {
    sponsored: Number(row['sponsored']),
    refused: Number(row['refused']),
    mined: Number(row['mined']),
    reverted: Number(row['reverted']),
    expired: Number(row['expired']),
    promisedWei: BigInt(String(row['promised_wei'])),
    spentWei: BigInt(String(row['spent_wei'])),
    tokens: new Map(),
  };
  for (const [address, decimals, amount] of (row['tokens'] ?? []) as [AddressKey, number | null, string][])
    addToken(amounts, address, { amount: BigInt(amount), decimals: decimals ?? undefined });
  return amounts;
}

function seenOf(row: Row): readonly Seen[] {
  const start = epochMs(row['day']);
  const at = (minute: number): EpochMs => (start + minute * minuteMs) as EpochMs;
  return (row['seen'] as [RollupDimension, string, number, number][]).map(
    ([dimension, value, first, last]) => ({ dimension, value, first: at(first), last: at(last) }),
  );
}
