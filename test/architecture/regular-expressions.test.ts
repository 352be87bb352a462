import { readdirSync, readFileSync } from 'node:fs';
import { join, relative } from 'node:path';
import { parse } from '@babel/parser';
import { beforeAll, describe, expect, test } from '@jest/globals';
import recheck from 'recheck/lib/browser.js';
import { repositoryRoot as root } from '../support/repository-root.js';

/**
 * Every regular expression of the product takes time linear in the text, whatever the text is. `recheck` decides it from
 * the automaton of the expression; the search for a place to begin counts too, so `/0+$/` is quadratic.
 */

type Found = { readonly file: string; readonly source: string; readonly flags: string };

const folders = ['core', 'adapters', 'operator', 'server', 'standalone', 'cli', 'clients/viem/src'];

const found: Found[] = [];
const builtFromText: string[] = [];

beforeAll(() => {
  for (const path of folders.flatMap((folder) => filesBelow(join(root, folder)))) {
    const file = relative(root, path);
    const { program } = parse(readFileSync(path, 'utf8'), { sourceType: 'module', plugins: ['typescript'] });
    visit(program, (node) => {
      if (node.type === 'RegExpLiteral')
        found.push({ file, source: String(node['pattern']), flags: String(node['flags']) });
      if (isPattern(node)) found.push({ file, source: textOf(node['value']), flags: 'u' });
      if (node.type === 'StringLiteral')
        for (const [, source = ''] of textOf(node).matchAll(/\bmatches\('([^']*)'\)/g))
          found.push({ file, source, flags: '' });
      if (callsRegExp(node)) builtFromText.push(file);
    });
  }
});

describe('regular expressions of the product', () => {
  test('are found: literals, patterns of schemas, and those in rules', () => {
    const sources = found.map(({ source }) => source);
    expect(sources).toContain('^(-?)([0-9]+)(?:\\.([0-9]+))?(?:[eE]([+-]?[0-9]+))?$');
    expect(sources).toContain('^0x[0-9a-fA-F]{40}$');
    expect(sources).toContain('^[0-9]+$');
    expect(sources.length).toBeGreaterThan(100);
  });

  test('are written as they are: none is built from text while the process runs', () => {
    expect(builtFromText).toEqual([]);
  });

  test('are linear', () => {
    const kinds = new Map(found.map((each) => [`/${each.source}/${each.flags}`, each]));
    const faults = [...kinds].flatMap(([shown, { file, source, flags }]) => {
      const fault = faultOf(source, flags);
      return fault === undefined ? [] : [`${file} ${shown} is ${fault}`];
    });
    expect(faults).toEqual([]);
  }, 600_000);

  test.each(['0+$', '^a*a*$', '(a+)+$', '\\s+$', '([a-z]+:)+x', 'gas.*exceed'])(
    'as /%s/ would be noticed',
    (source) => {
      expect(faultOf(source, '')).toBeDefined();
    },
  );
});

/** Undefined where the time is linear. What cannot be decided counts as a fault. */
function faultOf(source: string, flags: string): string | undefined {
  if (isBounded(source)) return undefined;
  const verdict = recheck.checkSync(source, flags, {
    timeout: null,
    attackTimeout: null,
    incubationTimeout: null,
    recallTimeout: null,
    randomSeed: 1,
  });
  if (verdict.status === 'safe') return undefined;
  return verdict.status === 'vulnerable' ? verdict.complexity.summary : `unknown: ${verdict.error.kind}`;
}

/** It reads a bounded number of characters from each place, since it repeats nothing without end. */
function isBounded(source: string): boolean {
  const bare = source.replace(/\\./g, 'x').replace(/\[[^\]]*\]/g, 'x');
  return !/[*+]|\{\d+,\}/.test(bare);
}

type Node = { readonly type: string; readonly [member: string]: unknown };

function visit(value: unknown, see: (node: Node) => void): void {
  if (typeof value !== 'object' || value === null) return;
  if (Array.isArray(value)) {
    for (const item of value) visit(item, see);
    return;
  }
  if (isNode(value)) see(value);
  for (const [name, member] of Object.entries(value)) if (name !== 'loc') visit(member, see);
}

function isNode(value: object): value is Node {
  return 'type' in value && typeof value.type === 'string';
}

/** `pattern: '…'` of a schema. */
function isPattern({ type, key, value }: Node): boolean {
  const name = (key as { name?: string; value?: string } | undefined)?.name;
  return type === 'ObjectProperty' && name === 'pattern' && (value as Node).type === 'StringLiteral';
}

function textOf(node: unknown): string {
  return String((node as { value?: unknown }).value);
}

function callsRegExp({ type, callee }: Node): boolean {
  if (type !== 'NewExpression' && type !== 'CallExpression') return false;
  return (callee as { name?: string }).name === 'RegExp';
}

function filesBelow(folder: string): string[] {
  return readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .filter(
      (path) => path.endsWith('.ts') && !path.endsWith('.d.ts') && !/(^|\/)(dist|node_modules)\//.test(path),
    )
    .map((path) => join(folder, path));
}
