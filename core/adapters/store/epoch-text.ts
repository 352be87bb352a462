import type { UsageEpoch } from '../../policy/usage-epoch.js';
import type { EpochMs } from '../../units/time.js';

/** An epoch as JSON text, the form in which copies are kept. Throws SyntaxError or RangeError for any other text. */
export function parseEpoch(text: string): UsageEpoch {
  const value: unknown = JSON.parse(text);
  const fields: ReadonlyMap<string, unknown> = new Map(Object.entries(value ?? {}));
  const [id, since, longestExpiryMs, lostAt] = ['id', 'since', 'longestExpiryMs', 'lostAt'].map((name) =>
    fields.get(name),
  );
  if (typeof id !== 'string' || typeof since !== 'number' || typeof longestExpiryMs !== 'number')
    throw new RangeError('it holds no epoch');
  return {
    id,
    since: since as EpochMs,
    longestExpiryMs,
    ...(typeof lostAt === 'number' ? { lostAt: lostAt as EpochMs } : {}),
  };
}
