import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { isDomainError, type DomainError } from '../../core/errors.js';
import { ownedFields, listOwners } from '../../core/resources/managed-fields.js';
import type { Kind, Resources } from '../../core/resources/kinds.js';
import type { ObjectMeta } from '../../core/meta/meta.js';
import type { ApplyRequest, ResourceStore, WatchEvent } from '../../core/resources/resource-store.js';
import { until } from '../support/until.js';

/** A store in which the namespaces `acme` and `globex` may be written to. */
export type ResourceStoreHarness = {
  readonly store: ResourceStore;
  /** Opens the same data again after an orderly stop. */
  reopen(): Promise<ResourceStore>;
  stop(): Promise<void>;
};

const key = { namespace: 'acme', name: 'shop' };
const git = 'manifests';
const dashboard = 'paymaster-dashboard';
const wallet = '0x1111111111111111111111111111111111111111';

/** Guarantees of every resource store; see the port. */
export function resourceStoreConformance(
  implementation: string,
  create: () => Promise<ResourceStoreHarness>,
): void {
  describe(`resource store on ${implementation}`, () => {
    let harness: ResourceStoreHarness;
    let store: ResourceStore;

    beforeEach(async () => {
      harness = await create();
      store = harness.store;
    });
    afterEach(() => harness.stop());

    const spec = { name: 'Shop', chainId: 1, type: 'HYBRID', version: '1.1.0' } as const;

    function apply(manager: string, fields: Partial<ApplyRequest<'Paymaster'>>) {
      return store.apply({ manager, kind: 'Paymaster', key, spec: {}, ...fields });
    }
    const created = () => apply(git, { spec, create: true });

    describe('create', () => {
      test('gives a uid, a version, generation 1 and a creation time', async () => {
        const made = await created();
        expect(made).toMatchObject({ kind: 'Paymaster', metadata: { ...key, generation: 1 }, spec });
        expect(made.metadata.uid).toMatch(/^[0-9a-f-]{36}$/);
        expect(made.metadata.resourceVersion).not.toBe('');
        expect(Number.isNaN(Date.parse(made.metadata.creationTimestamp))).toBe(false);
        expect(await store.get('Paymaster', key)).toEqual(made);
      });

      test('fails when the object exists, and leaves it as it was', async () => {
        const first = await created();
        const error = await failure(apply(dashboard, { spec: { ...spec, suspended: true }, create: true }));
        expect(error.code).toBe('ALREADY_EXISTS');
        expect(await store.get('Paymaster', key)).toEqual(first);
      });

      test('of many at once lets exactly one through', async () => {
        const results = await Promise.allSettled(
          Array.from({ length: 8 }, (_, n) =>
            apply(`writer-${n}`, { spec: { ...spec, keyGeneration: n + 1 }, create: true }),
          ),
        );
        const winners = results.filter(({ status }) => status === 'fulfilled');
        expect(winners).toHaveLength(1);
        expect(await store.list('Paymaster', { namespace: 'acme' })).toHaveLength(1);
      });

      test('after a delete makes a new object with another uid', async () => {
        const first = await created();
        await store.delete('Paymaster', key);
        const second = await created();
        expect(second.metadata.uid).not.toBe(first.metadata.uid);
        expect(second.metadata.generation).toBe(1);
      });
    });

    describe('ownership', () => {
      test('is reported per leaf field in the form of Kubernetes', async () => {
        await created();
        const object = await apply(dashboard, { spec: { funding: { address: wallet } } });
        const entries = object.metadata.managedFields ?? [];
        expect(entries.find(({ manager }) => manager === dashboard)?.fieldsV1).toEqual({
          'f:spec': { 'f:funding': { 'f:address': {} } },
        });
        expect(listOwners(object, 'spec.funding.address')).toEqual([
          { manager: dashboard, operation: 'Apply' },
        ]);
        expect(listOwners(object, 'spec.version').map(({ manager }) => manager)).toEqual([git]);
      });

      test('lets two managers write different fields of one object', async () => {
        await created();
        await apply(dashboard, { spec: { suspended: true } });
        const object = await apply(git, { spec: { ...spec, maxExpirySeconds: 60 } });
        expect(object.spec).toEqual({ ...spec, suspended: true, maxExpirySeconds: 60 });
      });

      test("refuses another manager's field with another value, naming manager and field", async () => {
        const before = await apply(git, { spec: { ...spec, suspended: true } });
        const error = await failure(apply(dashboard, { spec: { suspended: false } }));
        expect(error.code).toBe('FIELD_OWNED');
        expect(error.message).toContain('spec.suspended');
        expect(error.details.owner).toBe(git);
        expect(await store.get('Paymaster', key)).toEqual(before);
      });

      test('is shared by managers that want the same value, and the field stays while one of them does', async () => {
        await apply(git, { spec: { ...spec, suspended: true } });
        const both = await apply(dashboard, { spec: { suspended: true } });
        expect(
          listOwners(both, 'spec.suspended')
            .map(({ manager }) => manager)
            .toSorted(),
        ).toEqual([git, dashboard]);
        const left = await apply(git, { spec });
        expect(left.spec.suspended).toBe(true);
        const gone = await apply(dashboard, {});
        expect(gone.spec).toEqual(spec);
      });

      test('moves with force', async () => {
        await apply(git, { spec: { ...spec, suspended: true } });
        const object = await apply(dashboard, { spec: { suspended: false }, force: true });
        expect(object.spec.suspended).toBe(false);
        expect(listOwners(object, 'spec.suspended').map(({ manager }) => manager)).toEqual([dashboard]);
        expect((await failure(apply(git, { spec: { ...spec, suspended: true } }))).code).toBe('FIELD_OWNED');
      });

      test('treats a list as one leaf', async () => {
        const contract = { namespace: 'acme', name: 'token' };
        const request = { kind: 'SmartContract', key: contract } as const;
        const base = { paymasterRef: { name: 'shop' }, name: 'Token', address: wallet, abi: '[]' };
        await store.apply({ ...request, manager: git, spec: { ...base, whitelistedMethods: ['a', 'b'] } });
        const error = await failure(
          store.apply({ ...request, manager: dashboard, spec: { whitelistedMethods: ['a', 'b', 'c'] } }),
        );
        expect(error.code).toBe('FIELD_OWNED');
        const object = await store.apply({
          ...request,
          manager: git,
          spec: { ...base, whitelistedMethods: ['c'] },
        });
        expect(object.spec.whitelistedMethods).toEqual(['c']);
      });

      test('covers labels and annotations', async () => {
        await apply(git, { spec, labels: { team: 'a' }, annotations: { 'example.com/x': '1' } });
        const object = await apply(dashboard, { annotations: { 'paymasters.dev/created-by': 'ci' } });
        expect(object.metadata.labels).toEqual({ team: 'a' });
        expect(object.metadata.annotations).toEqual({
          'example.com/x': '1',
          'paymasters.dev/created-by': 'ci',
        });
        expect(ownedFields<'Paymaster'>(object, dashboard)).toEqual({
          spec: {},
          annotations: { 'paymasters.dev/created-by': 'ci' },
        });
        const without = await apply(git, { spec });
        expect(without.metadata.labels).toBeUndefined();
        expect((await failure(apply(git, { spec, labels: { team: 'not a value!' } }))).code).toBe(
          'INVALID_INPUT',
        );
      });

      test('of no labels and no annotations is of nothing: others add theirs', async () => {
        await apply(dashboard, { spec, labels: {}, annotations: {} });
        const texts = { labels: { team: 'a' }, annotations: { 'example.com/x': '1' } };
        const object = await apply(git, texts);
        expect(object.metadata).toMatchObject(texts);
        // Nor does who has none from then on take them away.
        const after = await apply(dashboard, { spec, labels: {}, annotations: {} });
        expect(after.metadata).toMatchObject(texts);
      });

      test('keeps an empty object as a separate field', async () => {
        const policy = { namespace: 'acme', name: 'deploy' };
        const object = await store.apply({
          manager: dashboard,
          kind: 'PaymasterPolicy',
          key: policy,
          spec: {
            paymasterRef: { name: 'shop' },
            name: 'deploy',
            policyType: 'WALLET_DEPLOYMENT',
            walletDeployment: {},
          },
        });
        expect(object.spec.walletDeployment).toEqual({});
        expect(ownedFields<'PaymasterPolicy'>(object, dashboard).spec).toEqual(object.spec);
      });
    });

    describe('an apply', () => {
      test('removes fields that its manager owned before and leaves out now', async () => {
        await apply(git, { spec: { ...spec, funding: { address: wallet }, suspended: true } });
        const object = await apply(git, { spec: { ...spec, suspended: true } });
        expect(object.spec).toEqual({ ...spec, suspended: true });
      });

      test('of owned fields with one more field changes that field only', async () => {
        await created();
        const before = await apply(dashboard, { spec: { suspended: true, maxExpirySeconds: 60 } });
        const after = await apply(dashboard, {
          spec: { ...ownedFields<'Paymaster'>(before, dashboard).spec, maxExpirySeconds: 90 },
          version: before.metadata.resourceVersion,
        });
        expect(after.spec).toEqual({ ...before.spec, maxExpirySeconds: 90 });
      });

      test('that changes nothing writes nothing', async () => {
        const before = await created();
        const after = await apply(git, { spec });
        expect(after).toEqual(before);
      });

      test('that is dry answers what would be, refuses what would be refused, and changes nothing', async () => {
        const dry = { dryRun: true } as const;
        const made = await apply(git, { spec, create: true, ...dry });
        expect(made).toMatchObject({ kind: 'Paymaster', metadata: { ...key, generation: 1 }, spec });
        expect(await store.get('Paymaster', key)).toBeUndefined();
        const present = await created();
        const seen: WatchEvent<'Paymaster'>[] = [];
        const watch = store.watch('Paymaster', (event) => seen.push(event));
        await watch.synced;
        const next = await apply(dashboard, { spec: { suspended: true }, labels: { team: 'a' }, ...dry });
        expect(next).toMatchObject({
          metadata: { generation: 2, labels: { team: 'a' } },
          spec: { suspended: true },
        });
        expect(listOwners(next, 'spec.suspended').map(({ manager }) => manager)).toEqual([dashboard]);
        expect(await store.get('Paymaster', key)).toEqual(present);
        const refused = [
          { code: 'ALREADY_EXISTS', request: { spec, create: true } },
          { code: 'FIELD_OWNED', request: { spec: { version: '2.0.0' } } },
          { code: 'INVALID_INPUT', request: { spec: { maxExpirySeconds: -1 } } },
        ];
        for (const { code, request } of refused)
          expect((await failure(apply(dashboard, { ...request, ...dry } as never))).code).toBe(code);
        // The next real change comes first and alone.
        await apply(dashboard, { spec: { maxExpirySeconds: 60 } });
        await until('the change', () => seen.length > 1);
        watch.stop();
        expect(seen.map(({ object }) => object.spec)).toEqual([spec, { ...spec, maxExpirySeconds: 60 }]);
      });

      test('raises the generation when spec changes, and the version with every change', async () => {
        const first = await created();
        const second = await apply(git, { spec: { ...spec, suspended: true } });
        expect(second.metadata.generation).toBe(2);
        expect(second.metadata.resourceVersion).not.toBe(first.metadata.resourceVersion);
        const third = await apply(git, { spec: { ...spec, suspended: true }, labels: { team: 'a' } });
        expect(third.metadata.generation).toBe(2);
        expect(third.metadata.resourceVersion).not.toBe(second.metadata.resourceVersion);
      });

      test('of an older version is a conflict, and of a version that is gone not found', async () => {
        const first = await created();
        const { resourceVersion: version } = first.metadata;
        await apply(git, { spec: { ...spec, suspended: true } });
        expect((await failure(apply(dashboard, { spec: { keyGeneration: 2 }, version }))).code).toBe(
          'WRITE_CONFLICT',
        );
        await store.delete('Paymaster', key);
        expect((await failure(apply(dashboard, { spec: { keyGeneration: 2 }, version }))).code).toBe(
          'NOT_FOUND',
        );
      });

      test('of one version by many at once lets exactly one through', async () => {
        const { resourceVersion: version } = (await created()).metadata;
        const results = await Promise.allSettled(
          Array.from({ length: 8 }, (_, n) =>
            apply(git, { spec: { ...spec, keyGeneration: n + 2 }, version }),
          ),
        );
        expect(results.filter(({ status }) => status === 'fulfilled')).toHaveLength(1);
      });
    });

    describe('validation', () => {
      test('refuses a wrong value, naming field, value and expectation', async () => {
        const error = await failure(apply(git, { spec: { ...spec, maxExpirySeconds: 90_000 } }));
        expect(error.code).toBe('INVALID_INPUT');
        expect(error.message).toContain('spec.maxExpirySeconds');
        expect(error.message).toContain('86400');
        expect(error.message).toContain('90000');
        expect(await store.get('Paymaster', key)).toBeUndefined();
      });

      test('refuses an unknown field', async () => {
        const unknown: object = { ...spec, colour: 'red' };
        const error = await failure(apply(git, { spec: unknown }));
        expect(error.code).toBe('INVALID_INPUT');
        expect(error.message).toContain('spec.colour');
      });

      test("refuses violations of the kind's rules, and names every problem", async () => {
        const error = await failure(
          store.apply({
            manager: git,
            kind: 'PaymasterPolicy',
            key: { namespace: 'acme', name: 'both' },
            spec: {
              paymasterRef: { name: 'shop' },
              name: 'both',
              policyType: 'WEBHOOK',
              walletDeployment: {},
            },
          }),
        );
        expect(error.code).toBe('INVALID_INPUT');
        expect(error.details.problems?.map(({ field }) => field).toSorted()).toEqual([
          'spec.walletDeployment',
          'spec.webhook',
        ]);
      });

      test('refuses to change an immutable field', async () => {
        await created();
        const error = await failure(apply(git, { spec: { ...spec, chainId: 2 } }));
        expect(error.code).toBe('INVALID_INPUT');
        expect(error.message).toContain('spec.chainId');
      });

      test("validates the whole object, not only one manager's fields", async () => {
        await created();
        const error = await failure(apply(dashboard, { spec: { previousKeyUntil: '2026-01-01T00:00:00Z' } }));
        expect(error.code).toBe('INVALID_INPUT');
        expect(error.message).toContain('spec.previousKeyUntil');
      });

      test.each([
        { name: 'a name in upper case', bad: { namespace: 'acme', name: 'Shop' } },
        { name: 'a namespaced kind without namespace', bad: { name: 'shop' } },
      ])('refuses $name', async ({ bad }) => {
        const error = await failure(apply(git, { key: bad, spec }));
        expect(error.code).toBe('INVALID_INPUT');
      });
    });

    describe('status', () => {
      const status = { contracts: 2, paymasterId: 'some-id' };

      test('is written whole and leaves spec and generation alone', async () => {
        const before = await created();
        const after = await store.applyStatus('Paymaster', key, status);
        expect(after).toMatchObject({ spec, status, metadata: { generation: 1 } });
        expect(after.metadata.resourceVersion).not.toBe(before.metadata.resourceVersion);
        const next = await store.applyStatus('Paymaster', key, { contracts: 3 });
        expect(next.status).toEqual({ contracts: 3 });
      });

      test('is left alone by writes of spec', async () => {
        await created();
        await store.applyStatus('Paymaster', key, status);
        const after = await apply(git, { spec: { ...spec, suspended: true } });
        expect(after.status).toEqual(status);
      });

      test('that is equal is not written again', async () => {
        await created();
        const first = await store.applyStatus('Paymaster', key, status);
        expect(await store.applyStatus('Paymaster', key, status)).toEqual(first);
      });

      test('of an older version or a missing object is refused', async () => {
        const { resourceVersion: version } = (await created()).metadata;
        await apply(git, { spec: { ...spec, suspended: true } });
        expect((await failure(store.applyStatus('Paymaster', key, status, { version }))).code).toBe(
          'WRITE_CONFLICT',
        );
        const missing = { namespace: 'acme', name: 'nobody' };
        expect((await failure(store.applyStatus('Paymaster', missing, status))).code).toBe('NOT_FOUND');
      });
    });

    describe('delete', () => {
      test('removes the object', async () => {
        await created();
        await store.delete('Paymaster', key);
        expect(await store.get('Paymaster', key)).toBeUndefined();
        expect((await failure(store.delete('Paymaster', key))).code).toBe('NOT_FOUND');
      });

      test('of an older version is a conflict and removes nothing', async () => {
        const { resourceVersion: version } = (await created()).metadata;
        await apply(git, { spec: { ...spec, suspended: true } });
        expect((await failure(store.delete('Paymaster', key, { version }))).code).toBe('WRITE_CONFLICT');
        expect(await store.get('Paymaster', key)).toBeDefined();
      });
    });

    describe('list', () => {
      beforeEach(async () => {
        for (const [namespace, name, chainId] of [
          ['acme', 'Shop', 1],
          ['acme', 'Game', 1],
          ['acme', 'Game two', 10],
          ['globex', 'Shop', 1],
        ] as const)
          await store.apply({
            manager: git,
            kind: 'Paymaster',
            key: { namespace, name: `${name.toLowerCase().replace(' ', '-')}-${chainId}` },
            spec: { ...spec, name, chainId },
          });
      });
      const names = async (options: Parameters<typeof store.list>[1]) =>
        (await store.list('Paymaster', options))
          .map((object) => `${object.metadata.namespace}/${object.spec.name}`)
          .sort();

      test('keeps namespaces apart', async () => {
        expect(await names({ namespace: 'acme' })).toEqual(['acme/Game', 'acme/Game two', 'acme/Shop']);
        expect(await names({ namespace: 'nobody' })).toEqual([]);
        expect(await names({})).toHaveLength(4);
      });

      test('selects by fields, all of which must match', async () => {
        expect(await names({ fields: { 'spec.name': 'Shop' } })).toEqual(['acme/Shop', 'globex/Shop']);
        expect(await names({ namespace: 'acme', fields: { 'spec.chainId': '1' } })).toEqual([
          'acme/Game',
          'acme/Shop',
        ]);
        expect(
          await names({ namespace: 'acme', fields: { 'spec.name': 'Shop', 'spec.chainId': '10' } }),
        ).toEqual([]);
      });

      test('selects by the current value after a change', async () => {
        const contract = { namespace: 'acme', name: 'token' };
        const request = { manager: git, kind: 'SmartContract', key: contract } as const;
        const base = { paymasterRef: { name: 'shop' }, address: wallet, abi: '[]' };
        await store.apply({ ...request, spec: { ...base, name: 'Old' } });
        await store.apply({ ...request, spec: { ...base, name: 'New' } });
        const found = async (name: string) =>
          (
            await store.list('SmartContract', {
              fields: { 'spec.name': name, 'spec.paymasterRef.name': 'shop' },
            })
          ).length;
        expect([await found('Old'), await found('New')]).toEqual([0, 1]);
      });

      test('page by page, in the order of names, with the same selection', async () => {
        const read = async (options: Parameters<typeof store.list>[1], limit: number) => {
          const pages: string[][] = [];
          for (let after: string | undefined; ;) {
            const page = await store.page('Paymaster', { ...options, limit, ...(after && { after }) });
            pages.push(page.items.map(({ metadata }) => `${metadata.namespace}/${metadata.name}`));
            after = page.next;
            if (after === undefined) return pages;
          }
        };
        expect(await read({ namespace: 'acme' }, 2)).toEqual([
          ['acme/game-1', 'acme/game-two-10'],
          ['acme/shop-1'],
        ]);
        expect(await read({ namespace: 'acme' }, 3)).toEqual([
          ['acme/game-1', 'acme/game-two-10', 'acme/shop-1'],
        ]);
        expect(await read({ fields: { 'spec.chainId': '1' } }, 1)).toEqual([
          ['acme/game-1'],
          ['acme/shop-1'],
          ['globex/shop-1'],
        ]);
        expect(await read({ namespace: 'nobody' }, 2)).toEqual([[]]);
      });

      test('refuses a field that cannot be selected by', async () => {
        const error = await failure(store.list('Paymaster', { fields: { 'spec.version': '1.1.0' } }));
        expect(error.code).toBe('INVALID_INPUT');
      });
    });

    test('cluster-scoped objects have no namespace', async () => {
      const made = await store.apply({
        manager: git,
        kind: 'Organisation',
        key: { name: 'acme-org' },
        spec: { namespace: 'acme' },
      });
      expect(made.metadata.namespace).toBeUndefined();
      expect(await store.get('Organisation', { name: 'acme-org' })).toEqual(made);
      expect(await store.list('Organisation', { fields: { 'spec.namespace': 'acme' } })).toEqual([made]);
    });

    describe('watch', () => {
      function recording<K extends Kind>(kind: K) {
        const events: WatchEvent<K>[] = [];
        const watch = store.watch(kind, (event) => events.push(event));
        const told = () => events.map(({ type, object }) => `${type} ${object.metadata.name}`);
        return { events, told, watch };
      }

      test('delivers the current state, then every change in order', async () => {
        await created();
        const { told, events, watch } = recording('Paymaster');
        await watch.synced;
        expect(told()).toEqual(['ADDED shop']);
        await apply(git, { spec: { ...spec, suspended: true } });
        await store.applyStatus('Paymaster', key, { contracts: 1 });
        await apply(git, { key: { namespace: 'globex', name: 'other' }, spec });
        await store.delete('Paymaster', key);
        await until('all events came', () => events.length === 5);
        expect(told()).toEqual([
          'ADDED shop',
          'MODIFIED shop',
          'MODIFIED shop',
          'ADDED other',
          'DELETED shop',
        ]);
        expect(events[2]?.object).toMatchObject({ spec: { suspended: true }, status: { contracts: 1 } });
        watch.stop();
      });

      test('delivers a delete and a new object of the same name as two events', async () => {
        const first = await created();
        const { told, events, watch } = recording('Paymaster');
        await watch.synced;
        await store.delete('Paymaster', key);
        const second = await created();
        await until('all events came', () => events.length === 3);
        expect(told()).toEqual(['ADDED shop', 'DELETED shop', 'ADDED shop']);
        expect(events.map(({ object }) => object.metadata.uid)).toEqual([
          first.metadata.uid,
          first.metadata.uid,
          second.metadata.uid,
        ]);
        watch.stop();
      });

      test('loses no change that is made while the current state is read', async () => {
        const name = (n: number) => ({ namespace: 'acme', name: `p-${String(n).padStart(4, '0')}` });
        for (let n = 0; n < 250; n++) await apply(git, { key: name(n), spec });
        const { events, watch } = recording('Paymaster');
        const changes: Promise<unknown>[] = [];
        for (let n = 0; n < 250; n += 5) {
          changes.push(
            n % 2 === 0
              ? apply(git, { key: name(n), spec: { ...spec, suspended: true } })
              : store.delete('Paymaster', name(n)),
          );
          // Some changes before, some between and some after the parts in which the state is read.
          if (n % 25 === 0) await new Promise((resolve) => setImmediate(resolve));
        }
        await Promise.all([watch.synced, ...changes]);
        const state = async () =>
          new Map((await store.list('Paymaster')).map((object) => [object.metadata.name, unowned(object)]));
        const wanted = await state();
        const seen = () => {
          const view = new Map<string, Resources['Paymaster']>();
          for (const { type, object } of events)
            if (type === 'DELETED') view.delete(object.metadata.name);
            else view.set(object.metadata.name, unowned(object));
          return view;
        };
        const versions = (view: ReadonlyMap<string, Resources['Paymaster']>) =>
          [...view].map(([id, { metadata }]) => `${id} ${metadata.resourceVersion}`).toSorted();
        await until(
          'the watcher sees what the store holds',
          () => versions(seen()).join() === versions(wanted).join(),
        );
        expect(seen()).toEqual(wanted);
        watch.stop();
      });

      test('delivers no events for other kinds, for writes that change nothing, or after stop', async () => {
        await created();
        const { events, watch } = recording('Paymaster');
        await watch.synced;
        await apply(git, { spec });
        await store.apply({
          manager: git,
          kind: 'Organisation',
          key: { name: 'acme-org' },
          spec: { namespace: 'acme' },
        });
        await apply(git, { spec: { ...spec, suspended: true } });
        await until('the change came', () => events.length >= 2);
        watch.stop();
        watch.stop();
        const control = recording('Paymaster');
        await control.watch.synced;
        await apply(git, { spec });
        await until('another watcher heard of it', () => control.events.length === 2);
        expect(events.map(({ type }) => type)).toEqual(['ADDED', 'MODIFIED']);
        control.watch.stop();
      });

      test('lets a handler write, and everyone sees the changes in order', async () => {
        const versions: string[][] = [[], []];
        const first = store.watch('Paymaster', ({ object }) => {
          versions[0]?.push(object.metadata.resourceVersion);
          if (object.spec.keyGeneration === undefined)
            void apply(dashboard, { spec: { keyGeneration: 2 } }).catch(() => {});
        });
        const second = store.watch('Paymaster', ({ object }) =>
          versions[1]?.push(object.metadata.resourceVersion),
        );
        await Promise.all([first.synced, second.synced]);
        await created();
        await until('both saw both writes', () => versions.every((seen) => seen.length === 2));
        expect(versions[0]).toEqual(versions[1]);
        first.stop();
        second.stop();
      });
    });

    test('written objects are there after a restart, with their owners, and versions go on', async () => {
      await created();
      const before = await apply(dashboard, { spec: { suspended: true } });
      await store.applyStatus('Paymaster', key, { contracts: 1 });
      const stored = await store.get('Paymaster', key);
      store = await harness.reopen();
      expect(await store.get('Paymaster', key)).toEqual(stored);
      expect((await failure(apply(git, { spec: { ...spec, suspended: false } }))).details.owner).toBe(
        dashboard,
      );
      const after = await apply(git, { spec: { ...spec, keyGeneration: 2 } });
      expect(after.metadata.generation).toBe(before.metadata.generation + 1);
      expect(after.metadata.resourceVersion).not.toBe(stored?.metadata.resourceVersion);
    });
  });
}

/** Watches may leave out who owns which field. */
function unowned<T extends { readonly metadata: ObjectMeta }>(object: T): T {
  const { managedFields: _managedFields, ...metadata } = object.metadata;
  return { ...object, metadata };
}

/** The DomainError that a call fails with; any other outcome fails the test. */
async function failure(call: Promise<unknown>): Promise<DomainError> {
  const error = await call.then(
    () => new Error('the call succeeded'),
    (reason: unknown) => reason,
  );
  if (!isDomainError(error)) throw error;
  return error;
}
