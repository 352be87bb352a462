import { createHash } from 'node:crypto';
import type { Tenant } from '../../../core/config/tenant.js';
import { invalidInput } from '../../../core/errors.js';
import type { Resources } from '../../../core/resources/kinds.js';
import { definitions } from '../../../core/resources/schemas.js';
import { arrayOf, openRecord, record, type JsonSchema } from '../../../core/schema/json-schema.js';
import type { StructuralSchema } from '../../../core/schema/structural.js';
import { given } from '../../../core/units/given.js';
import { otherMembers, requireObject } from '../../http/json.js';
import type { Tools } from '../deps.js';
import type { Body } from '../endpoint.js';
import { time } from '../ledger/schemas.js';
import { text, uuid } from '../record-schemas.js';
import { published } from '../schemas.js';
import { about, shapeOf } from '../shape.js';
import { createdBy } from '../views.js';
import { listManagers } from '../writes.js';
import { redact } from './edit.js';
import type { Noun, NounKind } from './nouns.js';

/** How the management API shows an object, and what it takes of one. */

/** Of what may be changed: status does not count. Labels and annotations change no generation. */
export function computeEtag({ metadata }: Resources[NounKind]): string {
  const { labels = {}, annotations = {} } = metadata;
  const texts = JSON.stringify(
    [labels, annotations].map((each) => Object.entries(each).toSorted(([a], [b]) => (a < b ? -1 : 1))),
  );
  const hash = createHash('sha256').update(texts).digest('base64url').slice(0, 8);
  return `"${formatVersion({ metadata })}.${hash}"`;
}

/** What a client can write that has read `uid` and `generation`, and no header: it stands for the spec alone. */
export function formatVersion({
  metadata: { uid, generation },
}: Pick<Resources[NounKind], 'metadata'>): string {
  return `${uid}.${generation}`;
}

const labels: JsonSchema = {
  type: 'object',
  additionalProperties: { type: 'string', maxLength: 63 },
  description: 'Labels of the object, e.g. {"team": "growth"}.',
};
/** Each label is a field that has owners. Objects that kubectl gave more keep them. */
export const maxLabels = 64;
const [exampleName, exampleLabels] = ['shop', { team: 'growth' }];
const managed: JsonSchema = {
  ...arrayOf(record({ manager: text, fields: arrayOf(text) })),
  description:
    'Managers such as Argo CD, and the fields of spec that each declares: a change of one of them is refused (409 FIELD_OWNED).',
};
const name = { ...text, description: 'Name of the object, which never changes.' };

type Shown = Resources[NounKind] & { readonly tenant: Tenant };

export function objectShape(noun: Noun) {
  const { spec, status } = definitions[noun.kind];
  const shape = shapeOf<Shown>()({
    name: [name, exampleName, ({ metadata }) => metadata.name],
    id: [
      about(uuid, 'As usage, decisions and limits name it.'),
      '0f8fad5b-d9cb-569f-a165-70867728950e',
      ({ tenant, metadata }) => noun.idOf(tenant, metadata.name),
    ],
    labels: [labels, exampleLabels, ({ metadata }) => metadata.labels ?? {}],
    uid: [text, '5d0f2c2e-8f0a-4b7c-9a51-0f3b1f1f6a11', ({ metadata }) => metadata.uid],
    generation: [
      { type: 'integer', minimum: 1, description: 'Rises when spec changes.' },
      1,
      ({ metadata }) => metadata.generation,
    ],
    createdAt: [time, '2026-01-01T00:00:00Z', ({ metadata }) => metadata.creationTimestamp],
    createdBy: [text, 'ci', ({ metadata }) => createdBy(metadata)],
    managedBy: [managed, [{ manager: 'argocd-controller', fields: ['spec.name'] }], listManagers],
    spec: [published(withoutConfidential(spec)), noun.example, (object) => redact(spec, object.spec)],
    status: [published(withoutConfidential(status)), {}, (object) => redact(status, object.status ?? {})],
  });
  const { schema, example, render } = shape;
  const { field } = noun.stop;
  const glance = <T>({ name, chainId, [field]: stopped }: Readonly<Record<string, T>>) =>
    given({ name, chainId, [field]: stopped }) as Readonly<Record<string, T>>;
  const { [field]: stopped, ...named } = glance<JsonSchema>(Object(published(spec)['properties']));
  return {
    /** For a token that may not read: what it takes to find an object and to stop it. */
    glanceSchema: record({ name, id: uuid, spec: record(named, { [field]: stopped! }) }),
    glanceOf: (tenant: Tenant, object: Resources[NounKind]) => ({
      name: object.metadata.name,
      id: noun.idOf(tenant, object.metadata.name),
      spec: glance<unknown>(object.spec),
    }),
    schema: { ...schema, properties: { ...Object(schema['properties']), ...noun.beside?.schema } },
    example: { ...example, ...noun.beside?.example },
    viewOf: (tenant: Tenant, object: Resources[NounKind]) => render({ ...object, tenant }),
  };
}

/** Without what is never shown. A member that is needed beside it may then be missing too. */
function withoutConfidential(schema: StructuralSchema): StructuralSchema {
  const { properties } = schema;
  if (properties === undefined) return schema;
  const members = Object.entries(properties).filter(([, { confidential }]) => confidential !== true);
  return {
    ...schema,
    properties: Object.fromEntries(members.map(([key, child]) => [key, withoutConfidential(child)])),
  };
}

export type WrittenBody = { readonly name?: unknown; readonly labels?: unknown; readonly spec?: unknown };

/** An answer may be sent back: members that nobody writes are ignored, and any other is refused. */
const readOnly = ['id', 'uid', 'generation', 'createdAt', 'createdBy', 'managedBy', 'status', 'rules'];
const known = ['name', 'labels', 'spec', ...readOnly];

export function writtenBody(noun: Noun, form: 'new' | 'whole' | 'patch'): Body<WrittenBody> {
  const spec = form === 'patch' ? { type: 'object' } : published(definitions[noun.kind].spec);
  const example = {
    labels: exampleLabels,
    spec: form === 'patch' ? { [noun.stop.field]: null } : noun.example,
  };
  return {
    schemas: [
      form === 'patch'
        ? openRecord({}, { labels: { type: 'object' }, spec })
        : openRecord(form === 'new' ? { name, spec } : { spec }, {
            labels: { ...labels, maxProperties: maxLabels },
          }),
    ],
    example: form === 'new' ? { name: exampleName, ...example } : example,
    parse: readBody,
  };
}

function readBody(_tools: Tools, body: unknown): WrittenBody {
  const written = requireObject(body);
  const others = otherMembers(written, known, 'made of name, labels and spec');
  if (others.length > 0) throw invalidInput(others);
  return written;
}
