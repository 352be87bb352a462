import { randomUUID } from 'node:crypto';
import { fieldOwned, throwIfAny } from '../../../core/errors.js';
import { isSameJson, isTextMap, type Tree } from '../../../core/meta/field-tree.js';
import type { Kind } from '../../../core/resources/kinds.js';
import { apiVersion, formatKey, type ManagedFields, type ObjectKey } from '../../../core/meta/meta.js';
import type { ApplyRequest } from '../../../core/resources/resource-store.js';
import { applyFields } from '../../../core/meta/server-side-apply.js';
import { validateMetadata, validateResource } from '../../../core/resources/validate.js';
import type { StoredObject } from './resource-rows.js';
import { isObject } from '../../../core/schema/json-value.js';

/** The stored object after an apply; undefined when the apply changes nothing. Throws FIELD_OWNED, INVALID_INPUT. */
export function decideApply<K extends Kind>(
  request: ApplyRequest<K>,
  stored: StoredObject | undefined,
  time: string,
): StoredObject | undefined {
  const { kind, key, manager, force = false } = request;
  const outcome = applyFields({
    live: ownableFields(stored),
    managedFields: stored?.metadata.managedFields ?? [],
    manager,
    fields: appliedFields(request),
    force,
    time,
  });
  if (outcome.conflicts.length > 0) throw fieldOwned(`${kind} ${formatKey(key)}`, outcome.conflicts);
  const next = composeObject(kind, key, stored, outcome.live, outcome.managedFields, time);
  if (stored && isSameJson(stored, next)) return undefined;
  throwIfAny([
    ...validateMetadata(isObject(outcome.live['metadata']) ? outcome.live['metadata'] : {}),
    ...validateResource(kind, next, stored && { spec: stored.spec }),
  ]);
  return next;
}

function appliedFields<K extends Kind>({ spec, labels = {}, annotations = {} }: ApplyRequest<K>): Tree {
  // The clone makes the stored object independent of the caller's, and plain.
  const { metadata, ...fields } = plain({ spec, metadata: { labels, annotations } });
  return withoutEmpty({ ...fields, metadata: withoutEmpty(isObject(metadata) ? metadata : {}) });
}

/** Without empty members: an empty `spec`, `labels` or `annotations` asks for nothing and owns no field. */
function withoutEmpty(tree: Tree): Tree {
  return Object.fromEntries(
    Object.entries(tree).filter(([, value]) => !isObject(value) || Object.keys(value).length > 0),
  );
}

function ownableFields(stored: StoredObject | undefined): Tree {
  if (!stored) return {};
  const { labels, annotations } = stored.metadata;
  return { spec: stored.spec, metadata: { ...(labels && { labels }), ...(annotations && { annotations }) } };
}

function composeObject(
  kind: Kind,
  key: ObjectKey,
  stored: StoredObject | undefined,
  live: Tree,
  managedFields: readonly ManagedFields[],
  time: string,
): StoredObject {
  const spec = isObject(live['spec']) ? live['spec'] : {};
  const { labels, annotations } = isObject(live['metadata']) ? live['metadata'] : {};
  const { uid, resourceVersion, generation, creationTimestamp } = stored?.metadata ?? {
    uid: randomUUID(),
    resourceVersion: '',
    generation: 0,
    creationTimestamp: time,
  };
  return {
    apiVersion,
    kind,
    metadata: {
      name: key.name,
      ...(key.namespace !== undefined && { namespace: key.namespace }),
      uid,
      resourceVersion,
      generation: stored && isSameJson(stored.spec, spec) ? generation : generation + 1,
      creationTimestamp,
      ...(isTextMap(labels) && { labels }),
      ...(isTextMap(annotations) && { annotations }),
      managedFields,
    },
    spec,
    ...(stored?.status && { status: stored.status }),
  };
}

/** JSON without members that are `undefined`: what a store over a wire would receive. */
export function plain(value: object): Tree {
  return JSON.parse(JSON.stringify(value)) as Tree;
}
