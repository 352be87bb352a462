import { copyFileSync, existsSync } from 'node:fs';
import { join } from 'node:path';
import { test } from '@jest/globals';
import fc from 'fast-check';
import type { UsageStore } from '../../core/policy/usage-store.js';
import { aClock, aDirectory, createFaultyStore } from './sqlite-usage.js';
import { checkAgainstModel, type Subject } from './usage-difference.js';
import { manySteps } from './usage-steps.js';

test('no interleaving of requests, updates, pauses, clock steps, settlements, failing commits, restarts and crashes exceeds a limit or loses a reservation', async () => {
  await fc.assert(
    fc.asyncProperty(manySteps, fc.constantFrom(300, 1 << 22), (steps, compactAtBytes) =>
      checkAgainstModel(steps, aSubject(compactAtBytes)),
    ),
    { numRuns: 150 },
  );
}, 240_000);

function aSubject(compactAtBytes: number): Subject {
  const clock = aClock();
  const directories = [aDirectory()];
  const open = () => createFaultyStore(join(directories.at(-1)!.path, 'usage.db'), clock, compactAtBytes);
  let { store, fail } = open();
  const reopen = async (): Promise<UsageStore> => {
    await store.stop();
    ({ store, fail } = open());
    return store;
  };
  return {
    store,
    clock,
    fail: (isOn) => fail(isOn ? 'before' : 'no'),
    restart: reopen,
    crash: () => {
      // The files as a killed process leaves them, also in the middle of writing an image.
      const from = directories.at(-1)!.path;
      directories.push(aDirectory());
      for (const file of ['usage.db', 'usage.db-wal'])
        if (existsSync(join(from, file)))
          copyFileSync(join(from, file), join(directories.at(-1)!.path, file));
      return reopen();
    },
    stop: async () => {
      await store.stop();
      for (const directory of directories) directory.remove();
    },
  };
}
