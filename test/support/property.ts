import { isSoak } from './soak-seconds.js';

/** `make test` always takes the same steps, so that it fails on the change that broke something; `make soak` takes new ones. */
const seedOfTests = 20_261_122;
const asked = process.env['PAYMASTER_TEST_SEED'];
const seed = asked === undefined ? (isSoak ? undefined : seedOfTests) : Number(asked);

/**
 * Options of a property. A failure prints its seed; PAYMASTER_TEST_SEED runs with that one again, and
 * PAYMASTER_TEST_PATH (the "path" of the same message) at once with the shrunk example.
 */
export function runs(numRuns: number): { numRuns: number; seed?: number; path?: string } {
  const path = process.env['PAYMASTER_TEST_PATH'];
  return {
    numRuns,
    ...(seed === undefined ? {} : { seed }),
    ...(path === undefined ? {} : { path }),
  };
}

/** The seed to begin with, for properties that take many: the one that was asked for, a new one in `make soak`, else always the same. */
export function seedOfRun(): number {
  return seed ?? Math.floor(Math.random() * 2 ** 31);
}
