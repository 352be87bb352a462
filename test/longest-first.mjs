import { existsSync, statSync } from 'node:fs';
import { join } from 'node:path';

/**
 * Beginnings of paths in `dist/test` of the files that take longest, in that order: a file that takes a minute and begins last would keep one worker
 * busy while the others have nothing left to do. Everything else follows, larger files first.
 */
const first = [
  'adapters/usage/postgres-usage',
  'adapters/store/ledger/postgres-ledger',
  'attacks/tenants',
  'kube/',
  'adversary/',
  'system/',
  'attacks/',
  'charts/',
  'architecture/',
];

/** Jest's own order needs the times of an earlier run, which a fresh clone does not have. */
export default class LongestFirst {
  sort(tests) {
    return tests
      .filter(hasSource)
      .map(rank)
      .toSorted((a, b) => a.turn - b.turn || b.size - a.size)
      .map(({ test }) => test);
  }

  shard(tests, { shardIndex, shardCount }) {
    return this.sort(tests).filter((_, index) => index % shardCount === shardIndex - 1);
  }

  allFailedTests(tests) {
    return tests;
  }

  cacheResults() {}
}

/** What was renamed or deleted since it was compiled is still in `dist`. */
function hasSource({ path, context }) {
  const { rootDir } = context.config;
  const source = path.slice(rootDir.length + 1).replace(/\.js$/, '.ts');
  return existsSync(join(rootDir, '../../test', source));
}

function rank(test) {
  const { path, context } = test;
  const inside = path.slice(context.config.rootDir.length + 1);
  const found = first.findIndex((beginning) => inside.startsWith(beginning));
  return { test, turn: found < 0 ? first.length : found, size: statSync(path).size };
}
