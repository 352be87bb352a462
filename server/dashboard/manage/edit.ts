import { fieldOwned } from '../../../core/errors.js';
import {
  formatPath,
  getAt,
  isSameJson,
  isTextMap,
  listLeaves,
  removeAll,
  setAll,
  type FieldPath,
  type Tree,
} from '../../../core/meta/field-tree.js';
import { formatKey, objectKey } from '../../../core/meta/meta.js';
import type { Kind, Resources } from '../../../core/resources/kinds.js';
import { ownersByPath, type OwnedFields } from '../../../core/resources/managed-fields.js';
import type { StructuralSchema } from '../../../core/schema/structural.js';
import { given } from '../../../core/units/given.js';
import { isObject } from '../../../core/schema/json-value.js';

/** What people write of an object. */
export type Written = { readonly labels: Readonly<Record<string, string>>; readonly spec: Tree };

export function toWritten({ metadata, spec }: Resources[Kind]): Written {
  return { labels: metadata.labels ?? {}, spec: spec as Tree };
}

/**
 * What `manager` owns when an object becomes `next`; undefined when nothing changes. Only fields that change are taken, so that
 * the rest stays with its owner. Throws FIELD_OWNED for a field that would go and that others own.
 */
export function composeEdit<K extends Kind>(
  object: Resources[K],
  { spec, labels = {}, annotations }: OwnedFields<Resources[K]['spec']>,
  next: Written,
  manager: string,
): OwnedFields<Resources[K]['spec']> | undefined {
  const before = toTree(toWritten(object));
  const after = toTree(next);
  const set = listLeaves(after).filter(({ path, value }) => !isSameJson(getAt(before, path), value));
  const gone = listLeaves(before).filter(({ path }) => getAt(after, path) === undefined);
  if (set.length === 0 && gone.length === 0) return undefined;

  const ownersAt = ownersByPath(object);
  const lost = gone.flatMap(({ path }) =>
    ownersAt(path)
      .filter((owner) => owner.manager !== manager)
      .map((owner) => ({ field: formatPath(path), manager: owner.manager })),
  );
  if (lost.length > 0) throw fieldOwned(`${object.kind} ${formatKey(objectKey(object))}`, lost);
  const kept = removeAll(
    toTree({ labels, spec: spec as Tree }),
    gone.map(({ path }) => path),
    (parent) => getAt(after, parent) !== undefined,
  );
  return {
    ...toOwnedFields<K>(setAll(kept, set)),
    ...given({ annotations }),
  };
}

/** What the owners of other fields would write to get `next`. */
export function manifestFields(object: Resources[Kind], next: Written, manager: string): Tree {
  const ownersAt = ownersByPath(object);
  const isOurs = (path: FieldPath): boolean => {
    const owners = ownersAt(path);
    return owners.length > 0 && owners.every((owner) => owner.manager === manager);
  };
  return setAll(
    {},
    listLeaves(toTree(next)).filter(({ path }) => !isOurs(path)),
  );
}

function toTree({ labels, spec }: Written): Tree {
  return { ...(Object.keys(labels).length > 0 && { metadata: { labels } }), spec };
}

function toOwnedFields<K extends Kind>(tree: Tree): OwnedFields<Resources[K]['spec']> {
  const labels = getAt(tree, ['metadata', 'labels']);
  // Leaves of an object of this kind form a partial spec of this kind; the store judges the whole.
  const spec = (tree['spec'] ?? {}) as OwnedFields<Resources[K]['spec']>['spec'];
  return { spec, ...(isTextMap(labels) && { labels }) };
}

/** RFC 7396. */
export function mergePatch(target: unknown, patch: unknown): unknown {
  if (!isObject(patch)) return patch;
  const base = isObject(target) ? target : {};
  const names = [...new Set([...Object.keys(base), ...Object.keys(patch)])];
  return Object.fromEntries(
    names
      .filter((name) => !Object.hasOwn(patch, name) || patch[name] !== null)
      .map((name) => [name, Object.hasOwn(patch, name) ? mergePatch(base[name], patch[name]) : base[name]]),
  );
}

/** A value without what its schema calls confidential. */
export function redact(schema: StructuralSchema | undefined, value: unknown): unknown {
  if (!isObject(value) || !hidesSomething(schema)) return value;
  const members = Object.entries(value).filter(([name]) => schema?.properties?.[name]?.confidential !== true);
  return Object.fromEntries(
    members.map(([name, child]) => [name, redact(schema?.properties?.[name], child)]),
  );
}

/** Whether there can be something confidential in a value; else it is not walked through, however large it is. */
function hidesSomething(schema: StructuralSchema | undefined): boolean {
  return Object.values(schema?.properties ?? {}).some(
    (child) => child.confidential === true || hidesSomething(child),
  );
}

/** A value that was shown by {@link redact} gets back what was left out, wherever it was left as it was. */
export function restore(schema: StructuralSchema | undefined, next: unknown, current: unknown): unknown {
  if (!isObject(next) || !isObject(current) || !hidesSomething(schema)) return next;
  if (isSameJson(next, redact(schema, current))) return current;
  const members = Object.entries(next);
  return Object.fromEntries(
    members.map(([name, child]) => [name, restore(schema?.properties?.[name], child, current[name])]),
  );
}
