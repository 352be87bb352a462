import { isSoak } from './soak-seconds.js';

/** `make test` always takes the same steps, so that it fails at the change with the defect; `make soak` takes new ones. */
const seedOfTests = 20_261_122;
const asked = process.env['PAYMASTER_TEST_SEED'];
/** `make test-fast` looks at a quarter of the examples. */
const isFast = process.env['PAYMASTER_TEST_FAST'] !== undefined;
const seed = asked === undefined ? (isSoak ? undefined : seedOfTests) : Number(asked);

/** As {@link runs}, with all examples in `make test-fast` too: for a property that checks what its examples have covered. */
export function allRuns(numRuns: number, inSoak = numRuns): ReturnType<typeof runs> {
  return { ...runs(numRuns, inSoak), numRuns: isSoak ? inSoak : numRuns };
}

/**
 * Options of a property: `numRuns` in `make test`, `inSoak` in `make soak`. A failure prints its seed; PAYMASTER_TEST_SEED runs with that one again, and
 * PAYMASTER_TEST_PATH (the "path" of the same message) at once with the shrunk example.
 */
export function runs(numRuns: number, inSoak = numRuns): { numRuns: number; seed?: number; path?: string } {
  const path = process.env['PAYMASTER_TEST_PATH'];
  return {
    numRuns: isSoak ? inSoak : isFast ? Math.ceil(numRuns / 4) : numRuns,
    ...(seed === undefined ? {} : { seed }),
    ...(path === undefined ? {} : { path }),
  };
}

/** First seed of a property with many seeds: the requested one, a new one in `make soak`, otherwise always the same. */
export function seedOfRun(): number {
  return seed ?? Math.floor(Math.random() * 2 ** 31);
}
