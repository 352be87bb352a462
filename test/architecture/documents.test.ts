import { spawnSync } from 'node:child_process';
import { existsSync, globSync, readdirSync, readFileSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { describe, expect, test } from '@jest/globals';
import { commandBlocks, documents, documentsFor, textOf } from '../support/document-commands.js';
import { repositoryRoot } from '../support/repository-root.js';

// People find every page, no link of a page leads nowhere, and each block of commands says where it runs. `make test-release` pastes the blocks.

const pages = readdirSync(join(repositoryRoot, 'docs')).filter((name) => name.endsWith('.md'));
const productFolders = ['core', 'adapters', 'operator', 'server', 'standalone', 'cli', 'console'];
const linked = (path: string): readonly string[] =>
  [...readFileSync(join(repositoryRoot, path), 'utf8').matchAll(/\]\(([^)\s]+)\)/g)].map(([, to]) => to!);

test('the index names every page', () => {
  const named = linked('docs/README.md');
  expect(pages.filter((page) => page !== 'README.md' && !named.includes(page))).toEqual([]);
});

test.each([
  'README.md',
  'SECURITY.md',
  'ARCHITECTURE.md',
  'AGENTS.md',
  'CONTRIBUTING.md',
  ...pages.map((page) => `docs/${page}`),
])('files that %s links to are there, and so are their headings', (page) => {
  const missing = linked(page).filter((to) => {
    if (/^[a-z]+:/.test(to)) return false;
    const [file = '', heading] = to.split('#');
    const path = file === '' ? page : join(dirname(page), file);
    if (!existsSync(join(repositoryRoot, path))) return true;
    return heading !== undefined && path.endsWith('.md') && !headingsOf(path).has(heading);
  });
  expect(missing).toEqual([]);
});

/** As GitHub names them. */
function headingsOf(path: string): ReadonlySet<string> {
  const lines = readFileSync(join(repositoryRoot, path), 'utf8').split('\n');
  return new Set(
    lines
      .filter((line) => /^#+ /.test(line))
      .map((line) =>
        line
          .replace(/^#+ /, '')
          .toLowerCase()
          .replace(/[^\p{L}\p{N}\p{M}_ -]/gu, '')
          .replaceAll(' ', '-'),
      ),
  );
}

test('the index for language models has every page with what it is for', () => {
  const made = spawnSync(process.execPath, [join(repositoryRoot, 'hack/llms.mjs'), '--check']);
  expect([made.status, String(made.stderr)]).toEqual([0, '']);
  const index = readFileSync(join(repositoryRoot, 'llms.txt'), 'utf8');
  for (const line of index.split('\n').filter((each) => each.startsWith('- ')))
    expect(line).toMatch(/^- \[.+\]\(.+\.md\): \p{L}.{15,}\.$/u);
});

test('README is a page', () => {
  const lines = readFileSync(join(repositoryRoot, 'README.md'), 'utf8').trimEnd().split('\n');
  expect(lines.length).toBeLessThanOrEqual(110);
  expect(lines.filter((line) => line.length > 120)).toEqual([]);
});

test('the two pages for people who change the code are short', () => {
  expect(Buffer.byteLength(textOf('ARCHITECTURE.md'))).toBeLessThanOrEqual(10_000);
  expect(textOf('AGENTS.md').trimEnd().split('\n').length).toBeLessThanOrEqual(60);
});

test.each(['ARCHITECTURE.md', 'AGENTS.md'])(
  'paths that %s names are there, from the root or below one of its folders; a name alone is that of a file',
  (page) => {
    const tops = ['.', ...readdirSync(repositoryRoot).filter((name) => /^[a-z]+$/.test(name))];
    const files = new Set(
      productFolders.flatMap((folder) =>
        readdirSync(join(repositoryRoot, folder), { recursive: true, encoding: 'utf8' }).map((path) =>
          basename(path),
        ),
      ),
    );
    const isThere = (path: string): boolean =>
      path.includes('/') ? tops.some((top) => existsSync(join(repositoryRoot, top, path))) : files.has(path);
    const named = pathsIn(page);
    expect(named.length).toBeGreaterThan(40);
    expect(named.filter((path) => !isThere(path))).toEqual([]);
  },
);

test('a source file that a page names is there', () => {
  const files = globSync('**/*.*', {
    cwd: repositoryRoot,
    exclude: (path) => /(^|\/)(node_modules|dist|test-results)$/.test(path),
  });
  const ends = new Set(files.flatMap((file) => endings(file)));
  const named = files
    .filter((file) => file.endsWith('.md'))
    .flatMap((page) =>
      [...textOf(page).matchAll(/`([\w./-]+\.(?:tsx?|mjs|sol))`/g)].map(([, path = '']) => ({ page, path })),
    );
  expect(named.length).toBeGreaterThan(100);
  expect(named.filter(({ path }) => !ends.has(path))).toEqual([]);
});

/** The path, and what follows each of its slashes. */
function endings(path: string): readonly string[] {
  const parts = path.split('/');
  return parts.map((_, at) => parts.slice(at).join('/'));
}

test('a newcomer reads at most six files for a flow of ARCHITECTURE.md', () => {
  const flows = textOf('ARCHITECTURE.md')
    .split(/\n{2,}/)
    .filter((paragraph) => paragraph.startsWith('**'))
    .map((paragraph) => [...paragraph.matchAll(/`[a-z]+\/[\w./-]+\.ts`/g)].length);
  expect(flows.length).toBeGreaterThanOrEqual(9);
  expect(flows.filter((files) => files < 2 || files > 6)).toEqual([]);
});

/** Texts in backticks that look like paths; those with a placeholder are a form, and not a path. */
function pathsIn(page: string): readonly string[] {
  const texts = [...textOf(page).matchAll(/`([^`\n]+)`/g)].map(([, text = '']) => text);
  return texts
    .filter((text) => /^[\w.{},-]+(\/[\w.{},-]*)+$|^[a-z][\w.-]+\.(ts|mjs|json|md)$/.test(text))
    .filter((text) => !text.startsWith('dist/'))
    .flatMap((text) => {
      const [, before = '', alternatives, after = ''] = /^(.*)\{(.+)\}(.*)$/.exec(text) ?? [];
      return alternatives === undefined ? [text] : alternatives.split(',').map((one) => before + one + after);
    });
}

test.each(['README.md', 'docs/console.md', 'docs/rest.md'])(
  'a cell of a table of %s is read at a glance',
  (page) => {
    const cells = readFileSync(join(repositoryRoot, page), 'utf8')
      .split('\n')
      .filter((line) => line.startsWith('|'))
      .flatMap((line) => line.split('|'));
    expect(cells.filter((cell) => cell.length > 300)).toEqual([]);
  },
);

test('the page for the night names every alert, once', () => {
  const namesIn = (page: string, pattern: RegExp): readonly string[] =>
    [...readFileSync(join(repositoryRoot, page), 'utf8').matchAll(pattern)]
      .map((match) => match[1] ?? '')
      .toSorted();
  expect(namesIn('docs/on-call.md', /\[(Paymaster\w+)\]/g)).toEqual(
    namesIn('docs/runbooks.md', /^### (Paymaster\w+)$/gm),
  );
});

describe('commands in documents', () => {
  test.each(documents())('each block of %s says where it runs, or why no test pastes it', (file) => {
    for (const { runs, reason = '' } of commandBlocks(file)) expect(runs ?? reason).not.toBe('');
  });

  test('that run somewhere are pasted by a test that knows their place', () => {
    const places = documents()
      .flatMap(commandBlocks)
      .flatMap(({ runs }) => runs ?? []);
    expect([...new Set(places)].toSorted()).toEqual([
      'a clone',
      'a public chain',
      'a public chain, beside it',
      'a public chain, in another terminal',
      'itself',
      'kubernetes',
      'make run',
      'one machine',
      'one machine, beside it',
    ]);
    expect(documentsFor('kubernetes').length).toBeGreaterThan(3);
  });

  test('name no target of make that does not exist', () => {
    const targets = new Set([...textOf('Makefile').matchAll(/^([a-z0-9-]+):/gm)].map(([, name]) => name));
    const named = documents().flatMap((file) =>
      [...textOf(file).matchAll(/(?:`|^ *)make ([a-z0-9-]+)/gm)].map(([, name]) => ({ file, name })),
    );
    expect(named.length).toBeGreaterThan(20);
    expect(named.filter(({ name }) => !targets.has(name))).toEqual([]);
  });
});
