import { addAmounts, noAmounts, type Amounts, type MutableAmounts } from '../../../core/ledger/amounts.js';
import type { RollupDelta, SenderDelta, Tally } from '../../../core/ledger/rollup.js';
import type { AddressKey } from '../../../core/units/address.js';
import type { EpochMs } from '../../../core/units/time.js';
import { integerOf, textOf, type Row } from '../../sqlite/row.js';
import type { MonthFile } from './month-file.js';

/** Lengths of the units, in minutes, and of the buckets of their rows; days have a single bucket. */
export const units = { minute: 1, hour: 60, day: 1440 } as const;
const bucketLengths = { minute: 60, hour: 1440, day: Number.MAX_SAFE_INTEGER } as const;
type Unit = keyof typeof units;

export function bucketOf(unit: Unit, minute: number): number {
  return minute - (minute % bucketLengths[unit]);
}

/** First minutes of the buckets that have rows in a range of minutes. */
export function bucketsOf(unit: Unit, from: number, to: number): number[] {
  const buckets: number[] = [];
  for (let at = bucketOf(unit, from); at < to; at += bucketLengths[unit]) buckets.push(at);
  return buckets;
}

export function toMinutes(at: EpochMs): number {
  return at / 60_000;
}

export function toEpochMs(minutes: number): EpochMs {
  return (minutes * 60_000) as EpochMs;
}

/** Adds a tally to the stored sums, within the caller's transaction. */
export function storeTally(month: MonthFile, tally: Tally): void {
  const sums = new Map<string, { key: readonly number[]; amounts: MutableAmounts }>();
  for (const delta of tally.rollups()) {
    month.widen(delta.minute);
    // Of accounts, only what they spent is asked for.
    if (delta.dimension === 'account' && delta.amounts.spentWei === 0n) continue;
    addToUnits(sums, delta, seriesOf(month, delta));
  }
  for (const { key, amounts } of sums.values()) storeSum(month, key, amounts);
  // Senders with the same kind of operation share one list.
  const seen = new Map<SenderDelta['seen'], string>();
  for (const delta of tally.senders()) {
    let text = seen.get(delta.seen);
    if (text === undefined) seen.set(delta.seen, (text = seenText(month, delta)));
    storeSender(month, delta, text);
  }
}

function addToUnits(
  sums: Map<string, { key: readonly number[]; amounts: MutableAmounts }>,
  delta: RollupDelta,
  series: number,
): void {
  const minute = toMinutes(delta.minute);
  for (const unit of ['minute', 'hour', 'day'] as const) {
    const at = minute - (minute % units[unit]);
    const name = `${units[unit]} ${series} ${at}`;
    let sum = sums.get(name);
    if (sum === undefined) {
      sum = { key: [units[unit], bucketOf(unit, at), series, at], amounts: noAmounts() };
      sums.set(name, sum);
    }
    addAmounts(sum.amounts, delta.amounts);
  }
}

export const columns = 'sponsored, refused, mined, reverted, expired, promised_wei, spent_wei, tokens';

function storeSum(month: MonthFile, key: readonly number[], amounts: MutableAmounts): void {
  const row = month
    .statement(`SELECT ${columns} FROM rollups WHERE unit = ? AND bucket = ? AND series = ? AND at = ?`)
    .get(...key);
  if (row !== undefined) addAmounts(amounts, amountsOf(row));
  month
    .statement(
      `INSERT OR REPLACE INTO rollups (unit, bucket, series, at, ${columns}) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
    )
    .run(...key, ...valuesOf(amounts));
}

/** A value that the sender had operations sponsored for: its series, and the first and the last minute. */
export type SeenSeries = readonly [series: number, first: number, last: number];

export function seenOf(row: Row): readonly SeenSeries[] {
  return parseSeen(textOf(row, 'seen'));
}

/** Series with the same minutes together, because nearly all of a sender's have the same. */
function formatSeen(seen: Iterable<SeenSeries>): string {
  const parts = new Map<string, string>();
  for (const [series, first, last] of seen) {
    const minutes = `${first} ${last}`;
    parts.set(minutes, `${parts.get(minutes) ?? minutes} ${series}`);
  }
  return [...parts.values()].join(';');
}

function parseSeen(text: string): readonly SeenSeries[] {
  if (text === '') return [];
  return text.split(';').flatMap((part) => {
    const [first = 0, last = 0, ...series] = part.split(' ').map(Number);
    return series.map((id): SeenSeries => [id, first, last]);
  });
}

function seenText(month: MonthFile, { organisation, paymasterId, seen }: SenderDelta): string {
  const series: SeenSeries[] = [];
  for (const { dimension, value, first, last } of seen)
    if (dimension !== 'account')
      series.push([
        seriesOf(month, { organisation, paymasterId, dimension, value }),
        toMinutes(first),
        toMinutes(last),
      ]);
  return formatSeen(series);
}

function storeSender(month: MonthFile, delta: SenderDelta, seen: string): void {
  const { organisation, paymasterId } = delta;
  const paymaster = seriesOf(month, {
    organisation,
    paymasterId,
    dimension: 'paymaster',
    value: paymasterId,
  });
  const key = [toMinutes(delta.day), paymaster, delta.sender];
  // Most senders have one operation per day, so their row is inserted without looking for an earlier one first.
  const { changes } = month
    .statement(`INSERT INTO sender_days ${senderColumns} ON CONFLICT DO NOTHING`)
    .run(...key, ...valuesOf(delta.amounts), seen);
  if (changes === 0) addToStored(month, key, delta.amounts, seen);
}

const senderColumns = `(day, paymaster, sender, ${columns}, seen) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`;

function addToStored(month: MonthFile, key: readonly (number | string)[], more: Amounts, seen: string): void {
  const row = month
    .statement(`SELECT ${columns}, seen FROM sender_days WHERE day = ? AND paymaster = ? AND sender = ?`)
    .get(...key);
  if (row === undefined) throw new TypeError('the row of a sender can neither be inserted nor read');
  const amounts = noAmounts();
  addAmounts(amounts, more);
  addAmounts(amounts, amountsOf(row));
  const merged = new Map(seenOf(row).map((one) => [one[0], one]));
  for (const [series, from, to] of parseSeen(seen)) {
    const [, earlier, later] = merged.get(series) ?? [series, from, to];
    merged.set(series, [series, Math.min(earlier, from), Math.max(later, to)]);
  }
  month
    .statement(`INSERT OR REPLACE INTO sender_days ${senderColumns}`)
    .run(...key, ...valuesOf(amounts), formatSeen(merged.values()));
}

function seriesOf(
  month: MonthFile,
  {
    organisation,
    dimension,
    paymasterId,
    value,
  }: Pick<RollupDelta, 'organisation' | 'dimension' | 'paymasterId' | 'value'>,
): number {
  return month.ownSeries({
    organisation: month.ownOrganisation(organisation),
    dimension,
    paymasterId,
    value,
  });
}

type StoredToken = readonly [address: AddressKey, amount: string, decimals: number | null];

/** Of a row of `rollups` or `sender_days`. */
export function amountsOf(row: Row): Amounts {
  return {
    sponsored: integerOf(row, 'sponsored'),
    refused: integerOf(row, 'refused'),
    mined: integerOf(row, 'mined'),
    reverted: integerOf(row, 'reverted'),
    expired: integerOf(row, 'expired'),
    promisedWei: BigInt(textOf(row, 'promised_wei')),
    spentWei: BigInt(textOf(row, 'spent_wei')),
    tokens: row['tokens'] === null ? noTokens : tokensOf(textOf(row, 'tokens')),
  };
}

const noTokens: Amounts['tokens'] = new Map();

function tokensOf(text: string): Amounts['tokens'] {
  return new Map(
    (JSON.parse(text) as StoredToken[]).map(([address, amount, decimals]) => [
      address,
      { amount: BigInt(amount), decimals: decimals ?? undefined },
    ]),
  );
}

function valuesOf({ sponsored, refused, mined, reverted, expired, promisedWei, spentWei, tokens }: Amounts) {
  return [
    sponsored,
    refused,
    mined,
    reverted,
    expired,
    String(promisedWei),
    String(spentWei),
    tokens.size === 0 ? null : tokensText(tokens),
  ];
}

function tokensText(tokens: Amounts['tokens']): string {
  return JSON.stringify(
    [...tokens].map(([address, { amount, decimals }]): StoredToken => [
      address,
      String(amount),
      decimals ?? null,
    ]),
  );
}
