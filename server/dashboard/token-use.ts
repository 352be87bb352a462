import { LRUCache } from 'lru-cache';
import { unlessUnavailable } from '../../core/errors.js';
import { formatInstant, parseInstant, plusMs, type Clock, type EpochMs } from '../../core/units/time.js';
import type { KeptTexts } from '../../core/usage/kept-texts.js';

const hourMs = 3_600_000;
const keptMs = 400 * 24 * hourMs;

/**
 * When each token was last used, to the hour. Every replica notes it.
 */
export type TokenUse = ReturnType<typeof createTokenUse>;

export function createTokenUse({
  texts,
  clock,
}: {
  readonly texts: Pick<KeptTexts, 'putText' | 'getTexts'>;
  readonly clock: Clock;
}) {
  const noted = new LRUCache<string, EpochMs>({ max: 10_000 });
  return {
    /** Delays nobody: what cannot be written now is written by a later call. */
    note(sha256: string): void {
      const now = clock.now();
      const before = noted.get(sha256);
      if (before !== undefined && now - before < hourMs) return;
      noted.set(sha256, now);
      void texts
        .putText(tokenName(sha256), formatInstant(now), plusMs(now, keptMs))
        .catch(() => noted.delete(sha256));
    },

    /** By hash, of those that were used. Empty while the database is away. */
    async last(hashes: readonly string[]): Promise<ReadonlyMap<string, EpochMs>> {
      const found =
        (await unlessUnavailable(texts.getTexts(hashes.map(tokenName)))) ?? new Map<string, string>();
      const times = hashes.map(
        (sha256) => [sha256, parseInstant(found.get(tokenName(sha256)) ?? '')] as const,
      );
      return new Map(times.flatMap(([sha256, at]) => (at === undefined ? [] : [[sha256, at]])));
    },
  };
}

/** No paymasterId has a space. */
function tokenName(sha256: string): string {
  return `token ${sha256}`;
}
