import { createHash } from 'node:crypto';
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join, relative } from 'node:path';
import { parse } from '@babel/parser';
import recheck from 'recheck/lib/browser.js';
import { repositoryRoot as root } from '../support/repository-root.js';

// Regular expressions of the product, and whether each takes time linear in the text. `recheck` decides it from the automaton of the
// expression, which takes seconds for some; the search for a place to begin counts too, so `/0+$/` is quadratic.

export type Pattern = { readonly file: string; readonly source: string; readonly flags: string };

export type Patterns = {
  /** Literals, patterns of schemas, and those in rules. Each once. */
  readonly found: readonly Pattern[];
  /** Files that build one from text while the process runs. */
  readonly builtFromText: readonly string[];
};

const folders = ['core', 'adapters', 'operator', 'server', 'standalone', 'cli', 'clients/viem/src'];

export function patternsOfProduct(): Patterns {
  const found = new Map<string, Pattern>();
  const builtFromText: string[] = [];
  for (const path of folders.flatMap((folder) => filesBelow(join(root, folder)))) {
    const file = relative(root, path);
    const add = (source: string, flags: string): void => {
      const shown = `/${source}/${flags}`;
      if (!found.has(shown)) found.set(shown, { file, source, flags });
    };
    const { program } = parse(readFileSync(path, 'utf8'), { sourceType: 'module', plugins: ['typescript'] });
    visit(program, (node) => {
      if (node.type === 'RegExpLiteral') add(String(node['pattern']), String(node['flags']));
      if (isPattern(node)) add(textOf(node['value']), 'u');
      if (node.type === 'StringLiteral')
        for (const [, source = ''] of textOf(node).matchAll(/\bmatches\('([^']*)'\)/g)) add(source, '');
      if (callsRegExp(node)) builtFromText.push(file);
    });
  }
  return { found: [...found.values()], builtFromText };
}

/** Undefined where the time is linear. What cannot be decided counts as a fault. */
export function faultOf({ source, flags }: Omit<Pattern, 'file'>): string | undefined {
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

/** One line for each pattern that is not linear. */
export function faultsOf(patterns: readonly Pattern[]): readonly string[] {
  return patterns.flatMap((pattern) => {
    const fault = faultOf(pattern);
    return fault === undefined ? [] : [`${pattern.file} /${pattern.source}/${pattern.flags} is ${fault}`];
  });
}

/** It reads a bounded number of characters from each place, since it repeats nothing without end. Such a pattern is not recorded. */
export function isBounded(source: string): boolean {
  const bare = source.replace(/\\./g, 'x').replace(/\[[^\]]*\]/g, 'x');
  return !/[*+]|\{\d+,\}/.test(bare);
}

const recordFile = join(root, 'test/architecture/linear-patterns.json');
const { version } = createRequire(import.meta.url)('recheck/package.json') as { readonly version: string };

/** Hashes of the patterns that were found linear. */
export function recordedHashes(): readonly string[] {
  const record = JSON.parse(readFileSync(recordFile, 'utf8')) as PatternRecord;
  // Another release may judge otherwise.
  return record.recheck === version ? record.linear : [];
}

export function writeRecord(hashes: readonly string[]): void {
  writeFileSync(recordFile, `${JSON.stringify({ recheck: version, linear: hashes.toSorted() }, null, 2)}\n`);
}

type PatternRecord = { readonly recheck: string; readonly linear: readonly string[] };

export function hashOf({ source, flags }: Pattern): string {
  return createHash('sha256').update(`/${source}/${flags}`).digest('hex').slice(0, 16);
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
