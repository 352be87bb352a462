import { copyFileSync, existsSync } from 'node:fs';
import { join } from 'node:path';
import { test } from '@jest/globals';
import fc from 'fast-check';
import type { UsageStore } from '../../../core/usage/usage-store.js';
import { plusSeconds, toSeconds } from '../../../core/units/time.js';
import { aLimit, aRequest } from '../../conformance/usage-requests.js';
import { isSoak } from '../../support/soak-seconds.js';
import { runs } from '../../support/property.js';
import { aClock, aDirectory, createFaultyStore } from './sqlite-usage.js';
import { checkAgainstModel, type Subject } from './usage-difference.js';
import { manySteps } from './usage-steps.js';
import { newRecords, recordsInFile } from './written-records.js';

test('no interleaving of requests, updates, pauses, clock steps, settlements, failing commits, restarts and crashes exceeds a limit or loses a reservation', async () => {
  await fc.assert(
    fc.asyncProperty(manySteps, async (steps) => checkAgainstModel(steps, await aSubject())),
    runs(isSoak ? 3_000 : 60),
  );
}, 900_000);

async function aSubject(): Promise<Subject> {
  const clock = aClock();
  const directories = [aDirectory()];
  const open = () => createFaultyStore(join(directories.at(-1)!.path, 'usage.db'), clock);
  let faulty = open();
  // A promise that is longer than any before waits until its length is noted, so others may overtake it. After that none does.
  const validUntil = plusSeconds(toSeconds(clock.now()), 86_400);
  const full = aLimit({ threshold: 0 });
  await faulty.store.reserve(aRequest({ fences: [], limits: [full], promise: { validUntil } }));
  const reopen = async (): Promise<UsageStore> => {
    await faulty.store.stop();
    faulty = open();
    return faulty.store;
  };
  return {
    store: faulty.store,
    clock,
    fail: (isOn) => (isOn ? faulty.fail('before') : faulty.repair()),
    takeRecords: newRecords(() => recordsInFile(join(directories.at(-1)!.path, 'usage.db'))),
    restart: reopen,
    crash: () => {
      // The files as a killed process leaves them.
      const from = directories.at(-1)!.path;
      directories.push(aDirectory());
      for (const file of ['usage.db', 'usage.db-wal'])
        if (existsSync(join(from, file)))
          copyFileSync(join(from, file), join(directories.at(-1)!.path, file));
      return reopen();
    },
    stop: async () => {
      await faulty.store.stop();
      for (const directory of directories) directory.remove();
    },
  };
}
