import { decideApply } from '../../adapters/resources/sqlite/resource-decision.js';
import type { StoredObject } from '../../adapters/resources/sqlite/resource-rows.js';
import type { ManifestObject } from '../../adapters/manifests/parse-manifest.js';
import { isDomainError } from '../../core/errors.js';
import {
  formatPath,
  isSameJson,
  listLeaves,
  pathKey,
  pathOfKey,
  type Tree,
} from '../../core/meta/field-tree.js';
import { formatKey, objectKey } from '../../core/meta/meta.js';
import type { ApplyRequest } from '../../core/resources/resource-store.js';
import type { Kind } from '../../core/resources/kinds.js';
import { given } from '../../core/units/given.js';
import { toManifest } from './manifest.js';

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
  const live = new Map(there.map((object) => [formatObjectName(object), object]));
  const named = new Set(manifests.map(({ kind, key }) => `${kind} ${formatKey(key)}`));
  const places = new Set(manifests.map(({ key }) => key.namespace));
  const only = there.filter(
    (object) => places.has(object.metadata.namespace) && !named.has(formatObjectName(object)),
  );
  return [
    ...manifests.map((manifest) => compareOne(manifest, live, manager, force)),
    ...only.map((object): Compared => ({
      object: formatObjectName(object),
      change: 'only there',
      fields: [],
    })),
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
    const fields = next === undefined ? [] : fieldChanges(manifestTree(stored), manifestTree(next));
    if (stored === undefined) return { object, change: 'created', fields: [] };
    return { object, change: fields.length === 0 ? 'unchanged' : 'changed', fields };
  } catch (error) {
    if (!isDomainError(error)) throw error;
    return { object, change: 'refused', fields: [], message: error.message };
  }
}

export function fieldChanges(before: Tree, after: Tree): readonly FieldChange[] {
  const [old, next] = [leaves(before), leaves(after)];
  return [...new Set([...old.keys(), ...next.keys()])].flatMap((key) => {
    const [was, is] = [old.get(key), next.get(key)];
    return isSameJson(was, is)
      ? []
      : [{ field: formatPath(pathOfKey(key)), ...given({ before: was, after: is }) }];
  });
}

/** A line for each. */
export function renderFieldChanges(fields: readonly FieldChange[]): readonly string[] {
  return fields.map(({ field, before, after }) => `    ${field}: ${shortText(before)} → ${shortText(after)}`);
}

function shortText(value: unknown): string {
  const text = value === undefined ? '(absent)' : JSON.stringify(value);
  return text.length > 200 ? `${text.slice(0, 200)}…` : text;
}

function manifestTree(object: StoredObject | undefined): Tree {
  if (object === undefined) return {};
  const { metadata, spec } = toManifest(object);
  return { metadata, spec };
}

function leaves(tree: Tree): ReadonlyMap<string, unknown> {
  return new Map(listLeaves(tree).map(({ path, value }) => [pathKey(path), value]));
}

function formatObjectName(object: StoredObject): string {
  return `${object.kind} ${formatKey(objectKey(object))}`;
}
