import { decideApply } from '../../adapters/resources/sqlite/resource-decision.js';
import type { StoredObject } from '../../adapters/resources/sqlite/resource-rows.js';
import type { ManifestObject } from '../../adapters/manifests/parse-manifest.js';
import { isDomainError } from '../../core/errors.js';
import { formatPath, isSameJson, leavesOf, pathKey, pathOfKey } from '../../core/meta/field-tree.js';
import { formatKey, keyOf } from '../../core/meta/meta.js';
import type { ApplyRequest } from '../../core/resources/resource-store.js';
import type { Kind } from '../../core/resources/kinds.js';
import { given } from '../../core/units/given.js';
import { manifestOf } from './manifest.js';

/** `before` and `after` are absent where the field is. */
type FieldChange = { readonly field: string; readonly before?: unknown; readonly after?: unknown };
export type Compared = {
  readonly object: string;
  readonly change: 'created' | 'changed' | 'unchanged' | 'refused' | 'only there';
  readonly fields: readonly FieldChange[];
  /** Why it would be refused. */
  readonly message?: string;
};

/**
 * What server-side apply of the manifests would do to the existing objects, decided as every store decides it. `force` takes fields from
 * other managers. Objects that no manifest names are told where the manifests have others of their namespace, or of the cluster.
 */
export function compare(
  manifests: readonly ManifestObject[],
  there: readonly StoredObject[],
  { manager, force }: { readonly manager: string; readonly force: boolean },
): readonly Compared[] {
  const live = new Map(there.map((object) => [nameOf(object), object]));
  const named = new Set(manifests.map(({ kind, key }) => `${kind} ${formatKey(key)}`));
  const places = new Set(manifests.map(({ key }) => key.namespace));
  const only = there.filter((object) => places.has(object.metadata.namespace) && !named.has(nameOf(object)));
  return [
    ...manifests.map((manifest) => compareOne(manifest, live, manager, force)),
    ...only.map((object): Compared => ({ object: nameOf(object), change: 'only there', fields: [] })),
  ];
}

function compareOne(
  { kind, key, spec, labels, annotations }: ManifestObject,
  live: ReadonlyMap<string, StoredObject>,
  manager: string,
  force: boolean,
): Compared {
  const object = `${kind} ${formatKey(key)}`;
  const found = live.get(object);
  // Without its owners every field that a manifest leaves out stays.
  const stored = found && {
    ...found,
    metadata: { ...found.metadata, managedFields: found.metadata.managedFields ?? [] },
  };
  const request = {
    manager,
    kind,
    key,
    spec,
    force,
    ...given({ labels, annotations }),
  } as ApplyRequest<Kind>;
  try {
    const next = decideApply(request, stored, stored?.metadata.creationTimestamp ?? '');
    const fields = next === undefined ? [] : changesOf(stored, next);
    if (stored === undefined) return { object, change: 'created', fields: [] };
    return { object, change: fields.length === 0 ? 'unchanged' : 'changed', fields };
  } catch (error) {
    if (!isDomainError(error)) throw error;
    return { object, change: 'refused', fields: [], message: error.message };
  }
}

function changesOf(before: StoredObject | undefined, after: StoredObject): readonly FieldChange[] {
  const [old, next] = [leaves(before), leaves(after)];
  return [...new Set([...old.keys(), ...next.keys()])].flatMap((key) => {
    const [was, is] = [old.get(key), next.get(key)];
    return isSameJson(was, is)
      ? []
      : [{ field: formatPath(pathOfKey(key)), ...given({ before: was, after: is }) }];
  });
}

function leaves(object: StoredObject | undefined): ReadonlyMap<string, unknown> {
  if (object === undefined) return new Map();
  const { metadata, spec } = manifestOf(object);
  return new Map(leavesOf({ metadata, spec }).map(({ path, value }) => [pathKey(path), value]));
}

function nameOf(object: StoredObject): string {
  return `${object.kind} ${formatKey(keyOf(object))}`;
}
