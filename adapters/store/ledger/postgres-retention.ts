import { isDomainError } from '../../../core/errors.js';
import type { Retention } from '../../../core/ledger/ledger.js';
import { minutesKeptFrom, rollupUnits, startOf } from '../../../core/ledger/steps.js';
import type { EpochMs } from '../../../core/units/time.js';
import { findSqlState } from '../../postgres/pipeline.js';
import type { Postgres, Session } from '../../postgres/transactions.js';
import { dropPart, knownParts, lapsedParts, makePartsAhead, type StoredPart } from './partitions.js';
import { usageKey } from './columns.js';
import { dayOfTime } from './record-rows.js';

/** So that one call takes seconds, also where a part is large. */
const maxDropped = 20;
const maxDeleted = 5_000;
/** SQLSTATE lock_not_available. */
const lockTimeout = '55P03';

/** Makes the parts of the coming days, and removes what is too old, or beyond `maxBytes`. True while there is more to remove. */
export async function prunePostgres(
  postgres: Postgres,
  now: EpochMs,
  retention: Retention,
  maxBytes: number,
): Promise<boolean> {
  await makePartsAhead(postgres, now);
  const parts = await postgres.transaction({ mode: 'read', timeoutMs: 10_000 }, knownParts);
  const lapsed = new Set(lapsedParts(parts, now, retention));
  const kept = parts.filter((part) => !lapsed.has(part));
  const old = [...lapsed, ...partsBeyond(kept, now, maxBytes)];
  for (const part of old.slice(0, maxDropped))
    try {
      await dropPart(postgres, part);
    } catch (error) {
      // Somebody reads it. It goes with a later call.
      if (!isDomainError(error) || findSqlState(error.cause) !== lockTimeout) throw error;
    }
  const funds = `unit = 'minute' AND day < ${dayOfTime(now) - retention.funds}`;
  const minutes = `unit = 'minute' AND start < ${minutesKeptFrom(now)}`;
  const isMore = [
    await deleteSome(
      postgres,
      'funds',
      ['chain_id', 'contract', 'funding_address', 'unit', 'start', 'day'],
      funds,
    ),
    await deleteSome(postgres, 'usage', usageKey, minutes),
  ];
  return old.length > maxDropped || isMore.includes(true);
}

export async function sizeOfPostgres(session: Session): Promise<number> {
  return sumBytes(await knownParts(session));
}

/** The oldest days, except the last two. */
function partsBeyond(parts: readonly StoredPart[], now: EpochMs, maxBytes: number): readonly StoredPart[] {
  const end = startOf(now, 'day') - rollupUnits.day;
  return firstBeyond(
    parts.filter((part) => part.end <= end),
    sumBytes(parts) - maxBytes,
  );
}

/** As many of the first parts as it takes to be rid of `bytes`. */
function firstBeyond(parts: readonly StoredPart[], bytes: number): readonly StoredPart[] {
  let left = bytes;
  return parts.filter((part) => {
    if (left <= 0) return false;
    left -= part.bytes;
    return true;
  });
}

function sumBytes(parts: readonly StoredPart[]): number {
  return parts.reduce((sum, { bytes }) => sum + bytes, 0);
}

/** True when there may be more. */
async function deleteSome(
  postgres: Postgres,
  table: 'funds' | 'usage',
  key: readonly string[],
  isOld: string,
): Promise<boolean> {
  const names = key.join(', ');
  const deleted = await postgres.transaction({ mode: 'write', timeoutMs: 10_000 }, (session) =>
    session.query(
      `DELETE FROM ledger.${table} WHERE (${names}) IN (SELECT ${names} FROM ledger.${table} WHERE ${isOld} LIMIT ${maxDeleted})
       AND ${isOld} RETURNING 1`,
    ),
  );
  return deleted.length === maxDeleted;
}
