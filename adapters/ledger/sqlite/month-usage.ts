import type { UsageQuery, UsageRow } from '../../../core/ledger/query.js';
import type { RollupDimension } from '../../../core/ledger/shares.js';
import { spansOf, startOf, type Range } from '../../../core/ledger/steps.js';
import { createUsageSums, type UsageSums } from '../../../core/ledger/usage-sums.js';
import type { EpochMs } from '../../../core/units/time.js';
import { integerOf, textOf, type Row } from '../../sqlite/row.js';
import type { MonthFile } from './month-file.js';
import { seriesOfGroup } from './operation-series.js';
import { amountsOf, bucketsOf, columns, seenOf, toEpochMs, toMinutes, units } from './rollup-rows.js';

const dayMs = 86_400_000;

/** Answers from the roll-ups of all files whose records lie in the range. */
export function usageOf(months: readonly MonthFile[], query: UsageQuery): readonly UsageRow[] {
  const sums = createUsageSums(query);
  if (query.groupBy === 'sender') addSenderDays(months, query, sums);
  else for (const month of months) addRollups(month, query, sums, seriesIn(month, query));
  const rows = sums.rows();
  return query.senders && query.step !== 'month' ? countSenders(months, query, rows) : rows;
}

/** Cost of mined operations by account, regardless of who asked for them. */
export function spentBy(months: readonly MonthFile[], account: string, range: Range): bigint {
  let spent = 0n;
  for (const month of months) {
    const rows = month
      .statement("SELECT id FROM series WHERE dimension = 'account' AND value = ?")
      .all(account);
    for (const row of rows)
      for (const rollup of rollupsOf(month, integerOf(row, 'id'), range, 'month'))
        spent += rollup.amounts.spentWei;
  }
  return spent;
}

type QueriedSeries = { readonly id: number; readonly group: string | undefined };

/** The series whose sums make up the answer, each with its row's group. */
function seriesIn(month: MonthFile, query: UsageQuery): QueriedSeries[] {
  const { dimension, valueOf } = seriesOfGroup(query.groupBy);
  return seriesOf(month, query, dimension).map((row) => ({
    id: integerOf(row, 'id'),
    group: valueOf(textOf(row, 'paymaster_id'), textOf(row, 'value')),
  }));
}

function paymastersIn(month: MonthFile, query: UsageQuery): number[] {
  return seriesOf(month, query, 'paymaster').map((row) => integerOf(row, 'id'));
}

function seriesOf(month: MonthFile, query: UsageQuery, dimension: RollupDimension): Row[] {
  const organisation = month.organisation(query.organisation);
  if (organisation === undefined) return [];
  const read = 'SELECT id, paymaster_id, value FROM series WHERE organisation = ? AND dimension = ?';
  return query.paymasterId === undefined
    ? month.statement(read).all(organisation, dimension)
    : month.statement(`${read} AND paymaster_id = ?`).all(organisation, dimension, query.paymasterId);
}

function addRollups(
  month: MonthFile,
  query: UsageQuery,
  sums: UsageSums,
  series: readonly QueriedSeries[],
): void {
  for (const { id, group } of series)
    for (const { at, amounts } of rollupsOf(month, id, query, query.step)) sums.add(at, group, amounts);
}

function* rollupsOf(month: MonthFile, series: number, range: Range, step: UsageQuery['step']) {
  const read = month.statement(
    `SELECT at, ${columns} FROM rollups WHERE unit = ? AND bucket = ? AND series = ? AND at >= ? AND at < ?`,
  );
  const held = month.bounds();
  if (held === undefined) return;
  for (const span of spansOf(range, step)) {
    // A range may be much longer than the month.
    const from = toMinutes(startOf(Math.max(span.from, held.first) as EpochMs, span.unit));
    const to = toMinutes(Math.min(span.to, held.last + 1) as EpochMs);
    for (const bucket of bucketsOf(span.unit, from, to))
      for (const row of read.all(units[span.unit], bucket, series, from, to))
        yield { at: toEpochMs(integerOf(row, 'at')), amounts: amountsOf(row) };
  }
}

/** Sums per sender have days as their only unit. */
function addSenderDays(months: readonly MonthFile[], query: UsageQuery, sums: UsageSums): void {
  for (const day of daysOf(months, query))
    for (const month of months)
      for (const paymaster of paymastersIn(month, query))
        for (const row of senderRows(month, day, paymaster))
          sums.add(day, textOf(row, 'sender'), amountsOf(row));
}

/**
 * Distinct senders of each row, a day at a time so that memory holds the senders of one day. A sender counts in a part
 * of a day if it was seen there first or last. If it was seen before and after, it is not known whether also between:
 * then the number is left out.
 */
function countSenders(
  months: readonly MonthFile[],
  query: UsageQuery,
  rows: readonly UsageRow[],
): readonly UsageRow[] {
  const rowsOfDay = Map.groupBy(rows, ({ from }) => startOf(from, 'day'));
  return [...rowsOfDay].flatMap(([day, ofDay]) => {
    const counts = ofDay.map((row) => ({ row, count: createCount(row) }));
    const countsOfGroup = Map.groupBy(counts, ({ row }) => row.group);
    for (const month of months) {
      const queried = new Map(seriesIn(month, query).map((series) => [series.id, series]));
      for (const paymaster of paymastersIn(month, query))
        for (const row of sponsoredSenders(month, day, paymaster)) {
          const sender = textOf(row, 'sender');
          for (const [series, first, last] of seenOf(row)) {
            const found = queried.get(series);
            if (found === undefined) continue;
            const group = query.groupBy === 'sender' ? sender : found.group;
            for (const { count } of countsOfGroup.get(group) ?? [])
              count.see(sender, toEpochMs(first), toEpochMs(last));
          }
        }
    }
    return counts.map(({ row, count }) => ({ ...row, senders: count.result() }));
  });
}

function createCount({ from, to }: Range) {
  const inside = new Set<string>();
  const unsure = new Set<string>();
  const contains = (at: EpochMs): boolean => at >= from && at < to;
  return {
    see: (sender: string, first: EpochMs, last: EpochMs): void => {
      if (contains(first) || contains(last)) inside.add(sender);
      else if (first < from && last >= to) unsure.add(sender);
    },
    result: (): number | undefined => ([...unsure].every((one) => inside.has(one)) ? inside.size : undefined),
  };
}

function senderRows(month: MonthFile, day: EpochMs, paymaster: number) {
  return month
    .statement('SELECT * FROM sender_days WHERE day = ? AND paymaster = ?')
    .iterate(toMinutes(day), paymaster);
}

/** Without sums: a day can have very many. */
function sponsoredSenders(month: MonthFile, day: EpochMs, paymaster: number) {
  return month
    .statement('SELECT sender, seen FROM sender_days WHERE day = ? AND paymaster = ? AND sponsored > 0')
    .iterate(toMinutes(day), paymaster);
}

/** Days (UTC) of the range in which the files have records. */
function daysOf(months: readonly MonthFile[], { from, to }: Range): EpochMs[] {
  const held = months.map((month) => month.bounds()).filter((bounds) => bounds !== undefined);
  const first = Math.max(from, Math.min(...held.map((bounds) => bounds.first))) as EpochMs;
  const end = Math.min(to, Math.max(...held.map((bounds) => bounds.last)) + 1);
  const days: EpochMs[] = [];
  for (let day = startOf(first, 'day'); day < end; day = (day + dayMs) as EpochMs) days.push(day);
  return days;
}
