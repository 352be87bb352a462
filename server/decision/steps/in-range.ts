/** What a codec makes of a caller's bytes; undefined where it refuses them with a RangeError. */
export function inRange<T>(compute: () => T): T | undefined {
  try {
    return compute();
  } catch (error) {
    if (error instanceof RangeError) return undefined;
    throw error;
  }
}
