/** Id under which the generation of a chain's config is fenced; paymasters have their paymasterId. */
export const chainFenceId = 'chain';

/** Clocks of machines in one cluster differ by less. */
const mostAheadMs = 60_000;

/**
 * True of a generation, which is a time in milliseconds, that no clock in order can have given out yet. It must not be
 * written to a fence: everything that is written until then would be refused as older.
 */
export function isAhead(generation: number, now: number): boolean {
  return generation > now + mostAheadMs;
}
