import { globSync, readFileSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { expect, test } from '@jest/globals';
import { repositoryRoot } from '../support/repository-root.js';

// A program is one file in dist/bin, and starts its threads from the files beside it.

const made = [
  ...readFileSync(join(repositoryRoot, 'hack/programs.mjs'), 'utf8').matchAll(
    /^ {2}'?([\w-]+)'?: '(.+)',$/gm,
  ),
];
const programs = made.map(([, name, path]) => ({ name, path }));

test('every thread that the product starts is among the programs, under its own name', () => {
  const files = globSync('{core,adapters,operator,server,standalone,cli}/**/*.ts', { cwd: repositoryRoot });
  const threads = files.flatMap((file) => {
    const text = readFileSync(join(repositoryRoot, file), 'utf8');
    return [...text.matchAll(/new Worker\(\s*new URL\(\s*'\.\/(.+?)'/g)].map(([, started]) =>
      join(dirname(file), started!),
    );
  });
  expect(threads.length).toBeGreaterThan(0);
  for (const path of threads) expect(programs).toContainEqual({ name: basename(path, '.js'), path });
});

test('no two programs have one name', () => {
  expect(new Set(programs.map(({ name }) => name)).size).toBe(programs.length);
});
