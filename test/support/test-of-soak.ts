import { test } from '@jest/globals';
import { isSoak } from './soak-seconds.js';

/** A test that only `make soak` runs. Beside it stands what `make test` has instead. */
export function testOfSoak(name: string, run: () => Promise<void>, timeoutMs?: number): void {
  if (isSoak) test(name, run, timeoutMs);
}
