import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { describe, expect, test } from '@jest/globals';
import { repositoryRoot as root } from '../support/repository-root.js';

// Imports of types count as well: a reader of a type has to know everything that it names.

/** Folders, and files beside them, lowest first: each may import those before it. */
const core = [
  'crypto',
  'units',
  'error-codes.ts',
  'error-reasons.ts',
  'errors.ts',
  'schema',
  'refusal.ts',
  'refused-error.ts',
  'published-error.ts',
  'release-facts.ts',
  'log.ts',
  'metrics.ts',
  'ambient.ts',
  'settings.ts',
  'secrets.ts',
  'master-keys.ts',
  'tenant-access.ts',
  'reports',
  'meta',
  'entry-point',
  'userop',
  'chain',
  'paymaster',
  'pricing',
  'usage',
  'ledger',
  'policy',
  'what-if',
  'resources',
  'config',
  'problems',
  'notifications',
];
/** The files beside these folders put them together. */
const server = ['http', 'ops', 'view', 'ledger', 'follower', 'decision', 'what-if', 'rpc', 'dashboard'];

describe.each([
  { folder: 'core', layers: core },
  { folder: 'server', layers: server },
])('$folder is built in layers', ({ folder, layers }) => {
  const edges = importsBelow(folder).filter(({ from }) => folder === 'core' || from.split('/').length > 2);
  const heightOf = (file: string): number => layers.indexOf(layerOf(file));

  test('every folder has its place', () => {
    const present = new Set(edges.map(({ from }) => layerOf(from)));
    expect([...present].filter((layer) => !layers.includes(layer))).toEqual([]);
  });

  test('none imports from a folder above it', () => {
    const upwards = edges.filter(
      ({ from, to }) => to.startsWith(`${folder}/`) && !(heightOf(to) >= 0 && heightOf(from) >= heightOf(to)),
    );
    expect(upwards.map(({ from, to }) => `${from} imports ${to}`)).toEqual([]);
  });
});

/** Rooms of decisions, lowest first. The files beside them are what all of them use, so these import from no room. */
const rooms = ['beside', 'sign', 'steps', 'token', 'show'];

test('a room of decisions imports only from the rooms before it', () => {
  const roomOf = (file: string): string =>
    file.split('/').length > 3 ? (file.split('/')[2] ?? '') : 'beside';
  const edges = importsBelow('server/decision').filter(({ to }) => to.startsWith('server/decision/'));
  const heightOf = (file: string): number => rooms.indexOf(roomOf(file));
  expect(new Set(edges.map(({ from }) => roomOf(from)))).toEqual(new Set(rooms));
  const upwards = edges.filter(({ from, to }) => heightOf(from) < heightOf(to));
  expect(upwards.map(({ from, to }) => `${from} imports ${to}`)).toEqual([]);
});

test('what compiles and what decides knows no kind of policies: rows say what a kind needs', () => {
  const kinds = readdirSync(join(root, 'core/policy')).filter((name) =>
    existsSync(join(root, 'core/policy', name, 'kind.ts')),
  );
  const known = ['core/config', 'server/decision']
    .flatMap(importsBelow)
    .filter(({ to }) => kinds.some((kind) => to.startsWith(`core/policy/${kind}/`)));
  expect(known).toEqual([]);
});

test('the dashboard and the JSON-RPC server do not know each other', () => {
  const across = importsBelow('server').filter(
    ({ from, to }) => layerOf(from) === 'dashboard' && layerOf(to) === 'rpc',
  );
  expect(across.map(({ from, to }) => `${from} imports ${to}`)).toEqual([]);
});

test.each(['core', 'adapters', 'operator', 'server', 'standalone', 'cli'])(
  'no modules of %s import each other in a circle',
  (folder) => {
    const importsOf = Map.groupBy(importsBelow(folder), ({ from }) => from);
    const done = new Set<string>();
    const circles: string[] = [];
    const visit = (file: string, path: readonly string[]): void => {
      if (path.includes(file)) {
        circles.push([...path.slice(path.indexOf(file)), file].join(' → '));
        return;
      }
      if (done.has(file)) return;
      for (const { to } of importsOf.get(file) ?? []) visit(to, [...path, file]);
      done.add(file);
    };
    for (const file of importsOf.keys()) visit(file, []);
    expect(circles).toEqual([]);
  },
);

type Import = { readonly from: string; readonly to: string };

/** Imports of one file of the repository by another, as paths from its root. */
function importsBelow(folder: string): readonly Import[] {
  return readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.ts'))
    .flatMap((name) => {
      const file = join(root, folder, name);
      const names = readFileSync(file, 'utf8').matchAll(/(?:from|import)\s*\(?\s*'(\.[^']+)\.js'/g);
      return [...names].map(([, path = '']) => ({
        from: relative(root, file),
        to: relative(root, `${join(dirname(file), path)}.ts`),
      }));
    });
}

function layerOf(file: string): string {
  return file.split('/')[1] ?? '';
}
