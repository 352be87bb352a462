import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from '@jest/globals';
import { suitesOfEveryRun, suitesOfSoak, suitesWithoutStores } from '../kube/mode/suites.js';
import { repositoryRoot } from '../support/repository-root.js';

const tables = { suitesOfEveryRun, suitesOfSoak, suitesWithoutStores };

test('every suite of the service document is in exactly one table of kube/mode/suites.ts', () => {
  const suites = readdirSync(join(repositoryRoot, 'test/spec')).map((file) =>
    file.replace(/\.component\.test\.ts$/, ''),
  );
  const decided = Object.values(tables).flatMap((table) => Object.keys(table));
  expect(decided.toSorted()).toEqual(suites.toSorted());
});

test.each(Object.entries(tables))('each row of %s says why', (_, table) => {
  for (const [suite, why] of Object.entries(table))
    expect([suite, why]).toEqual([suite, expect.stringMatching(/^[A-Z].{10,}\.$/)]);
});
