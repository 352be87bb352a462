import { expect, test } from '@jest/globals';
import { execFileSync, spawnSync } from 'node:child_process';
import { existsSync, globSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { parse } from 'yaml';
import { repositoryRoot } from '../support/repository-root.js';

// What publishes a release: anyone who changes it, or what it runs, changes what everybody installs.

type Job = {
  readonly uses?: string;
  readonly permissions?: Readonly<Record<string, string>>;
  readonly steps?: readonly { readonly uses?: string; readonly run?: string }[];
};
type Workflow = {
  readonly on: object;
  readonly permissions: unknown;
  readonly jobs: Readonly<Record<string, Job>>;
};

const files = globSync('.github/workflows/*.yml', { cwd: repositoryRoot })
  .toSorted()
  .map((name) => join(repositoryRoot, name));
const read = (file: string) => parse(readFileSync(file, 'utf8')) as Workflow;
const release = read(join(repositoryRoot, '.github/workflows/release.yml'));
const jobs = Object.entries(release.jobs);

/** Says everything that actionlint finds; empty where nothing is wrong. */
function lint(paths: readonly string[]): string {
  const binary = execFileSync('sh', [join(repositoryRoot, 'hack/actionlint/build.sh')], {
    encoding: 'utf8',
  }).trim();
  return spawnSync(binary, ['-no-color', ...paths], { encoding: 'utf8', cwd: repositoryRoot }).stdout;
}

test('actionlint finds nothing in the workflows, and finds what is planted', () => {
  expect(files.map((file) => basename(file))).toEqual([
    'codeql.yml',
    'nightly.yml',
    'release-tests.yml',
    'release.yml',
    'test.yml',
    'vulnerabilities.yml',
  ]);
  expect(lint(files)).toBe('');
  const folder = mkdtempSync(join(tmpdir(), 'workflows-'));
  try {
    const planted = join(folder, 'release.yml');
    const text = readFileSync(join(repositoryRoot, '.github/workflows/release.yml'), 'utf8');
    writeFileSync(planted, text.replace('steps.build.outputs.digest', 'steps.built.outputs.digest'));
    expect(lint([planted])).toContain('property "built" is not defined');
  } finally {
    rmSync(folder, { recursive: true });
  }
});

test.each(files)('%s runs no code of others that somebody could replace', (file) => {
  for (const { uses, steps = [] } of Object.values(read(file).jobs))
    for (const name of [uses, ...steps.map((step) => step.uses)])
      if (name !== undefined && !name.startsWith('./'))
        expect(name).toMatch(/^[\w.-]+\/[\w./-]+@[0-9a-f]{40}$/);
});

test.each(files)('%s gives a job no right that it does not ask for', (file) => {
  expect(read(file).permissions).toEqual({ contents: 'read' });
});

test('what looks at changes of strangers may write findings and nothing else', () => {
  const rights = ['codeql.yml', 'vulnerabilities.yml', 'test.yml'].flatMap((name) =>
    Object.values(read(join(repositoryRoot, '.github/workflows', name)).jobs).flatMap(
      ({ permissions = {} }) => Object.entries(permissions).filter(([, right]) => right === 'write'),
    ),
  );
  expect(rights).toEqual([['security-events', 'write']]);
  // It would run what a stranger proposes with the rights of the repository.
  for (const file of files) expect(readFileSync(file, 'utf8')).not.toContain('pull_request_target');
});

test('what machines read about security names pages that are there', () => {
  const text = readFileSync(join(repositoryRoot, 'SECURITY-INSIGHTS.yml'), 'utf8');
  const insights = parse(text) as Readonly<Record<string, Readonly<Record<string, unknown>>>>;
  expect(Object.keys(insights)).toEqual(['header', 'project', 'repository']);
  for (const part of ['name', 'administrators', 'repositories', 'vulnerability-reporting'])
    expect(insights['project']).toHaveProperty(part);
  for (const part of ['status', 'url', 'accepts-change-request', 'core-team', 'license', 'security'])
    expect(insights['repository']).toHaveProperty(part);
  const pages = [...text.matchAll(/blob\/main\/([\w./-]+)/g)].map(([, page = '']) => page);
  expect(pages.length).toBeGreaterThan(8);
  expect(pages.filter((page) => !existsSync(join(repositoryRoot, page)))).toEqual([]);
});

test('new versions wait for a week, fixes of known vulnerabilities do not', () => {
  const renovate = JSON.parse(readFileSync(join(repositoryRoot, '.github/renovate.json'), 'utf8')) as unknown;
  expect(renovate).toMatchObject({
    minimumReleaseAge: '7 days',
    automerge: false,
    vulnerabilityAlerts: { enabled: true, minimumReleaseAge: null, schedule: ['at any time'] },
    osvVulnerabilityAlerts: true,
  });
});

test('a release begins with a tag alone, and publishes nothing before every test has passed', () => {
  expect(release.on).toEqual({ push: { tags: ['v*'] } });
  const publishing = jobs.filter(([, { permissions }]) => Object.values(permissions ?? {}).includes('write'));
  expect(publishing.map(([name]) => name)).toEqual(['image', 'charts', 'npm', 'publish']);
  const before = (name: string): readonly string[] => {
    const { needs = [] } = release.jobs[name] as { readonly needs?: string | readonly string[] };
    return [needs].flat().flatMap((each) => [each, ...before(each)]);
  };
  for (const [name] of publishing)
    expect(before(name)).toEqual(expect.arrayContaining(['test', 'release-tests']));
  expect(release.jobs['release-tests']?.uses).toBe('./.github/workflows/release-tests.yml');
  expect(release.jobs['test']?.uses).toBe('./.github/workflows/test.yml');
});

test('a candidate is given to nobody who asks for the newest', () => {
  const runs = ['npm', 'publish'].flatMap((name) =>
    (release.jobs[name]?.steps ?? []).flatMap(({ run = '' }) => run),
  );
  const said = (tag: string) => {
    const script = `npm() { echo "npm $*"; }; gh() { echo "gh $*"; }; ${runs.join('\n')}`;
    return execFileSync('sh', ['-euc', script], { encoding: 'utf8', env: { GITHUB_REF_NAME: tag } });
  };
  expect(said('v0.1.0-rc.1')).toMatch(/--tag next\n[\s\S]*gh release create v0\.1\.0-rc\.1 --prerelease /);
  expect(said('v0.1.0')).toMatch(/--tag latest\n[\s\S]*gh release create v0\.1\.0 --verify-tag /);
});

test('no key or token is kept for it: anyone who reads the settings of the repository cannot sign or publish', () => {
  const text = files.map((file) => readFileSync(file, 'utf8')).join('\n');
  expect(text).not.toMatch(/secrets\./);
  for (const name of ['image', 'charts', 'npm', 'publish'])
    expect(release.jobs[name]?.permissions).toMatchObject({ 'id-token': 'write' });
});

test('what a tag is called never becomes a part of a command', () => {
  for (const [name, { steps = [] }] of jobs)
    for (const { run = '' } of steps) expect([name, run.match(/\$\{\{[^}]*\}\}/g)]).toEqual([name, null]);
});
