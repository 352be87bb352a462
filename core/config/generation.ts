/** Clocks of machines in one cluster differ by less than this. */
export const maxAheadMs = 60_000;

/**
 * Whether a generation, which is a time in milliseconds, is so far in the future that no correct clock can have
 * produced it. Such a generation must not be written to a fence: the fence would refuse every write until that time
 * as older.
 */
export function isAhead(generation: number, now: number): boolean {
  return generation > now + maxAheadMs;
}
