import { noValue } from '../../../core/ledger/shares.js';
import { maxSpentRows, type SpentQuery, type SpentRow } from '../../../core/ledger/spent.js';
import { listSpans } from '../../../core/ledger/steps.js';
import type { EpochMs } from '../../../core/units/time.js';
import { Values } from '../../postgres/transactions.js';
import type { Reader } from './reader.js';
import type { Sums } from './sums.js';

type Part = Omit<SpentRow, 'chainId'>;

/** `tail`: sums of the records that are newer than the stored sums. */
export async function readSpent(
  reader: Reader,
  query: SpentQuery,
  tail: Sums,
): Promise<readonly SpentRow[] | undefined> {
  if (query.groupBy === 'sender') return undefined;
  const parts = await readGroups(reader, query, tail);
  const chains = await readParts(reader, 'chain', query, tail);
  if (parts === undefined || chains === undefined) return undefined;
  const byPaymaster = Map.groupBy(chains, partKey);
  return parts.map((part) => {
    const [chain, ...others] = byPaymaster.get(partKey(part)) ?? [];
    // A paymaster that was moved to another chain within the hour: its spending has no single price.
    return { ...part, chainId: others.length > 0 ? undefined : chain && Number(chain.group) };
  });
}

async function readGroups(
  reader: Reader,
  query: SpentQuery,
  tail: Sums,
): Promise<readonly Part[] | undefined> {
  const parts = await readParts(reader, query.groupBy ?? 'paymaster', query, tail);
  if (query.groupBy !== 'key') return parts;
  const all = await readParts(reader, 'paymaster', query, tail);
  // See `withoutKey`.
  const others = parts?.map((part) => ({ ...part, spentWei: -part.spentWei }));
  if (parts === undefined || all === undefined || others === undefined) return undefined;
  return [...parts, ...[...all, ...others].map((part) => ({ ...part, group: noValue }))];
}

async function readParts(
  { dialect, query: ask }: Reader,
  dimension: string,
  { organisation, paymasterId, step, from, to }: SpentQuery,
  tail: Sums,
): Promise<readonly Part[] | undefined> {
  const spans = listSpans({ from, to }, step === 'minute' ? 'minute' : 'hour');
  if (spans.length === 0) return [];
  const values = new Values();
  const where = [
    `organisation = ${values.add(organisation)} AND dimension = ${values.add(dimension)}`,
    ...(paymasterId === undefined ? [] : [`paymaster_id = ${values.add(paymasterId)}`]),
  ].join(' AND ');
  const within = spans.map(
    (span) =>
      `(unit = '${span.unit}' AND start >= ${values.add(span.from)} AND start < ${values.add(span.to)})`,
  );
  const rows = await ask(
    `SELECT start, paymaster_id, value, ${dialect.sum('spent_wei')} AS spent FROM ${dialect.table('usage')}
     WHERE ${where} AND (${within.join(' OR ')}) AND spent_wei <> ${dialect.wei(`'0'`)}
     GROUP BY start, paymaster_id, value LIMIT ${maxSpentRows + 1}`,
    values.list,
  );
  if (rows.length > maxSpentRows) return undefined;
  const found = rows.map((row): Part => ({
    start: Number(row['start']) as EpochMs,
    paymasterId: String(row['paymaster_id']),
    group: String(row['value']),
    spentWei: BigInt(String(row['spent'])),
  }));
  for (const { key, amounts } of tail.values()) {
    const isAsked =
      key.organisation === organisation &&
      key.dimension === dimension &&
      (paymasterId === undefined || key.paymaster_id === paymasterId) &&
      spans.some((span) => key.unit === span.unit && key.start >= span.from && key.start < span.to);
    if (!isAsked || amounts.spentWei === 0n) continue;
    const { start } = key;
    const owner = { paymasterId: String(key.paymaster_id), group: String(key.value) };
    found.push({ start, ...owner, spentWei: amounts.spentWei });
  }
  return found;
}

function partKey({ start, paymasterId }: Part): string {
  return `${start} ${paymasterId}`;
}
