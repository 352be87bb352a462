import {
  formatPath,
  fromFieldsV1,
  getAt,
  isSameJson,
  listLeaves,
  pathKey,
  PathSet,
  pathOfKey,
  removeAll,
  setAll,
  toFieldsV1,
  type FieldPath,
  type Tree,
} from './field-tree.js';
import { apiVersion, type ManagedFields } from './meta.js';
import { isObject } from '../schema/json-value.js';
import type { OwnedField } from '../errors.js';

/**
 * Server-side apply as a function: who owns which leaf, what an apply changes, and with whom it conflicts. Used by
 * every store that has no API server to do it.
 *
 * - An apply states everything that its manager wants. A leaf that the manager stated before and leaves out now is
 *   removed, unless another manager owns it too.
 * - A leaf that another manager owns with a different value is a conflict; with the same value, both own it.
 * - With `force` the conflicting leaves change their owner.
 */
type ApplyInput = {
  /** Fields that managers can own: `spec`, and `metadata` with labels and annotations. */
  readonly live: Tree;
  readonly managedFields: readonly ManagedFields[];
  readonly manager: string;
  readonly fields: Tree;
  readonly force: boolean;
  /** RFC 3339; becomes the time of the manager's entry if that changes. */
  readonly time: string;
};

export type ApplyOutcome = {
  readonly live: Tree;
  readonly managedFields: readonly ManagedFields[];
  /** What cannot be applied without `force`; empty with `force`. */
  readonly conflicts: readonly OwnedField[];
};

export function applyFields(input: ApplyInput): ApplyOutcome {
  const { live, managedFields, manager, fields, force, time } = input;
  const wanted = new Map(listLeaves(fields).map((leaf) => [pathKey(leaf.path), leaf.value]));
  const others = managedFields.filter((entry) => !isAppliedBy(entry, manager));

  const disputed = new Set(
    [...wanted].filter(([key, value]) => isChange(live, pathOfKey(key), value)).map(([key]) => key),
  );
  const conflicts = others.flatMap((entry) =>
    listPaths(entry)
      .filter((key) => disputed.has(key))
      .map((key) => ({ field: formatPath(pathOfKey(key)), manager: entry.manager })),
  );
  if (conflicts.length > 0 && !force) return { live, managedFields, conflicts };

  const remaining = others.map((entry) => without(entry, disputed)).filter((entry) => entry !== undefined);
  const previous = managedFields.find((entry) => isAppliedBy(entry, manager));
  const mine = entryFor(manager, [...wanted.keys()], previous, time);
  const entries = mine === undefined ? remaining : [...remaining, mine];

  const dropped = previous === undefined ? [] : listPaths(previous).filter((key) => !wanted.has(key));
  const pruned = prune(live, dropped, entries.flatMap(listPaths));
  return { live: write(pruned, wanted), managedFields: inOrder(entries, managedFields), conflicts: [] };
}

/** An empty object only requires that an object exists; every other value replaces the leaf. */
function isChange(live: Tree, path: FieldPath, value: unknown): boolean {
  const present = getAt(live, path);
  return isObject(value) ? !isObject(present) : !isSameJson(present, value);
}

function write(live: Tree, wanted: ReadonlyMap<string, unknown>): Tree {
  const leaves = [...wanted].map(([key, value]) => ({ path: pathOfKey(key), value }));
  return setAll(
    live,
    leaves.filter(({ path, value }) => isChange(live, path, value)),
  );
}

function prune(live: Tree, dropped: readonly string[], stillOwned: readonly string[]): Tree {
  const owned = new PathSet(stillOwned);
  return removeAll(live, dropped.filter((key) => !owned.hasAtOrBelow(key)).map(pathOfKey), (path) =>
    owned.has(pathKey(path)),
  );
}

function isAppliedBy(entry: ManagedFields, manager: string): boolean {
  return entry.manager === manager && entry.operation === 'Apply' && entry.subresource === undefined;
}

export function listPaths(entry: ManagedFields): string[] {
  return entry.fieldsV1 === undefined || entry.subresource !== undefined ? [] : fromFieldsV1(entry.fieldsV1);
}

function without(entry: ManagedFields, taken: ReadonlySet<string>): ManagedFields | undefined {
  const paths = listPaths(entry);
  const left = paths.filter((key) => !taken.has(key));
  if (left.length === paths.length) return entry;
  return left.length === 0 ? undefined : { ...entry, fieldsV1: toFieldsV1(left) };
}

function entryFor(
  manager: string,
  paths: readonly string[],
  previous: ManagedFields | undefined,
  time: string,
): ManagedFields | undefined {
  if (paths.length === 0) return undefined;
  const fieldsV1 = toFieldsV1(paths);
  if (previous && isSameJson(previous.fieldsV1, fieldsV1)) return previous;
  return { manager, operation: 'Apply', apiVersion, fieldsType: 'FieldsV1', fieldsV1, time };
}

/** Entries keep their position and new ones come last, so that an apply without changes does not change a byte. */
function inOrder(entries: readonly ManagedFields[], before: readonly ManagedFields[]): ManagedFields[] {
  const place = (entry: ManagedFields) => {
    const index = before.findIndex(
      ({ manager, operation, subresource }) =>
        manager === entry.manager && operation === entry.operation && subresource === entry.subresource,
    );
    return index === -1 ? before.length : index;
  };
  return [...entries].sort((a, b) => place(a) - place(b));
}
