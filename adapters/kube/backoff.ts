/** 0.8 s doubling to 30 s, as in client-go's reflector; `random` is uniform in [0, 1). */
export function createBackoff(random: () => number, firstMs = 800, maxMs = 30_000) {
  let bound = firstMs;
  return {
    /** Milliseconds to wait before the next attempt: full jitter below a doubling bound. */
    next(): number {
      const wait = random() * bound;
      bound = Math.min(bound * 2, maxMs);
      return wait;
    },
    reset(): void {
      bound = firstMs;
    },
  };
}
