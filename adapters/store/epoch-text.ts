import type { UsageEpoch } from '../../core/usage/epoch.js';
import type { EpochMs } from '../../core/units/time.js';

/**
 * An epoch as JSON text, the form of the copies. `place` identifies where the text was read: a text that was written in
 * another place is marked `isMoved`. Throws SyntaxError or RangeError for any other text.
 */
export function parseEpoch(text: string, place?: string): UsageEpoch {
  const value: unknown = JSON.parse(text);
  const fields: ReadonlyMap<string, unknown> = new Map(Object.entries(value ?? {}));
  const names = ['id', 'since', 'longestExpiryMs', 'sequence', 'longestAt', 'lostAt', 'place'];
  const [id, since, longestExpiryMs, sequence, longestAt, lostAt, writtenIn] = names.map((name) =>
    fields.get(name),
  );
  const isEpoch = typeof id === 'string' && typeof since === 'number' && typeof sequence === 'number';
  if (!isEpoch || typeof longestExpiryMs !== 'number') throw new RangeError('it holds no epoch');
  return {
    id,
    since: since as EpochMs,
    sequence,
    longestExpiryMs,
    ...(typeof longestAt === 'number' ? { longestAt: longestAt as EpochMs } : {}),
    ...(typeof lostAt === 'number' ? { lostAt: lostAt as EpochMs } : {}),
    ...(writtenIn !== place ? { isMoved: true } : {}),
  };
}

/** The text of an epoch that is written in `place`. */
export function formatEpoch(epoch: UsageEpoch, place?: string): string {
  const { isMoved: _, ...here } = epoch;
  return JSON.stringify({ ...here, place });
}
