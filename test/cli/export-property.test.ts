import fc from 'fast-check';
import { expect, test } from '@jest/globals';
import { parse } from 'yaml';
import { openDatabase } from '../../adapters/sqlite/database.js';
import { applyManifests } from '../../adapters/manifests/apply-manifests.js';
import { parseManifest } from '../../adapters/manifests/parse-manifest.js';
import { createSqliteResourceStore } from '../../adapters/resources/sqlite/resources.js';
import type { StoredObject } from '../../adapters/resources/sqlite/resource-rows.js';
import { compare } from '../../cli/state/compare.js';
import { renderManifests } from '../../cli/state/manifest.js';
import { kinds, type AnyResource } from '../../core/resources/kinds.js';
import { objectKey } from '../../core/meta/meta.js';
import { given } from '../../core/units/given.js';
import { systemClock } from '../../core/units/time.js';
import { arbitraryResource } from '../support/arbitrary-resource.js';
import { runs } from '../support/property.js';

/** A store with these objects, some of whose fields somebody else owns, and what it holds. */
async function stored(objects: readonly AnyResource[], manager: string) {
  const db = openDatabase(':memory:', { durability: 'process' });
  const resources = createSqliteResourceStore({ db, clock: systemClock });
  for (const object of objects) {
    const { kind, spec, metadata } = object;
    const request = { kind, key: objectKey(object), spec: spec as never };
    await resources.apply({
      ...request,
      manager,
      ...given({ labels: metadata.labels, annotations: metadata.annotations }),
    });
  }
  return { db, resources };
}

async function everythingOf(resources: ReturnType<typeof createSqliteResourceStore>) {
  const lists = await Promise.all(kinds.map((kind) => resources.list(kind)));
  return lists.flat() as unknown as readonly StoredObject[];
}

test('an export is valid, changes nothing where it is from, and makes the same somewhere else', async () => {
  const fields = new Set<string>();
  await fc.assert(
    fc.asyncProperty(
      fc.uniqueArray(arbitraryResource, {
        maxLength: 6,
        selector: (each) => `${each.kind} ${each.metadata.name}`,
      }),
      async (objects) => {
        const from = await stored(objects, 'paymaster-dashboard');
        const there = await everythingOf(from.resources);
        const text = renderManifests(there);
        const { objects: manifests, problems } = parseManifest('export.yaml', text);
        expect(problems).toEqual([]);
        expect(manifests).toHaveLength(objects.length);
        for (const { spec, kind } of manifests)
          for (const field of Object.keys(spec)) fields.add(`${kind}.${field}`);
        for (const force of [true, false])
          expect(
            compare(manifests, there, { manager: 'kubectl', force }).map(({ change }) => change),
          ).toEqual(manifests.map(() => 'unchanged'));
        const to = await stored([], '');
        const { problems: refused } = await applyManifests(to.resources, [{ objects: manifests }], new Map());
        expect(refused).toEqual([]);
        expect(renderManifests(await everythingOf(to.resources))).toBe(text);
        // Nor is any value another one for a program that reads it.
        for (const [at, document] of text.split(/^---\n/m).entries())
          expect(parse(document)?.spec).toEqual(there[at]?.spec);
        from.db.close();
        to.db.close();
      },
    ),
    runs(200),
  );
  // The property is about nearly everything that can be written.
  expect(fields.size).toBeGreaterThan(55);
});
