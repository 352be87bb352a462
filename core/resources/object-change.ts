import { hash } from 'node:crypto';
import {
  changedFields,
  maxShownLength,
  type ChangeWrite,
  type Fields,
  type Shown,
} from '../ledger/change.js';
import { formatPath, getAt, listLeaves, type Tree } from '../meta/field-tree.js';
import { objectKey } from '../meta/meta.js';
import type { StructuralSchema } from '../schema/structural.js';
import type { AnyResource } from './kinds.js';
import { definitions } from './schemas.js';
import { isObject } from '../schema/json-value.js';

// A write as the record of changes keeps it: the fields of the object as people may see them.

const maxFields = 200;

/** Undefined: the object did not or does not exist. At least one of the two is given. */
export type Versions =
  | { readonly before: AnyResource | undefined; readonly after: AnyResource }
  | { readonly before: AnyResource; readonly after: undefined };

export function toChangeWrite(
  { before, after }: Versions,
  rest: Pick<ChangeWrite, 'at' | 'organisation' | 'author'>,
): ChangeWrite {
  const object = after ?? before;
  const { namespace = '', name } = objectKey(object);
  const { uid, generation } = object.metadata;
  return {
    ...rest,
    action: before === undefined ? 'created' : after === undefined ? 'deleted' : 'changed',
    object: { kind: object.kind, namespace, name, uid, generation },
    fields: changedFields(before && showFields(before), after && showFields(after)),
  };
}

function showFields({ kind, spec }: AnyResource): Fields {
  const leaves = listLeaves(spec as Tree, ['spec']);
  const fields = leaves
    .slice(0, maxFields)
    .map(({ path, value }) => [
      formatPath(path),
      show(value, schemaAt(definitions[kind].spec, path.slice(1))),
    ]);
  const others = leaves.slice(maxFields).map(({ value }) => value);
  if (others.length > 0) fields.push(['(more)', show(others, undefined)]);
  return Object.fromEntries(fields) as Fields;
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
  const shown =
    text.length <= maxShownLength ? text : `${text.slice(0, maxShownLength)}… (${text.length} characters)`;
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
