import { expect, test } from '@jest/globals';
import { execFileSync } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parse } from 'yaml';
import { repositoryRoot } from '../support/repository-root.js';
import { benchOrganisation, namespaceOf, organisations } from './kubernetes/fleet.js';
import { parseOptions, parts } from './options.js';

// The bench takes half an hour, so nobody runs it with every change: this is what would otherwise break unseen.

test('the short form has every part, and the nightly run measures it', () => {
  expect(parseOptions(['--short']).parts).toEqual(parts);
  const nightly = parse(readFileSync(join(repositoryRoot, '.github/workflows/nightly.yml'), 'utf8')) as {
    readonly jobs: Readonly<Record<string, { readonly steps?: readonly { readonly run?: string }[] }>>;
  };
  const commands = Object.values(nightly.jobs).flatMap(({ steps = [] }) => steps.map(({ run }) => run));
  expect(commands).toContain('make bench SHORT=1');
});

test.each(['--short', '--repeats=5'])(
  'with %s, no organisation has more paymasters than its quota',
  (form) => {
    const most = Math.max(...parseOptions([form]).sizes);
    const counts = new Map<string, number>();
    for (let index = 0; index < most; index += 1)
      counts.set(namespaceOf(index), (counts.get(namespaceOf(index)) ?? 0) + 1);
    for (let index = 0; index < organisations; index += 1) {
      const { spec } = benchOrganisation(index, most);
      expect(spec.quotas.paymasters).toBeGreaterThanOrEqual(counts.get(spec.namespace) ?? Infinity);
    }
  },
);

test('a part in its short form ends without an error, and writes its figures', () => {
  const folder = mkdtempSync(join(tmpdir(), 'bench-'));
  try {
    const main = join(repositoryRoot, 'dist/test/bench/main.js');
    execFileSync(process.execPath, ['--no-warnings', main, '--short', '--only', 'rules'], {
      cwd: folder,
      encoding: 'utf8',
      stdio: 'pipe',
    });
    const [file = ''] = readdirSync(join(folder, 'bench-results'));
    const { goals, failed } = JSON.parse(readFileSync(join(folder, 'bench-results', file), 'utf8')) as {
      readonly goals: readonly { readonly name: string; readonly value: number }[];
      readonly failed: readonly string[];
    };
    expect(failed).toEqual([]);
    expect(goals).toContainEqual(
      expect.objectContaining({ name: 'errors with and without rules', value: 0 }),
    );
  } finally {
    rmSync(folder, { recursive: true });
  }
});
