const seed = process.env['PAYMASTER_TEST_SEED'];

/**
 * Options of a property. A failure prints its seed; PAYMASTER_TEST_SEED runs with that one again, and
 * PAYMASTER_TEST_PATH (the "path" of the same message) at once with the shrunk example.
 */
export function runs(numRuns: number): { numRuns: number; seed?: number; path?: string } {
  const path = process.env['PAYMASTER_TEST_PATH'];
  return {
    numRuns,
    ...(seed === undefined ? {} : { seed: Number(seed) }),
    ...(path === undefined ? {} : { path }),
  };
}
