import type { Tenant } from '../../../core/config/tenant.js';
import { invalidInput, quote } from '../../../core/errors.js';
import type { Resources } from '../../../core/resources/kinds.js';
import { definitions } from '../../../core/resources/schemas.js';
import { arrayOf, openRecord, record, type JsonSchema } from '../../../core/schema/json-schema.js';
import { isObject } from '../../../core/schema/json-value.js';
import type { StructuralSchema } from '../../../core/schema/structural.js';
import type { Tools } from '../deps.js';
import type { Body } from '../endpoint.js';
import { text, uuid } from '../record-schemas.js';
import { time } from '../ledger/schemas.js';
import { published } from '../schemas.js';
import { createdBy } from '../views.js';
import { redact } from './edit.js';
import type { Noun, NounKind } from './nouns.js';

/** How the management API shows an object, and what it takes of one. */

export function viewOf<K extends NounKind>(noun: Noun<K>, tenant: Tenant, object: Resources[K]) {
  const { metadata, status = {} } = object;
  const { name, labels = {}, uid, generation, creationTimestamp } = metadata;
  const { spec, status: statusSchema } = definitions[noun.kind];
  return {
    name,
    id: noun.idOf(tenant, name),
    labels,
    uid,
    generation,
    createdAt: creationTimestamp,
    createdBy: createdBy(metadata),
    spec: redact(spec, object.spec),
    status: redact(statusSchema, status),
  };
}

/** Of what may be changed: status does not count. */
export function etagOf({ metadata: { uid, generation } }: Resources[NounKind]): string {
  return `"${uid}.${generation}"`;
}

const labels: JsonSchema = {
  type: 'object',
  additionalProperties: { type: 'string', maxLength: 63 },
  description: 'Labels of the object, e.g. {"team": "growth"}.',
};
const name = { ...text, description: 'Name of the object, which never changes.' };

export function schemaOf({ kind, beside }: Noun): JsonSchema {
  const { spec, status } = definitions[kind];
  const members = {
    name,
    id: { ...uuid, description: 'As usage, decisions and limits name it.' },
    labels,
    uid: text,
    generation: { type: 'integer', minimum: 1, description: 'Rises when spec changes.' },
    createdAt: time,
    createdBy: text,
    spec: published(shown(spec)),
    status: published(shown(status)),
  };
  return record(members, beside?.schema);
}

export function listSchemaOf(schema: JsonSchema): JsonSchema {
  return record({
    items: arrayOf(schema),
    nextCursor: { type: ['string', 'null'], description: 'For the next page; null on the last one.' },
  });
}

/** Without what is never shown. A member that is needed beside it may then be missing too. */
function shown(schema: StructuralSchema): StructuralSchema {
  const { properties } = schema;
  if (properties === undefined) return schema;
  const members = Object.entries(properties).filter(([, { confidential }]) => confidential !== true);
  return { ...schema, properties: Object.fromEntries(members.map(([key, child]) => [key, shown(child)])) };
}

export function exampleOf(noun: Noun) {
  return {
    name: 'shop',
    id: '0f8fad5b-d9cb-569f-a165-70867728950e',
    labels: { team: 'growth' },
    uid: '5d0f2c2e-8f0a-4b7c-9a51-0f3b1f1f6a11',
    generation: 1,
    createdAt: '2026-01-01T00:00:00Z',
    createdBy: 'ci',
    spec: noun.example,
    status: {},
    ...noun.beside?.example,
  };
}

export type WrittenBody = { readonly name?: unknown; readonly labels?: unknown; readonly spec?: unknown };

/** An answer may be sent back: members that nobody writes are ignored, and any other is refused. */
const readOnly = ['id', 'uid', 'generation', 'createdAt', 'createdBy', 'status', 'rules'];
const known = ['name', 'labels', 'spec', ...readOnly];

export function bodyOf(noun: Noun, form: 'new' | 'whole' | 'patch'): Body<WrittenBody> {
  const spec = form === 'patch' ? { type: 'object' } : published(definitions[noun.kind].spec);
  const { name: exampleName, labels: exampleLabels } = exampleOf(noun);
  const example = {
    labels: exampleLabels,
    spec: form === 'patch' ? { [noun.stop.field]: null } : noun.example,
  };
  return {
    schemas: [
      form === 'patch'
        ? openRecord({}, { labels: { type: 'object' }, spec })
        : openRecord(form === 'new' ? { name, spec } : { spec }, { labels }),
    ],
    example: form === 'new' ? { name: exampleName, ...example } : example,
    parse: readBody,
  };
}

function readBody(_tools: Tools, body: unknown): WrittenBody {
  if (!isObject(body)) throw invalidInput({ field: 'body', expected: 'a JSON object', value: quote(body) });
  const others = Object.keys(body).filter((each) => !known.includes(each));
  if (others.length > 0)
    throw invalidInput(
      others.map((each) => ({
        field: 'body',
        expected: 'made of name, labels and spec',
        value: quote(each),
      })),
    );
  return body;
}
