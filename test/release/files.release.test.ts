import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { execFileSync, spawnSync } from 'node:child_process';
import {
  cpSync,
  existsSync,
  globSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { helm, renderText } from '../charts/support/helm.js';
import { startControlPlane } from '../support/cluster/control-plane.js';
import { repositoryRoot } from '../support/repository-root.js';
import { until } from '../support/until.js';

// The files of a release, made as a tag makes them, and used without anything else of the repository.

const folder = mkdtempSync(join(tmpdir(), 'release-'));
const out = join(folder, 'release');
const { version } = readJson<{ readonly version: string }>(join(repositoryRoot, 'package.json'));
beforeAll(() => {
  make(out);
}, 600_000);
afterAll(() => rmSync(folder, { recursive: true, force: true }));

function readJson<T>(path: string): T {
  return JSON.parse(readFileSync(path, 'utf8')) as T;
}

function make(target: string, ...rest: readonly string[]) {
  const run = spawnSync(process.execPath, ['hack/release/make.mjs', target, ...rest], {
    cwd: repositoryRoot,
    encoding: 'utf8',
  });
  if (rest.length === 0 && run.status !== 0) throw new Error(run.stderr);
  return run;
}

function unpacked(name: string): string {
  const target = join(folder, `unpacked-${name}`);
  mkdirSync(target, { recursive: true });
  execFileSync('tar', ['-xzf', join(out, `${name}-${version}.tgz`), '-C', target]);
  return target;
}

test('the same commit gives the same bytes, and SHA256SUMS names every one of them', () => {
  const again = join(folder, 'again');
  make(again);
  const sums = readFileSync(join(out, 'SHA256SUMS'), 'utf8');
  expect(readFileSync(join(again, 'SHA256SUMS'), 'utf8')).toBe(sums);
  rmSync(again, { recursive: true });
  const names = sums
    .trimEnd()
    .split('\n')
    .map((line) => line.slice(66));
  expect(
    readdirSync(out)
      .filter((name) => name !== 'SHA256SUMS')
      .sort(),
  ).toEqual(names);
  expect(names).toEqual(
    [
      'notes.md',
      `paymaster-crds-${version}.tgz`,
      `paymaster-operator-${version}-${process.arch === 'x64' ? 'amd64' : process.arch}.tar`,
      `paymaster-operator-${version}.cdx.json`,
      `paymaster-operator-${version}.tgz`,
      `paymaster-operator-cli-${version}.tgz`,
      `paymaster-operator-viem-${version}.tgz`,
      `paymaster-conformance-${version}.tgz`,
    ].sort(),
  );
  execFileSync('sha256sum', ['--check', '--strict', 'SHA256SUMS'], { cwd: out });
});

test('links of the notes lead to the pages of this version, also where the notes are shown elsewhere', () => {
  const links = [...readFileSync(join(out, 'notes.md'), 'utf8').matchAll(/\]\(([^)]+)\)/g)].map(
    ([, to = '']) => to,
  );
  expect(links.length).toBeGreaterThan(5);
  const place = `https://github.com/paymaster-operator/paymaster-operator/blob/v${version}/`;
  for (const to of links) {
    expect(to.startsWith(place)).toBe(true);
    expect([to, existsSync(join(repositoryRoot, to.slice(place.length).split('#')[0] ?? ''))]).toEqual([
      to,
      true,
    ]);
  }
});

describe('a tag', () => {
  test('that is not the version of every file makes nothing', () => {
    const run = make(join(folder, 'other'), 'v9.9.9');
    expect(run.status).toBe(1);
    expect(run.stderr).toContain(
      `package.json has version ${version}, and other versions are in tag v9.9.9 (9.9.9)`,
    );
  });

  test.each([
    {
      name: 'needs its part of the changelog',
      changelog: '# Changelog\n\n## Unreleased\n\n- a\n',
      want: 'must have a part',
    },
    {
      name: 'is not described by the part of another',
      changelog: '## 10.1.0 (2026-01-02)\n\n- a\n',
      want: 'must have a part',
    },
    { name: 'says something there', changelog: '## 0.1.0 (2026-01-02)\n\n## Older\n', want: 'says nothing' },
    {
      name: 'gives its part, and no other',
      changelog: '## Unreleased\n\n- b\n\n## 0.1.0 (2026-01-02)\n\n- a\n\n## 0.0.9 (2026-01-01)\n',
      want: '- a\n',
    },
  ])('$name', async ({ changelog, want }) => {
    const module: unknown = await import(join(repositoryRoot, 'hack/release/notes.mjs'));
    const { notesOf } = module as { notesOf(text: string, of: string, isTagged: boolean): string };
    if (want.startsWith('-')) expect(notesOf(changelog, '0.1.0', true)).toBe(want);
    else expect(() => notesOf(changelog, '0.1.0', true)).toThrow(want);
  });
});

test('the command line runs from its package alone, with the packages that it asks for', () => {
  const home = join(unpacked('paymaster-operator-cli'), 'package');
  const manifest = readJson<{
    readonly bin: Record<string, string>;
    readonly dependencies: Record<string, string>;
  }>(join(home, 'package.json'));
  mkdirSync(join(home, 'node_modules'));
  for (const name of Object.keys(manifest.dependencies))
    symlinkSync(join(repositoryRoot, 'node_modules', name), join(home, 'node_modules', name));
  const run = (...args: readonly string[]) =>
    spawnSync(process.execPath, ['--no-warnings', join(home, manifest.bin['paymaster']!), ...args], {
      encoding: 'utf8',
    });
  expect(run('--version')).toMatchObject({ status: 0, stdout: `${version}\n` });
  const valid = run('validate', join(repositoryRoot, 'examples/chains'));
  expect([valid.status, valid.stderr]).toEqual([0, expect.not.stringContaining('error')]);
  expect(manifest.bin['kubectl-paymaster']).toBe(manifest.bin['paymaster']);
  expect(Object.values(manifest.dependencies).filter((range) => !/^\d/.test(range))).toEqual([]);
});

test.each(['paymaster-operator-cli', 'paymaster-operator-viem', 'paymaster-conformance'])(
  '%s has the text of its licence',
  (name) => {
    const licence = readFileSync(join(unpacked(name), 'package/LICENSE'), 'utf8');
    expect(licence).toBe(readFileSync(join(repositoryRoot, 'LICENSE'), 'utf8'));
  },
);

test('the check of services runs from its package alone', () => {
  const home = join(unpacked('paymaster-conformance'), 'package');
  const run = spawnSync(process.execPath, [join(home, 'main.mjs'), 'http://127.0.0.1:9', '--chain-id', '1'], {
    encoding: 'utf8',
  });
  expect([run.status, run.stderr]).toEqual([2, expect.stringContaining('does not answer')]);
});

test('the client for viem has its code and types, and nothing of the tests', () => {
  const home = join(unpacked('paymaster-operator-viem'), 'package');
  const manifest = readJson<{ readonly repository: { readonly directory: string } }>(
    join(home, 'package.json'),
  );
  // Without it the registry refuses a package with provenance.
  expect(manifest.repository.directory).toBe('clients/viem');
  const names = readdirSync(join(home, 'dist'));
  expect(names).toEqual(expect.arrayContaining(['index.js', 'index.d.ts']));
  expect(names.filter((name) => /test|tsbuildinfo|\.map$/.test(name))).toEqual([]);
});

test('the bill of materials lists every package of the image, each with a hash and a licence, and its Node.js', () => {
  type Component = { readonly purl: string; readonly hashes?: object; readonly licenses?: object };
  const { components } = readJson<{ readonly components: readonly Component[] }>(
    join(out, `paymaster-operator-${version}.cdx.json`),
  );
  const rootfs = join(folder, 'rootfs');
  mkdirSync(rootfs);
  const image = readdirSync(out).find((name) => name.endsWith('.tar')) ?? '';
  execFileSync('sh', [
    '-c',
    'tar -xOf "$0" layer.tar | tar -xC "$1" --wildcards "./app/node_modules/*package.json"',
    join(out, image),
    rootfs,
  ]);
  const modules = join(rootfs, 'app/node_modules');
  const isPackage = /(?:^|node_modules\/)(?:@[^/]+\/)?[^/@]+\/package\.json$/;
  const found = globSync('**/package.json', { cwd: modules })
    .filter((path) => isPackage.test(path))
    .map((path) => readJson<{ readonly name: string; readonly version: string }>(join(modules, path)))
    .map((entry) => `pkg:npm/${entry.name.replace('@', '%40')}@${entry.version}`);
  const [runtime, ...packages] = components;
  expect(runtime?.purl).toMatch(/^pkg:generic\/node@24\./);
  expect(found.length).toBeGreaterThan(100);
  expect(packages.map(({ purl }) => purl)).toEqual([...new Set(found)].sort());
  expect(packages.filter(({ hashes, licenses }) => hashes === undefined || licenses === undefined)).toEqual(
    [],
  );
});

test('the charts render from their archives what they render in the repository', () => {
  const valuesFile = join(repositoryRoot, 'examples/kubernetes/postgres-url.yaml');
  const packed = helm([
    'template',
    'gas',
    join(out, `paymaster-operator-${version}.tgz`),
    '--namespace=gas-system',
    `--values=${valuesFile}`,
  ]);
  expect(packed.stdout).toBe(renderText({ valuesFile }));
});

test('the charts install and upgrade on an API server from the files alone, and keep what users have written', async () => {
  // Nothing of the repository: a folder with the two archives.
  const alone = join(folder, 'alone');
  mkdirSync(alone);
  for (const chart of ['paymaster-crds', 'paymaster-operator'])
    cpSync(join(out, `${chart}-${version}.tgz`), join(alone, `${chart}.tgz`));
  const plane = await startControlPlane();
  try {
    const kubeconfig = plane.kubeconfig('admin');
    const run = (...args: readonly string[]) => {
      const done = helm([...args, `--kubeconfig=${kubeconfig}`]);
      if (!done.ok) throw new Error(done.stderr);
      return done.stdout;
    };
    const crds = [
      'paymaster-crds',
      join(alone, 'paymaster-crds.tgz'),
      '--namespace=paymaster-crds',
      '--create-namespace',
    ];
    const operator = [
      'paymaster',
      join(alone, 'paymaster-operator.tgz'),
      '--namespace=paymaster-system',
      '--create-namespace',
    ];
    const values = join(alone, 'values.yaml');
    const always =
      'postgres: { bundled: { enabled: true } }\nnetworkPolicy: { apiServer: { anywhere: true } }\n';
    writeFileSync(values, always);
    run('install', ...crds);
    run('install', ...operator, `--values=${values}`);
    const read = (...args: string[]) => plane.kubectl(['-n', 'paymaster-system', ...args]);
    const images = (): readonly string[] =>
      read('get', 'deployments', '-o', 'jsonpath={.items[*].spec.template.spec.containers[*].image}').split(
        ' ',
      );
    expect(images()).toHaveLength(3);
    for (const image of images()) expect(image).toMatch(new RegExp(`:${version.replaceAll('.', '\\.')}$`));
    const chain = readFileSync(join(repositoryRoot, 'examples/chains/base.yaml'), 'utf8');
    await until('the definition is served', () => {
      try {
        plane.kubectl(['apply', '-f', '-'], { input: chain });
        return true;
      } catch {
        return false;
      }
    });
    const uid = plane.kubectl(['get', 'chain', 'base', '-o', 'jsonpath={.metadata.uid}']);
    const password = read('get', 'secrets', '-o', 'jsonpath={.items[*].data.password}');
    expect(password).not.toBe('');

    writeFileSync(values, `${always}image: { digest: 'sha256:${'1'.repeat(64)}' }\n`);
    run('upgrade', ...crds);
    run('upgrade', ...operator, `--values=${values}`);
    for (const image of images()) expect(image).toContain(`@sha256:${'1'.repeat(64)}`);
    expect(plane.kubectl(['get', 'chain', 'base', '-o', 'jsonpath={.metadata.uid}'])).toBe(uid);
    expect(read('get', 'secrets', '-o', 'jsonpath={.items[*].data.password}')).toBe(password);

    run('uninstall', 'paymaster', '--namespace=paymaster-system');
    expect(plane.kubectl(['get', 'chain', 'base', '-o', 'jsonpath={.metadata.uid}'])).toBe(uid);
  } finally {
    await plane.stop();
  }
});
