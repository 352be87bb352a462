/** Clocks of machines in one cluster differ by less. */
export const mostAheadMs = 60_000;

/**
 * True of a generation, which is a time in milliseconds, that no clock in order can have given out yet. It must not be
 * written to a fence: everything that is written until then would be refused as older.
 */
export function isAhead(generation: number, now: number): boolean {
  return generation > now + mostAheadMs;
}
