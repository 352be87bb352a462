import { mkdirSync, mkdtempSync, renameSync, rmSync, unlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { formatManifestProblem } from '../../../adapters/manifests/parse-manifest.js';
import { createManifestSource, type ManifestSource } from '../../../adapters/manifests/manifest-source.js';
import { type Database, openDatabase } from '../../../adapters/sqlite/database.js';
import { createSqliteResourceStore } from '../../../adapters/resources/sqlite/resources.js';
import { DomainError } from '../../../core/errors.js';
import { silentLogger } from '../../../core/log.js';
import type { ResourceStore } from '../../../core/resources/resource-store.js';
import { systemClock as clock } from '../../../core/units/time.js';
import { until } from '../../support/until.js';

const paymaster = (name: string, more = '') => `apiVersion: paymasters.dev/v1alpha1
kind: Paymaster
metadata: { name: ${name}, namespace: acme }
spec:
  name: ${name}
  chainId: 1
  type: HYBRID
  version: 1.1.0
${more}`;
const organisation = `apiVersion: paymasters.dev/v1alpha1
kind: Organisation
metadata: { name: acme }
spec: { namespace: acme }
`;

describe('a directory of manifests', () => {
  let root: string;
  let directory: string;
  let db: Database;
  let store: ResourceStore;
  let source: ManifestSource;

  beforeEach(() => {
    root = mkdtempSync(join(tmpdir(), 'paymaster-manifests-'));
    directory = join(root, 'manifests');
    mkdirSync(directory);
    db = openDatabase(':memory:', { durability: 'process' });
    store = createSqliteResourceStore({ db, clock });
  });
  afterEach(async () => {
    await source.stop();
    db.close();
    rmSync(root, { recursive: true, force: true });
  });

  const write = (name: string, text: string) => writeFileSync(join(directory, name), text);
  const get = (name: string) => store.get('Paymaster', { namespace: 'acme', name });
  const names = async () => (await store.list('Paymaster')).map(({ metadata }) => metadata.name);
  const problems = () => source.report().problems.map(formatManifestProblem);

  function start(resources: ManifestSourceResources = store) {
    source = createManifestSource({ directory, resources, log: silentLogger, clock });
    return source.start();
  }
  type ManifestSourceResources = Pick<ResourceStore, 'apply' | 'delete' | 'list'>;

  describe('at the start', () => {
    test('is applied, and the report lists files, objects and problems', async () => {
      write('b.yaml', `${paymaster('shop')}---\n${paymaster('game')}`);
      write('a.yml', organisation);
      write('notes.txt', 'not a manifest');
      const report = await start();
      expect(report).toEqual({
        files: ['a.yml', 'b.yaml'],
        objects: [
          { kind: 'Organisation', key: { name: 'acme' }, file: 'a.yml' },
          { kind: 'Paymaster', key: { namespace: 'acme', name: 'shop' }, file: 'b.yaml' },
          { kind: 'Paymaster', key: { namespace: 'acme', name: 'game' }, file: 'b.yaml' },
        ],
        problems: [],
      });
      expect(await names()).toEqual(['game', 'shop']);
    });

    test('applies cluster-scoped kinds before those that live under them, whatever the file names', async () => {
      write('a.yaml', paymaster('shop'));
      write('z.yaml', organisation);
      const order: string[] = [];
      const watches = (['Organisation', 'Paymaster'] as const).map((kind) =>
        store.watch(kind, ({ object }) => order.push(object.kind)),
      );
      await Promise.all(watches.map(({ synced }) => synced));
      await start();
      expect(order).toEqual(['Organisation', 'Paymaster']);
      watches.forEach((watch) => watch.stop());
    });

    test('works with a directory that comes later', async () => {
      rmSync(directory, { recursive: true });
      const report = await start();
      expect(report.problems.map(({ field }) => field)).toEqual(['file']);
      mkdirSync(directory);
      write('a.yaml', paymaster('shop'));
      await until('the object is there', async () => (await get('shop')) !== undefined);
      expect(problems()).toEqual([]);
    });
  });

  describe('an edit', () => {
    test('takes effect without a restart', async () => {
      write('a.yaml', paymaster('shop'));
      await start();
      write('a.yaml', paymaster('shop', '  suspended: true\n'));
      await until('it is applied', async () => (await get('shop'))?.spec.suspended === true);
    });

    test('by way of a new file that is renamed over the old one takes effect', async () => {
      write('a.yaml', paymaster('shop'));
      await start();
      const uid = (await get('shop'))?.metadata.uid;
      write('.a.yaml.swp', 'swap');
      write('a.yaml~', paymaster('backup'));
      write('a.yaml.new', paymaster('shop', '  suspended: true\n'));
      renameSync(join(directory, 'a.yaml.new'), join(directory, 'a.yaml'));
      await until('it is applied', async () => (await get('shop'))?.spec.suspended === true);
      expect((await get('shop'))?.metadata.uid).toBe(uid);
      expect(await names()).toEqual(['shop']);
    });

    test('that removes the file for a moment does not delete its objects', async () => {
      write('a.yaml', paymaster('shop'));
      await start();
      const uid = (await get('shop'))?.metadata.uid;
      unlinkSync(join(directory, 'a.yaml'));
      await until('the file is missed', () => source.report().files.length === 0);
      write('a.yaml', paymaster('shop', '  suspended: true\n'));
      await until('it is applied', async () => (await get('shop'))?.spec.suspended === true);
      expect((await get('shop'))?.metadata.uid).toBe(uid);
    });

    test('that leaves a field out removes it, and leaves what the dashboard owns', async () => {
      write('a.yaml', paymaster('shop', '  maxExpirySeconds: 60\n'));
      await start();
      await store.apply({
        manager: 'paymaster-dashboard',
        kind: 'Paymaster',
        key: { namespace: 'acme', name: 'shop' },
        spec: { suspended: true },
      });
      write('a.yaml', paymaster('shop'));
      await until('it is applied', async () => (await get('shop'))?.spec.maxExpirySeconds === undefined);
      expect((await get('shop'))?.spec.suspended).toBe(true);
    });
  });

  describe('a removal', () => {
    test('of a document deletes its object, and of the file the rest', async () => {
      write('a.yaml', `${paymaster('shop')}---\n${paymaster('game')}`);
      await start();
      write('a.yaml', paymaster('shop'));
      await until('one is gone', async () => (await names()).length === 1);
      expect(await names()).toEqual(['shop']);
      unlinkSync(join(directory, 'a.yaml'));
      await until('both are gone', async () => (await names()).length === 0);
    });

    test('while nothing runs is noticed at the next start', async () => {
      write('a.yaml', paymaster('shop'));
      write('b.yaml', paymaster('game'));
      await start();
      await source.stop();
      unlinkSync(join(directory, 'a.yaml'));
      await start();
      await until('it is gone', async () => (await names()).length === 1);
      expect(await names()).toEqual(['game']);
    });

    test('of a manifest that only adds to what the dashboard made gives its fields back', async () => {
      const key = { namespace: 'acme', name: 'shop' };
      const spec = { name: 'shop', chainId: 1, type: 'HYBRID', version: '1.1.0' } as const;
      await store.apply({ manager: 'paymaster-dashboard', kind: 'Paymaster', key, spec });
      write('a.yaml', paymaster('shop', '  suspended: true\n'));
      await start();
      expect((await get('shop'))?.spec.suspended).toBe(true);
      unlinkSync(join(directory, 'a.yaml'));
      await until('the field is gone', async () => (await get('shop'))?.spec.suspended === undefined);
      expect((await get('shop'))?.spec).toEqual(spec);
    });

    test('never touches what others made', async () => {
      await store.apply({
        manager: 'paymaster-dashboard',
        kind: 'Paymaster',
        key: { namespace: 'acme', name: 'theirs' },
        spec: { name: 'theirs', chainId: 1, type: 'HYBRID', version: '1.1.0' },
      });
      write('a.yaml', paymaster('shop'));
      await start();
      unlinkSync(join(directory, 'a.yaml'));
      await until('ours is gone', async () => (await names()).length === 1);
      expect(await names()).toEqual(['theirs']);
    });

    test('of a moved document deletes nothing', async () => {
      write('a.yaml', paymaster('shop'));
      await start();
      const uid = (await get('shop'))?.metadata.uid;
      write('b.yaml', paymaster('shop', '  suspended: true\n'));
      unlinkSync(join(directory, 'a.yaml'));
      await until('it is applied', async () => (await get('shop'))?.spec.suspended === true);
      await until('nothing is wrong', () => problems().length === 0);
      expect((await get('shop'))?.metadata.uid).toBe(uid);
    });
  });

  describe('a mistake', () => {
    test('is reported by file, line, column, field and expectation, and stops nothing else', async () => {
      write('a.yaml', `${paymaster('bad', '  maxExpirySeconds: 0\n')}---\n${paymaster('good')}`);
      write('b.yaml', paymaster('other'));
      await start();
      expect(problems()).toEqual([
        'a.yaml:9:3: spec.maxExpirySeconds must be a whole number from 1 to 86400, got 0',
      ]);
      expect(await names()).toEqual(['good', 'other']);
    });

    test.each([
      { name: 'a value that is refused', text: paymaster('shop', '  maxExpirySeconds: 0\n') },
      { name: 'a field that is unknown', text: paymaster('shop', '  colour: red\n') },
      { name: 'a change of what never changes', text: paymaster('shop').replace('chainId: 1', 'chainId: 2') },
      {
        name: 'a wrong frame',
        text: paymaster('shop').replace('namespace: acme', 'namespace: acme, uid: x'),
      },
      { name: 'a kind that is misspelt', text: paymaster('shop').replace('Paymaster', 'Paymastr') },
      { name: 'no valid YAML', text: `${paymaster('shop')}  funding: [` },
      { name: 'an object that is gone half', text: 'apiVersion: paymasters.dev/v1alpha1\nkind: Paymaster\n' },
    ])('keeps the last good state: $name', async ({ text }) => {
      write('a.yaml', paymaster('shop', '  maxExpirySeconds: 60\n'));
      await start();
      const before = await get('shop');
      write('a.yaml', text);
      await until('it is reported', () => problems().length > 0);
      // Longer than an object may be missing before it is withdrawn: a second change is seen and settled meanwhile.
      write('b.yaml', paymaster('brief'));
      await until('the second is there', async () => (await get('brief')) !== undefined);
      unlinkSync(join(directory, 'b.yaml'));
      await until('the second is gone', async () => (await get('brief')) === undefined);
      expect(await get('shop')).toEqual(before);
      write('a.yaml', paymaster('shop'));
      await until('it is corrected', async () => (await get('shop'))?.spec.maxExpirySeconds === undefined);
      expect(problems()).toEqual([]);
    });

    test('two manifests of one object are a problem that names both, and neither is applied', async () => {
      write('a.yaml', paymaster('shop'));
      await start();
      write('b.yaml', `${paymaster('other')}---\n${paymaster('shop', '  suspended: true\n')}`);
      await until('both are reported', () => problems().length === 2);
      expect(problems()).toEqual([
        'a.yaml:3:13: metadata.name must be defined once: Paymaster acme/shop stands in b.yaml:12 too, keep one',
        'b.yaml:12:13: metadata.name must be defined once: Paymaster acme/shop stands in a.yaml:3 too, keep one',
      ]);
      expect((await get('shop'))?.spec.suspended).toBeUndefined();
      expect(await names()).toEqual(['other', 'shop']);
      unlinkSync(join(directory, 'a.yaml'));
      await until('the other one counts', async () => (await get('shop'))?.spec.suspended === true);
    });

    test('a field that the dashboard owns is reported with its owner', async () => {
      write('a.yaml', paymaster('shop'));
      await start();
      await store.apply({
        manager: 'paymaster-dashboard',
        kind: 'Paymaster',
        key: { namespace: 'acme', name: 'shop' },
        spec: { suspended: true },
      });
      write('a.yaml', paymaster('shop', '  suspended: false\n'));
      await until('it is reported', () => problems().length > 0);
      expect(problems()).toEqual([
        'a.yaml:9:3: spec.suspended must be changed by its owner "paymaster-dashboard"',
      ]);
      expect((await get('shop'))?.spec.suspended).toBe(true);
    });

    test('an outage of the store is reported, and recovered from without another edit', async () => {
      let isDown = true;
      const flaky: ManifestSourceResources = {
        ...store,
        apply: async (request) => {
          if (isDown) throw new DomainError('UNAVAILABLE', 'the store is away');
          return store.apply(request);
        },
      };
      write('a.yaml', paymaster('shop'));
      await start(flaky);
      expect(problems()).toEqual(['a.yaml:1:1: Paymaster acme/shop must be stored (the store is away)']);
      isDown = false;
      await until('it is applied', async () => (await get('shop')) !== undefined);
      await until('nothing is wrong', () => problems().length === 0);
    });
  });

  test('stops twice, and hears of nothing afterwards', async () => {
    write('a.yaml', paymaster('shop'));
    await start();
    await source.stop();
    await source.stop();
    write('a.yaml', paymaster('shop', '  suspended: true\n'));
    const other = createManifestSource({ directory, resources: store, log: silentLogger, clock });
    await other.start();
    await until(
      'another source has seen the change',
      async () => (await get('shop'))?.spec.suspended === true,
    );
    expect(source.report().objects).toHaveLength(1);
    await other.stop();
  });
});
