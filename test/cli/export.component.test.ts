import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { parseAllDocuments, stringify } from 'yaml';
import { applyManifests } from '../../adapters/manifests/apply-manifests.js';
import { createSqliteResourceStore } from '../../adapters/resources/sqlite/resources.js';
import { openDatabase, type Database } from '../../adapters/sqlite/database.js';
import { acceptedLossAnnotation } from '../../core/meta/meta.js';
import { kinds } from '../../core/resources/kinds.js';
import { systemClock } from '../../core/units/time.js';
import { readFiles } from '../../operator/validate/validate.js';
import { aPaymaster } from '../build/resources.js';
import { paymaster } from '../support/paymaster.js';
import { repositoryRoot } from '../support/repository-root.js';

let folder: string;
/** As of `make run`, which holds it open. */
let directory: string;
let db: Database;
let resources: ReturnType<typeof createSqliteResourceStore>;
beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'export-'));
  directory = join(folder, 'data');
  mkdirSync(directory);
  db = openDatabase(join(directory, 'resources.sqlite'), { durability: 'process', exclusive: true });
  resources = createSqliteResourceStore({ db, clock: systemClock });
  const { objects } = readFiles([join(repositoryRoot, 'examples/quickstart')]);
  expect((await applyManifests(resources, [{ objects }], new Map())).problems).toEqual([]);
  const key = { namespace: 'quickstart', name: 'shop-operations-per-day' };
  expect(await resources.get('PaymasterPolicy', key)).toBeDefined();
});
afterAll(() => {
  db.close();
  rmSync(folder, { recursive: true, force: true });
});

let file: string;
let text: string;
beforeEach(async () => {
  file = join(folder, 'export.yaml');
  ({ out: text } = await exported());
  writeFileSync(file, text);
});

const exported = (source: readonly string[] = ['--data-dir', directory]) => paymaster(['export', ...source]);
const run = (verb: string, more: readonly string[] = []) =>
  paymaster([verb, file, '--data-dir', directory, ...more]);
const edit = (from: string | RegExp, to: string) => {
  expect(text).toMatch(from);
  writeFileSync(file, text.replace(from, to));
};

describe('export', () => {
  test('reads a running instance; what it prints is valid, and changes nothing there', async () => {
    const { out, error, status } = await exported();
    expect(status).toBe(0);
    const written = parseAllDocuments(out).map((each) => each.toJS());
    for (const object of written)
      expect(Object.keys(object)).toEqual(['apiVersion', 'kind', 'metadata', 'spec']);
    expect(written.map(({ kind }) => kinds.indexOf(kind))).toEqual(
      written.map(({ kind }) => kinds.indexOf(kind)).toSorted((a, b) => a - b),
    );
    expect(error).toContain('not in manifests: master keys');
    expect(error).toContain('not in manifests: what was used of limits');
    expect(await paymaster(['validate', '--dev', file])).toMatchObject({ status: 0 });
    expect(await run('diff')).toEqual({ out: 'nothing differs\n', error: '', status: 0 });
    const check = await run('apply-check', ['--dev']);
    expect(check).toMatchObject({ status: 0, error: '' });
    expect(check.out).toMatch(/^nothing changes\n✓ \d+ objects in 1 file: 0 errors/);
  });

  test('of what kubectl got is the same, in whatever form', async () => {
    const lists = await Promise.all(kinds.map((kind) => resources.list(kind)));
    const got = join(folder, 'got.yaml');
    const items = lists.flat().map((object) => ({
      ...object,
      metadata: {
        ...object.metadata,
        finalizers: ['x'],
        annotations: {
          ...object.metadata.annotations,
          'kubectl.kubernetes.io/last-applied-configuration': '{"apiVersion":…}',
        },
      },
      status: { observedGeneration: 1, conditions: [] },
    }));
    for (const form of [
      stringify({ apiVersion: 'v1', kind: 'List', items }),
      items.map((item) => stringify(item)).join('---\n'),
      JSON.stringify({ apiVersion: 'v1', kind: 'List', items }),
    ]) {
      writeFileSync(got, form);
      expect((await exported(['--got', got])).out).toBe(text);
    }
  });

  test('of a namespace has the objects of that organisation alone', async () => {
    const { out } = await exported(['--data-dir', directory, '-n', 'quickstart']);
    const found = parseAllDocuments(out).map((each) => each.toJS().metadata.namespace);
    expect(new Set(found)).toEqual(new Set(['quickstart']));
    expect((await exported(['--data-dir', directory, '-n', 'nobody'])).out).toBe('');
  });

  test('names what is worth nothing elsewhere, or should not be shown', async () => {
    const got = join(folder, 'got.yaml');
    const annotations = { [acceptedLossAnnotation]: 'x', mine: 'yours' };
    const moved = aPaymaster({
      meta: { annotations },
      keyGeneration: 2,
      funding: { address: `0x${'11'.repeat(20)}`, message: 'm', signature: `0x${'22'.repeat(65)}` },
      status: { keyGeneration: 5 },
    });
    const chain = { apiVersion: moved.apiVersion, kind: 'Chain', metadata: { name: 'c' } };
    const spec = { rpc: { urls: ['https://node.example/key'] } };
    writeFileSync(got, `${stringify(moved)}---\n${stringify({ ...chain, spec })}`);
    const { out, error } = await exported(['--got', got]);
    expect(out).not.toContain(acceptedLossAnnotation);
    expect(out).toContain('mine: yours');
    for (const line of [
      'Paymaster acme/shop: the proof of its funding wallet holds only for this name',
      'Paymaster acme/shop: its key of generation 5 is in force',
      `Paymaster acme/shop: ${acceptedLossAnnotation} is about one loss of data`,
      'Chain c: spec.rpc.urls is in the manifest, and may hold a secret',
    ])
      expect(error).toContain(line);
  });

  test.each([
    { source: [], status: 2, says: 'the source must be one of' },
    { source: ['--data-dir', 'x', '--got', 'y'], status: 2, says: 'the source must be one of' },
    { source: ['--got', '/none'], status: 2, says: '/none cannot be read' },
    { source: ['--data-dir', '/none'], status: 3, says: '/none/resources.sqlite' },
    { source: ['--kubeconfig', '/none'], status: 2, says: '/none: ' },
    { source: ['--got', join(repositoryRoot, 'package.json')], status: 2, says: 'made of Chain, FeeToken' },
  ])('$source ends with $status', async ({ source, status, says }) => {
    expect(await exported(source)).toMatchObject({ out: '', status, error: expect.stringContaining(says) });
    expect(existsSync('/none')).toBe(false);
  });
});

describe('diff', () => {
  test('shows fields before and after, objects that are new, and those that only the other side has', async () => {
    edit(/(name: shop-operations-per-day[^]*?threshold: )"\d+"/, '$1"7"');
    writeFileSync(file, readFileSync(file, 'utf8').replace('name: quickstart\n', 'name: quickstart-2\n'));
    const { out, status } = await run('diff');
    expect(status).toBe(1);
    expect(out).toMatch(
      /^~ PaymasterPolicy quickstart\/shop-operations-per-day changed\n {4}spec\.\w+\.threshold: "\d+" → "7"$/m,
    );
    expect(out).toMatch(/^\+ Organisation quickstart-2 created$/m);
    expect(out).toMatch(/^- Organisation quickstart only there$/m);
    const json = JSON.parse((await run('diff', ['-o', 'json'])).out);
    expect(json.changes).toContainEqual({
      object: 'Organisation quickstart-2',
      change: 'created',
      fields: [],
    });
  });

  test('a field that a manifest leaves out is removed by its manager alone', async () => {
    edit(/^ *confirmations: 0\n/m, '');
    const [mine, other] = [await run('diff'), await run('diff', ['--manager', 'argocd'])];
    expect(mine.out).toMatch(/^ {4}spec\.confirmations: 0 → \(absent\)$/m);
    expect(other).toEqual({ out: 'nothing differs\n', error: '', status: 0 });
  });
});

describe('apply-check', () => {
  test('says whose field it is that apply would not take', async () => {
    edit(/(name: shop-operations-per-day[^]*?threshold: )"\d+"/, '$1"7"');
    expect(await run('apply-check', ['--dev'])).toMatchObject({ status: 0 });
    const { out, status } = await run('apply-check', ['--dev', '--manager', 'argocd']);
    expect(status).toBe(1);
    expect(out).toMatch(
      /^✗ PaymasterPolicy quickstart\/shop-operations-per-day refused: .*threshold is owned by "manifests"$/m,
    );
    const forced = await run('apply-check', ['--dev', '--manager', 'argocd', '--force']);
    expect(forced.status).toBe(0);
    expect(forced.out).toMatch(/^~ PaymasterPolicy quickstart\/shop-operations-per-day changed\n.*→ "7"$/m);
    // What is asked changes nothing.
    expect((await exported()).out).toBe(text);
  });

  test('says what the API server or the operator would not take, beside what is there', async () => {
    edit(/chainId: 31337\n( {2}type: HYBRID)/, 'chainId: 5\n$1');
    const { out, status } = await run('apply-check', ['--dev']);
    expect(status).toBe(1);
    expect(out).toContain('refused');
    edit(/(kind: Paymaster\n[^]*?version: )[\d.]+/, '$19.9.9');
    expect((await run('apply-check', ['--dev'])).out).toMatch(/✗ .*9\.9\.9/);
  });
});
