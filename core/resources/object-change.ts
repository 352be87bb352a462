import { hash } from 'node:crypto';
import {
  mostShown,
  type Author,
  type ChangeWrite,
  type Fields,
  type ObjectVersion,
  type Shown,
} from '../ledger/change.js';
import { formatPath, getAt, leavesOf, pathOfKey, type Tree } from '../meta/field-tree.js';
import { keyOf, type ManagedFields, type ObjectKey } from '../meta/meta.js';
import { pathsOf } from '../meta/server-side-apply.js';
import type { StructuralSchema } from '../schema/structural.js';
import type { AnyResource } from './kinds.js';
import { definitions } from './schemas.js';
import { isObject } from '../schema/json-value.js';

// An object as the record of changes keeps it: its fields as people may see them.

const mostFields = 200;

/** An object as it is now, or `isGone`. Without `author` the manager of its fields is named. */
export function writeOf(
  object: AnyResource,
  rest: Pick<ChangeWrite, 'at' | 'organisation'> & {
    readonly author?: Author | undefined;
    readonly isGone?: boolean;
  },
): ChangeWrite {
  const { isGone = false, author, ...whose } = rest;
  const managed = isGone ? [] : specEntries(object);
  return {
    ...whose,
    object: knownOf(object),
    fields: isGone ? undefined : fieldsOf(object, managed),
    author: author ?? { source: 'manager', name: managed[0]?.manager },
  };
}

export function knownOf(object: AnyResource): ObjectVersion {
  const { namespace = '', name }: ObjectKey = keyOf(object);
  const { uid, generation } = object.metadata;
  return { kind: object.kind, namespace, name, uid, generation };
}

/** Who owns fields of the spec, the latest first. */
function specEntries({ metadata }: AnyResource): readonly ManagedFields[] {
  return (metadata.managedFields ?? [])
    .filter((entry) => pathsOf(entry).some((path) => pathOfKey(path)[0] === 'spec'))
    .toSorted((a, b) => ((a.time ?? '') < (b.time ?? '') ? 1 : -1));
}

function fieldsOf({ kind, spec }: AnyResource, managed: readonly ManagedFields[]): Fields {
  const managers = new Map<string, string>();
  for (const entry of managed)
    for (const path of pathsOf(entry)) {
      const field = formatPath(pathOfKey(path));
      if (!managers.has(field)) managers.set(field, entry.manager);
    }
  const leaves = leavesOf(spec as Tree, ['spec']);
  const fields = leaves.slice(0, mostFields).map(({ path, value }) => {
    const field = formatPath(path);
    const manager = managers.get(field);
    const shown = show(value, schemaAt(definitions[kind].spec, path.slice(1)));
    return [field, manager === undefined ? shown : { ...shown, manager }] as const;
  });
  const others = leaves.slice(mostFields);
  return Object.fromEntries([
    ...fields,
    ...(others.length === 0
      ? []
      : [
          [
            '(more)',
            show(
              others.map(({ value }) => value),
              undefined,
            ),
          ] as const,
        ]),
  ]);
}

function schemaAt(schema: StructuralSchema, path: readonly string[]): StructuralSchema | undefined {
  return path.reduce<StructuralSchema | undefined>(
    (at, name) => getAt(at?.properties, [name]) as StructuralSchema | undefined,
    schema,
  );
}

function show(value: unknown, schema: StructuralSchema | undefined): Shown {
  const whole = JSON.stringify(value);
  const text = JSON.stringify(withoutSecrets(value, schema));
  const shown = text.length <= mostShown ? text : `${text.slice(0, mostShown)}… (${text.length} characters)`;
  return shown === whole ? { shown } : { shown, mark: hash('sha256', whole).slice(0, 16) };
}

function withoutSecrets(value: unknown, schema: StructuralSchema | undefined): unknown {
  if (schema?.confidential) return '(not shown)';
  if (Array.isArray(value)) return value.map((item) => withoutSecrets(item, schema?.items));
  if (isObject(value))
    return Object.fromEntries(
      Object.entries(value).map(([name, item]) => [
        name,
        withoutSecrets(item, schemaAt(schema ?? notKnown, [name])),
      ]),
    );
  // Customers put secrets into the query and the user information of a URL.
  if (typeof value === 'string' && /^https?:/i.test(value))
    return value.replace(/[?#].*$/s, '?…').replace(/\/\/[^/]*@/, '//…@');
  return value;
}

const notKnown: StructuralSchema = { type: 'object', description: '' };
