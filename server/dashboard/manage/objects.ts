import type { Resources } from '../../../core/resources/kinds.js';
import type { Principal } from '../auth.js';
import type { Call, Reply } from '../call.js';
import type { Tools } from '../deps.js';
import { endpoint, type Endpoint } from '../endpoint.js';
import { readList, section, pageParameters } from '../lists.js';
import { unlessDeleted } from '../lookups.js';
import { boolean, integer, text } from '../parameters.js';
import { deletionExample, deletionSchema, endsWith } from './deletion.js';
import { mergePatch, type Written } from './edit.js';
import type { Noun, NounKind } from './nouns.js';
import {
  change,
  create,
  keyOf,
  keyOfCall,
  nextOf,
  present,
  requireMatch,
  unknown,
} from './object-changes.js';
import { bodyOf, etagOf, listSchemaOf, objectShape, type WrittenBody } from './record.js';

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
  412: 'If-Match names another object, or an earlier generation; or If-None-Match names this one.',
  413: 'The body is larger than 1 MiB.',
};
