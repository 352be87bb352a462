import {
  getAt,
  isTextMap,
  pathKey,
  PathSet,
  pathOfKey,
  setAll,
  type FieldPath,
  type Leaf,
} from '../meta/field-tree.js';
import type { AnyResource, Kind, Resources } from './kinds.js';
import type { ManagedFields } from '../meta/meta.js';
import type { DeepPartial } from './resource-store.js';
import { listPaths } from '../meta/server-side-apply.js';
import { isObject } from '../schema/json-value.js';

export type OwnedFields<Spec> = {
  readonly spec: DeepPartial<Spec>;
  readonly labels?: Readonly<Record<string, string>>;
  readonly annotations?: Readonly<Record<string, string>>;
};

/**
 * The part of an object that a manager owns now. An apply replaces everything that its manager owned before. So to
 * make a change, take this part, add the changed fields, and apply it with the resourceVersion that was read.
 */
export function ownedFields<K extends Kind>(
  object: Resources[K],
  manager: string,
): OwnedFields<Resources[K]['spec']> {
  const leaves = (object.metadata.managedFields ?? [])
    .filter((entry) => entry.manager === manager && entry.operation === 'Apply')
    .flatMap(listPaths)
    .flatMap((key) => leafAt(object, pathOfKey(key)));
  const owned = setAll({}, leaves);
  const labels = getAt(owned, ['metadata', 'labels']);
  const annotations = getAt(owned, ['metadata', 'annotations']);
  return {
    // Leaves of an object of this kind, at their own paths, form a partial spec of this kind.
    spec: (owned['spec'] ?? {}) as DeepPartial<Resources[K]['spec']>,
    ...(isTextMap(labels) && { labels }),
    ...(isTextMap(annotations) && { annotations }),
  };
}

type Owner = Pick<ManagedFields, 'manager' | 'operation'>;

/** Each field of the spec that a manager other than `isOurs` owns, e.g. `spec.active`; a list counts as a whole. */
export function fieldsOfOthers(
  object: AnyResource,
  isOurs: (manager: string) => boolean,
): readonly { readonly field: string; readonly manager: string }[] {
  return (object.metadata.managedFields ?? [])
    .filter(({ manager }) => !isOurs(manager))
    .flatMap((entry) =>
      listPaths(entry)
        .map((path) => pathOfKey(path).join('.'))
        .filter((field) => field.startsWith('spec.'))
        .map((field) => ({ field, manager: entry.manager })),
    );
}

/** Who owns a field such as `spec.active`, or anything below it. `Update` owners wrote without apply, e.g. by hand. */
export function listOwners(object: AnyResource, fieldPath: string): readonly Owner[] {
  return ownersByPath(object)(fieldPath.split('.'));
}

/** The same for many fields of one object, whose entries are read once. */
export function ownersByPath(object: AnyResource): (path: FieldPath) => readonly Owner[] {
  const entries = (object.metadata.managedFields ?? []).map((entry) => ({
    owner: { manager: entry.manager, operation: entry.operation },
    paths: new PathSet(listPaths(entry)),
  }));
  return (path) => {
    const key = pathKey(path);
    return entries
      .filter(({ paths }) => paths.hasAtOrBelow(key) || paths.hasAtOrAbove(key))
      .map(({ owner }) => owner);
  };
}

function leafAt(object: AnyResource, path: FieldPath): readonly Leaf[] {
  const value = getAt(object, path);
  if (value === undefined) return [];
  // Others may have filled an owned empty object since then: only its presence is ours.
  return [{ path, value: isObject(value) ? {} : value }];
}
