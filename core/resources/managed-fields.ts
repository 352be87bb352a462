import { getAt, isAtOrBelow, isTextMap, pathKey, pathOfKey, setAt, type Tree } from '../meta/field-tree.js';
import type { AnyResource, Kind, Resources } from './kinds.js';
import type { ManagedFields } from '../meta/meta.js';
import type { DeepPartial } from './resource-store.js';
import { pathsOf } from '../meta/server-side-apply.js';
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
  const owned = (object.metadata.managedFields ?? [])
    .filter((entry) => entry.manager === manager && entry.operation === 'Apply')
    .flatMap(pathsOf)
    .reduce<Tree>((tree, key) => copyLeaf(object, key, tree), {});
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
      pathsOf(entry)
        .map((path) => pathOfKey(path).join('.'))
        .filter((field) => field.startsWith('spec.'))
        .map((field) => ({ field, manager: entry.manager })),
    );
}

/** Who owns a field such as `spec.active`, or anything below it. `Update` owners wrote without apply, e.g. by hand. */
export function ownersOf(object: AnyResource, fieldPath: string): readonly Owner[] {
  const key = pathKey(fieldPath.split('.'));
  return (object.metadata.managedFields ?? [])
    .filter((entry) => pathsOf(entry).some((path) => isAtOrBelow(path, key) || isAtOrBelow(key, path)))
    .map(({ manager, operation }) => ({ manager, operation }));
}

function copyLeaf(object: AnyResource, key: string, into: Tree): Tree {
  const path = pathOfKey(key);
  const value = getAt(object, path);
  if (value === undefined) return into;
  // Others may have filled an owned empty object since then: only its presence is ours.
  return setAt(into, path, isObject(value) ? {} : value);
}
