import { eachObject } from '../../../adapters/resources/pages.js';
import { DomainError, invalidInput, isDomainError, quote, type Problem } from '../../../core/errors.js';
import { isTextMap, type Tree } from '../../../core/meta/field-tree.js';
import { apiVersion, type ObjectKey } from '../../../core/meta/meta.js';
import type { Resources } from '../../../core/resources/kinds.js';
import { definitions } from '../../../core/resources/schemas.js';
import { validateMetadata, validateName, validateResource } from '../../../core/resources/validate.js';
import type { Principal } from '../auth.js';
import type { Call, Reply } from '../call.js';
import type { Tools } from '../deps.js';
import { endpoint, type Endpoint } from '../endpoint.js';
import { readList, section, pageParameters } from '../lists.js';
import { requireQuota, unlessDeleted } from '../lookups.js';
import { boolean, integer, text } from '../parameters.js';
import { dashboardManager } from '../writes.js';
import { renderYaml } from '../../../adapters/manifests/yaml.js';
import { isObject } from '../../../core/schema/json-value.js';
import { deletionExample, deletionSchema, endsWith } from './deletion.js';
import { editOf, manifestFields, mergePatch, redact, restore, writtenOf, type Written } from './edit.js';
import type { Noun, NounKind } from './nouns.js';
import { bodyOf, etagOf, listSchemaOf, maxLabels, objectShape, type WrittenBody } from './record.js';

/** The endpoints of a noun: `path` is its plural. */
export function objectEndpoints<K extends NounKind>(path: string, noun: Noun<K>): readonly Endpoint[] {
  const { kind, one, stop, beside } = noun;
  const name = `${one[0]?.toUpperCase() ?? ''}${one.slice(1)}`;
  const { schema, example, viewOf } = objectShape(noun);
  const shared = { scope: 'organisation', schema, example } as const;
  const changed = { ...shared, path: `/${path}/:name`, errors: changeErrors } as const;
  const shown = ({ principal }: Call, object: Resources[K]): Reply => ({
    data: viewOf(principal.tenant, object),
    etag: etagOf(object),
  });
  const viewsOf = async (tools: Tools, principal: Principal, objects: readonly Resources[K][]) => {
    const shownBeside = (await beside?.read(tools, principal, objects)) ?? [];
    const members = new Map(objects.map((object, index) => [object, shownBeside[index]]));
    return (object: Resources[K]) => ({
      ...viewOf(principal.tenant, object),
      ...members.get(object),
    });
  };
  const written = async (tools: Tools, call: Call, object: Resources[K], status = 200): Promise<Reply> => {
    const programmed = await tools.programmed.written(kind, object);
    return { ...shown(call, object), programmed, object, status };
  };

  return [
    endpoint({
      ...shared,
      operationId: `listObjects${name}`,
      summary: `The ${path} of the organisation, with what is written and what came of it`,
      method: 'get',
      path: `/${path}`,
      needs: ['read'],
      cost: 'list',
      parameters: {
        limit: integer('Records of a page, which may be shorter when they are large. Default 100.', 1, 500),
        cursor: pageParameters.cursor,
        ...(kind !== 'Paymaster' && { paymaster: text('Only of the paymaster of this name.', 253) }),
      },
      schema: listSchemaOf(schema),
      example: { items: [example], nextCursor: null },
      async handle(tools, { principal, given }) {
        const {
          limit = 100,
          cursor,
          paymaster,
        } = given as { limit?: number; cursor?: string; paymaster?: string };
        const fields = paymaster === undefined ? {} : { fields: { 'spec.paymasterRef.name': paymaster } };
        const options = { namespace: principal.namespace, ...fields };
        const all = section(
          kind,
          options,
          (object) => viewOf(principal.tenant, object),
          (objects) => viewsOf(tools, principal, objects),
        );
        return {
          list: await readList(tools.resources, [all], { limit, ...(cursor !== undefined && { cursor }) }),
        };
      },
    }),
    endpoint({
      ...shared,
      operationId: `get${name}`,
      summary: `One ${one}`,
      method: 'get',
      path: `/${path}/:name`,
      needs: ['read'],
      async handle(tools, call) {
        const object = await present(tools, call, noun);
        const view = await viewsOf(tools, call.principal, [object]);
        return { data: view(object), etag: etagOf(object) };
      },
    }),
    endpoint({
      ...shared,
      operationId: `create${name}Object`,
      summary: `Create a ${one}`,
      method: 'post',
      path: `/${path}`,
      status: 201,
      errors: changeErrors,
      body: bodyOf(noun, 'new'),
      async handle(tools, call) {
        const key = keyOf(noun, call, typeof call.body.name === 'string' ? call.body.name : '');
        return written(tools, call, await create(tools, call, noun, key), 201);
      },
    }),
    endpoint({
      ...changed,
      operationId: `put${name}`,
      summary: `Write a ${one} as a whole, or create it (201)`,
      method: 'put',
      body: bodyOf(noun, 'whole'),
      async handle(tools, call) {
        const key = keyOfCall(noun, call);
        if (call.ifMatch === undefined && (await tools.resources.get(kind, key)) === undefined)
          return written(tools, call, await create(tools, call, noun, key), 201);
        const next = ({ labels }: Written) => nextOf(call.body, labels);
        return written(tools, call, await change(tools, call, noun, next));
      },
    }),
    endpoint({
      ...changed,
      operationId: `patch${name}`,
      summary: `Change fields of a ${one}: a JSON merge patch (RFC 7396) of labels and spec`,
      method: 'patch',
      body: bodyOf(noun, 'patch'),
      async handle(tools, call) {
        const patched = (present: Written) =>
          nextOf(mergePatch(present, call.body) as WrittenBody, {}, present.labels);
        return written(tools, call, await change(tools, call, noun, patched));
      },
    }),
    endpoint({
      ...changed,
      operationId: `delete${name}`,
      summary: `Delete a ${one}; with dryRun, say what would end`,
      method: 'delete',
      parameters: { dryRun: boolean('True: nothing is deleted.') },
      schema: deletionSchema,
      example: kind === 'Paymaster' ? deletionExample : { ...deletionExample, ends: {} },
      async handle(tools, call) {
        const object = await present(tools, call, noun);
        requireMatch(call, object);
        const key = keyOfCall(noun, call);
        const dryRun = call.given.dryRun === true;
        const data = { name: key.name, dryRun, ends: await endsWith(tools, call, object) };
        if (dryRun) return { data };
        await unlessDeleted(
          () => unknown(noun, key),
          () => tools.writes.remove(kind, key, (current) => requireMatch(call, current)),
        );
        return { data, programmed: await tools.programmed.deleted(call.principal.tenant, object), object };
      },
    }),
    ...(['suspend', 'resume'] as const).map((verb) =>
      endpoint({
        ...changed,
        operationId: `${verb}${name}`,
        summary: verb === 'suspend' ? `Stop a ${one}` : `Let a stopped ${one} go on`,
        method: 'post',
        path: `/${path}/:name/${verb}`,
        needs: verb === 'suspend' ? stop.needs : [],
        async handle(tools, call) {
          const next = ({ labels, spec }: Written): Written => {
            const { [stop.field]: was, ...rest } = spec;
            if (verb === 'suspend') return { labels, spec: { ...rest, [stop.field]: stop.value } };
            return { labels, spec: was === stop.value ? rest : spec };
          };
          return written(tools, call, await change(tools, call, noun, next));
        },
      }),
    ),
  ];
}

const changeErrors = {
  404: 'The organisation has no such object.',
  409: 'The object exists, or another manager, such as a manifest, owns a field: `manifest` is the YAML to commit.',
  412: 'If-Match names another object, or an earlier generation.',
  413: 'The body is larger than 1 MiB.',
};

async function create<K extends NounKind>(
  tools: Tools,
  call: Call<WrittenBody>,
  noun: Noun<K>,
  key: ObjectKey,
): Promise<Resources[K]> {
  const { labels, spec } = nextOf(call.body, {});
  refuse(validate(noun, key, { labels, spec }));
  return tools.turns.run(turnOf(noun, call), async () => {
    await admit(tools, call, noun, key.name, spec as Resources[K]['spec']);
    try {
      return await tools.writes.create(noun.kind, key, spec as never, call.principal.tokenName, labels);
    } catch (error) {
      throw isDomainError(error, 'ALREADY_EXISTS') ? exists(noun, key.name) : error;
    }
  });
}

/** `nextOf` gets what was shown and says what is wanted. */
export async function change<K extends NounKind>(
  tools: Tools,
  call: Call,
  noun: Noun<K>,
  next: (shown: Written) => Written | Promise<Written>,
): Promise<Resources[K]> {
  const key = keyOfCall(noun, call);
  const { spec: schema } = definitions[noun.kind];
  const plan = async (
    object: Resources[K],
    owned: Parameters<Parameters<typeof tools.writes.edit<K>>[2]>[1],
  ) => {
    requireMatch(call, object);
    const current = writtenOf(object);
    const wanted = await next({ ...current, spec: redact(schema, current.spec) as Tree });
    const whole = { ...wanted, spec: restore(schema, wanted.spec, current.spec) as Tree };
    refuse(validate(noun, key, whole, object));
    try {
      const edit = editOf<K>(object, owned, whole, dashboardManager);
      if (edit !== undefined)
        await admit(tools, call, noun, key.name, whole.spec as Resources[K]['spec'], object.spec);
      return edit;
    } finally {
      asked = { object, wanted };
    }
  };
  let asked: { readonly object: Resources[K]; readonly wanted: Written } | undefined;
  try {
    return await unlessDeleted(
      () => unknown(noun, key),
      () => tools.turns.run(turnOf(noun, call), () => tools.writes.edit(noun.kind, key, plan)),
    );
  } catch (error) {
    if (!isDomainError(error, 'FIELD_OWNED') || asked === undefined) throw error;
    const { metadata, ...fields } = manifestFields(asked.object, asked.wanted, dashboardManager);
    const named = { ...key, ...(isObject(metadata) && metadata) };
    const manifest = renderYaml({ apiVersion, kind: noun.kind, metadata: named, ...fields });
    throw new DomainError(error.code, error.message, { ...error.details, manifest });
  }
}

/** Checks the object against others of the same owner, and throws. */
async function admit<K extends NounKind>(
  tools: Tools,
  call: Call,
  noun: Noun<K>,
  name: string,
  spec: Resources[K]['spec'],
  current?: Resources[K]['spec'],
): Promise<void> {
  const { namespace } = call.principal;
  const owner = 'paymasterRef' in spec ? spec.paymasterRef.name : undefined;
  if (
    owner !== undefined &&
    (await tools.resources.get('Paymaster', { namespace, name: owner })) === undefined
  )
    throw invalidInput({
      field: 'spec.paymasterRef.name',
      expected: 'a paymaster of the organisation',
      value: quote(owner),
    });
  const objects: Resources[K][] = [];
  let count = 0;
  const fields = owner === undefined ? {} : { fields: { 'spec.paymasterRef.name': owner } };
  for await (const other of eachObject(tools.resources, noun.kind, { namespace, ...fields })) {
    if (other.metadata.name === name) continue;
    if (noun.clashes(spec, other.spec)) throw exists(noun, other.metadata.name);
    count += 1;
    if (noun.kind !== 'SmartContract') objects.push(other);
  }
  if (current === undefined) requireQuota(tools, call.principal, noun.quota, count);
  await noun.check(tools, call, spec, { count, objects }, current);
}

function validate<K extends NounKind>(
  { kind }: Noun<K>,
  { namespace, name }: ObjectKey,
  { labels, spec }: Written,
  current?: Resources[K],
): readonly Problem[] {
  const metadata = { name, ...(namespace !== undefined && { namespace }) };
  const problems = [...validateMetadata({ labels }), ...validateResource(kind, { metadata, spec }, current)];
  return problems.map(({ field, ...rest }) => ({ field: field.replace(/^metadata\./, ''), ...rest }));
}

/** What a body asks for; `before` are the labels where it names none. Throws INVALID_INPUT. */
function nextOf(
  { labels, spec }: WrittenBody,
  before: Written['labels'],
  present: Written['labels'] = before,
): Written {
  const labelCount = isTextMap(labels) ? Object.keys(labels).length : 0;
  const problems = [
    ...(labelCount > Math.max(maxLabels, Object.keys(present).length)
      ? [{ field: 'labels', expected: `at most ${maxLabels} labels`, value: String(labelCount) }]
      : []),
    ...(isObject(spec) ? [] : [{ field: 'spec', expected: 'an object', value: quote(spec) }]),
    ...(labels === undefined || isTextMap(labels)
      ? []
      : [{ field: 'labels', expected: 'an object of texts', value: quote(labels) }]),
  ];
  refuse(problems);
  return { labels: isTextMap(labels) ? labels : before, spec: spec as Tree };
}

function refuse(problems: readonly Problem[]): void {
  if (problems.length > 0) throw invalidInput(problems);
}

export async function present<K extends NounKind>(
  tools: Tools,
  call: Call,
  noun: Noun<K>,
): Promise<Resources[K]> {
  const key = keyOfCall(noun, call);
  const object = await tools.resources.get(noun.kind, key);
  if (object === undefined) throw unknown(noun, key);
  return object;
}

/** Throws NOT_FOUND for a name that no object can have. */
function keyOfCall(noun: Noun, { principal: { namespace }, params: { name = '' } }: Call): ObjectKey {
  const key = { namespace, name };
  if (validateName(noun.kind, key).length > 0) throw unknown(noun, key);
  return key;
}

function keyOf(noun: Noun, { principal: { namespace } }: Call, name: string): ObjectKey {
  refuse(validateName(noun.kind, { namespace, name }).map((problem) => ({ ...problem, field: 'name' })));
  return { namespace, name };
}

function requireMatch({ ifMatch }: Call, object: Resources[NounKind]): void {
  if (ifMatch === undefined || ifMatch === '*') return;
  const present = etagOf(object);
  if (ifMatch.split(',').some((each) => each.trim() === present)) return;
  throw new DomainError(
    'PRECONDITION_FAILED',
    `The object is ${present} now, and If-Match names ${quote(ifMatch)}`,
  );
}

/** Changes of the same owner's objects, one after the other: names and quotas are compared with what is there. */
function turnOf({ kind }: Noun, { principal }: Call): string {
  return `${kind} of ${principal.namespace}`;
}

function exists({ one }: Noun, name: string): DomainError {
  return new DomainError('OBJECT_EXISTS', `The ${one} ${quote(name)} has this name or place already`);
}

function unknown({ one }: Noun, { name }: ObjectKey): DomainError {
  return new DomainError('NOT_FOUND', `The organisation has no ${one} ${quote(name)}`);
}
