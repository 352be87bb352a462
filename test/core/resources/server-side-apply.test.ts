import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import {
  fromFieldsV1,
  getAt,
  listLeaves,
  pathKey,
  pathOfKey,
  toFieldsV1,
  type Tree,
} from '../../../core/meta/field-tree.js';
import type { ManagedFields } from '../../../core/meta/meta.js';
import { type ApplyOutcome, applyFields, listPaths } from '../../../core/meta/server-side-apply.js';
import { isObject } from '../../../core/schema/json-value.js';

type State = { readonly live: Tree; readonly managedFields: readonly ManagedFields[] };
const empty: State = { live: {}, managedFields: [] };
const time = '2026-01-01T00:00:00Z';

function apply(state: State, manager: string, fields: Tree, force = false): ApplyOutcome {
  return applyFields({ ...state, manager, fields, force, time });
}

function owns(state: State, manager: string): string[] {
  return state.managedFields
    .filter((entry) => entry.manager === manager)
    .flatMap(listPaths)
    .map((key) => pathOfKey(key).join('.'))
    .sort();
}

describe('an apply', () => {
  test('of a field below an object that another manager owns empty keeps both', () => {
    const git = apply(empty, 'git', { spec: { options: {} } });
    const both = apply(git, 'ui', { spec: { options: { a: 1 } } });
    expect(both.conflicts).toEqual([]);
    expect(both.live).toEqual({ spec: { options: { a: 1 } } });
    const left = apply(both, 'ui', {});
    expect(left.live).toEqual({ spec: { options: {} } });
    expect(owns(left, 'git')).toEqual(['spec.options']);
  });

  test('takes objects away that become empty, unless somebody wants them', () => {
    const made = apply(empty, 'git', { spec: { a: { b: { c: 1 } }, d: 2 } });
    expect(apply(made, 'git', { spec: { d: 2 } }).live).toEqual({ spec: { d: 2 } });
  });

  test('of an owned object as empty keeps what others own below it', () => {
    const git = apply(empty, 'git', { spec: { a: { x: 1 } } });
    const both = apply(git, 'ui', { spec: { a: { y: 2 } } });
    const next = apply(both, 'git', { spec: { a: {} } });
    expect(next.conflicts).toEqual([]);
    expect(next.live).toEqual({ spec: { a: { y: 2 } } });
  });

  test('names every conflict with its field and manager, and changes nothing', () => {
    const made = apply(apply(empty, 'git', { spec: { a: 1 } }), 'ops', {
      metadata: { labels: { 'x/y': 'z' } },
    });
    const refused = apply(made, 'ui', { spec: { a: 2, b: 3 }, metadata: { labels: { 'x/y': 'w' } } });
    expect(refused.conflicts).toEqual([
      { field: 'spec.a', manager: 'git' },
      { field: 'metadata.labels["x/y"]', manager: 'ops' },
    ]);
    expect(refused.live).toBe(made.live);
  });

  test('treats members named like built-ins as members like any other', () => {
    const fields: Tree = { spec: JSON.parse('{"__proto__": {"polluted": true}, "constructor": 1}') };
    const made = apply(empty, 'git', fields);
    expect(JSON.stringify(made.live)).toBe('{"spec":{"__proto__":{"polluted":true},"constructor":1}}');
    expect('polluted' in {}).toBe(false);
    expect(apply(made, 'git', {}).live).toEqual({});
  });
});

test('field sets survive the form of Kubernetes', () => {
  const names = fc.constantFrom('a', 'b', 'f:c', 'x/y', '.');
  fc.assert(
    fc.property(fc.array(fc.array(names, { minLength: 1, maxLength: 3 }), { maxLength: 6 }), (paths) => {
      const keys = paths.map(pathKey);
      // A path with paths below it is owned itself only by a mark that applies never write.
      const leaves = [...new Set(keys)].filter((key) => !keys.some((other) => other.startsWith(`${key}\0`)));
      expect(fromFieldsV1(toFieldsV1(leaves)).sort()).toEqual(leaves.sort());
    }),
  );
});

describe('whatever managers apply, in any order', () => {
  const leaf = fc.constantFrom<unknown>(1, 2, 'x', [1], [2], {});
  const branch = fc.dictionary(fc.constantFrom('p', 'q'), leaf, { maxKeys: 2 });
  const fields: fc.Arbitrary<Tree> = fc.record(
    { spec: fc.record({ a: leaf, b: leaf, c: branch, d: branch }, { requiredKeys: [] }) },
    { requiredKeys: [] },
  );
  const step = fc.record({
    manager: fc.constantFrom('git', 'ui', 'ops'),
    fields: fields,
    force: fc.boolean(),
  });

  test('ownership and object agree after every step', () => {
    fc.assert(
      fc.property(fc.array(step, { maxLength: 12 }), (steps) => {
        let state: State = empty;
        for (const { manager, fields: wanted, force } of steps) {
          const before = state;
          const outcome = apply(state, manager, wanted, force);

          if (outcome.conflicts.length > 0) {
            // A conflict changes nothing, never happens with force, and names a field that its owner does own.
            expect(force).toBe(false);
            expect(outcome.live).toBe(before.live);
            expect(outcome.managedFields).toBe(before.managedFields);
            for (const { field, manager: owner } of outcome.conflicts) {
              expect(owner).not.toBe(manager);
              expect(owns(before, owner)).toContain(field);
            }
            continue;
          }
          state = outcome;
          const leaves = listLeaves(wanted).map(({ path, value }) => ({ path, value, key: path.join('.') }));

          // The manager owns exactly what it asked for, and the object says so.
          expect(owns(state, manager)).toEqual(leaves.map(({ key }) => key).sort());
          for (const { path, value } of leaves)
            if (JSON.stringify(value) === '{}') expect(isObject(getAt(state.live, path))).toBe(true);
            else expect(getAt(state.live, path)).toEqual(value);

          // Others lose only what was taken from them by force, and keep the values of the rest.
          for (const other of ['git', 'ui', 'ops'].filter((name) => name !== manager)) {
            const lost = owns(before, other).filter((key) => !owns(state, other).includes(key));
            for (const key of lost) {
              expect(force).toBe(true);
              expect(leaves.map((each) => each.key)).toContain(key);
            }
          }

          // Every leaf of the object has an owner, and every owned field is in the object.
          const owned = ['git', 'ui', 'ops'].flatMap((name) => owns(state, name));
          for (const { path } of listLeaves(state.live)) expect(owned).toContain(path.join('.'));
          for (const key of owned) expect(getAt(state.live, key.split('.'))).not.toBeUndefined();

          // Applying the same again changes nothing, byte for byte.
          const again = apply(state, manager, wanted, force);
          expect(JSON.stringify(again)).toBe(JSON.stringify({ ...state, conflicts: [] }));
        }
      }),
      { numRuns: 500 },
    );
  });

  test('nothing is left when all have applied nothing', () => {
    fc.assert(
      fc.property(fc.array(step, { maxLength: 12 }), (steps) => {
        const busy = steps.reduce<State>(
          (state, { manager, fields: wanted, force }) => apply(state, manager, wanted, force),
          empty,
        );
        const idle = ['git', 'ui', 'ops'].reduce<State>((state, manager) => apply(state, manager, {}), busy);
        expect(idle.managedFields).toEqual([]);
        expect(idle.live).toEqual({});
      }),
    );
  });
});
