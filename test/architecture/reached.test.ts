import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { expect, test } from '@jest/globals';
import { repositoryRoot as root } from '../support/repository-root.js';

// What only tests use belongs to test/support, and what nothing uses is deleted.

const product = ['core', 'adapters', 'operator', 'server', 'standalone', 'cli'];
const modules = new Map(
  product
    .flatMap((folder) =>
      readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' }).map((name) =>
        join(folder, name),
      ),
    )
    .filter((file) => file.endsWith('.ts') && !file.endsWith('.d.ts'))
    .map((file) => [file, importsOf(file)] as const),
);
/** What people and images start: modules that these files name. */
const starters = ['Makefile', 'Dockerfile', 'hack', 'charts', 'test/run.mjs'].flatMap(textsIn).join('\n');

test('every module of the product is reached from something that is started', () => {
  const started = [...modules.keys()].filter((file) => isStarted(file));
  expect(started).toContain('server/main.ts');
  expect([...modules.keys()].filter((file) => !reachedFrom(started).has(file))).toEqual([]);
});

test('a module that nothing of the product imports would be found', () => {
  const started = [...modules.keys()].filter((file) => isStarted(file) && file !== 'server/main.ts');
  expect(reachedFrom(started).has('server/main.ts')).toBe(false);
});

function isStarted(file: string): boolean {
  return starters.includes(`${file.slice(0, -'.ts'.length)}.js`);
}

function reachedFrom(started: readonly string[]): ReadonlySet<string> {
  const reached = new Set(started);
  // A set is walked in the order in which it grows.
  for (const file of reached) for (const imported of modules.get(file) ?? []) reached.add(imported);
  return reached;
}

/** Also of threads, which are named by a URL. */
function importsOf(file: string): readonly string[] {
  const names = readFileSync(join(root, file), 'utf8').matchAll(
    /(?:from|import|URL)\s*\(?\s*'(\.[^']+)\.js'/g,
  );
  return [...names].map(([, path = '']) => relative(root, join(root, dirname(file), `${path}.ts`)));
}

function textsIn(path: string): readonly string[] {
  const isFolder = !path.includes('.') && path === path.toLowerCase();
  const files = isFolder
    ? readdirSync(join(root, path), { recursive: true, encoding: 'utf8' }).map((name) => join(path, name))
    : [path];
  return files.filter((file) => !isFolder || /\.(sh|mjs|yaml|tpl)$|\/[a-z-]+$/.test(file)).map(readText);
}

/** '' for a folder. */
function readText(file: string): string {
  try {
    return readFileSync(join(root, file), 'utf8');
  } catch {
    return '';
  }
}
