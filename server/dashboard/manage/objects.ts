import type { Resources } from '../../../core/resources/kinds.js';
import type { Principal } from '../auth.js';
import type { Call, Reply } from '../call.js';
import type { Tools } from '../deps.js';
import { endpoint, type Endpoint } from '../endpoint.js';
import { readList, section, pageParameters } from '../lists.js';
import { unlessDeleted } from '../lookups.js';
import { boolean, integer, text } from '../parameters.js';
import { listSchema } from '../shape.js';
import {
  deletePaymaster,
  deletionExample,
  deletionSchema,
  paymasterDeletionExample,
} from './delete-paymaster.js';
import { mergePatch, type Written } from './edit.js';
import type { Noun, NounKind } from './nouns.js';
import {
  create,
  requireKey,
  keyOfCall,
  composeNext,
  requirePresent,
  requireMatch,
  tellChange,
  notFound,
} from './object-changes.js';
import { writtenBody, computeEtag, objectShape, type WrittenBody } from './record.js';

/** The endpoints of a noun: `path` is its plural. */
export function objectEndpoints<K extends NounKind>(path: string, noun: Noun<K>): readonly Endpoint[] {
  const { kind, one, stop, beside } = noun;
  const name = `${one[0]?.toUpperCase() ?? ''}${one.slice(1)}`;
  const { schema, example, viewOf, glanceSchema, glanceOf } = objectShape(noun);
  // Statements name paymasters, and a token that may stop one must find it.
  const isListed = kind === 'Paymaster';
  const orGlance = { anyOf: [schema, glanceSchema] };
  const shownTo =
    ({ scopes, tenant }: Principal) =>
    (object: Resources[K]) =>
      (scopes.includes('read') || scopes.includes('write') ? viewOf : glanceOf)(tenant, object);
  const shared = { scope: 'organisation', schema, example } as const;
  const changed = { ...shared, path: `/${path}/:name`, errors: changeErrors } as const;
  const shown = ({ principal }: Call, object: Resources[K]): Reply => ({
    data: shownTo(principal)(object),
    etag: computeEtag(object),
  });
  const renderViews = async (tools: Tools, principal: Principal, objects: readonly Resources[K][]) => {
    const shownBeside = (await beside?.read(tools, principal, objects)) ?? [];
    const members = new Map(objects.map((object, index) => [object, shownBeside[index]]));
    return (object: Resources[K]) => ({
      ...shownTo(principal)(object),
      ...members.get(object),
    });
  };
  const written = async (tools: Tools, call: Call, object: Resources[K], status = 200): Promise<Reply> => {
    const programmed = await tools.programmed.written(kind, object);
    return { ...shown(call, object), programmed, object, status };
  };

  const changeTo = async (
    tools: Tools,
    call: Call,
    next: (present: Written) => Written,
    isDry?: boolean,
  ): Promise<Reply> => {
    const { object, before, remarks } = await tellChange(tools, call, noun, next, isDry);
    if (isDry === true)
      return { ...shown(call, object), etag: computeEtag(before), warnings: await remarks(true) };
    return { ...(await written(tools, call, object)), warnings: await remarks(false) };
  };
  const dryRun = boolean(
    `True: nothing is written; the answer is what would be, or why it is refused${noun.remarks === undefined ? '' : ', and `warnings` say what the change would forget'}.`,
  );

  return [
    endpoint({
      ...shared,
      operationId: `listObjects${name}`,
      summary: `The ${path} of the organisation, with what is written and what came of it${isListed ? '; without the scope read: name, chain and suspended' : ''}`,
      method: 'get',
      path: `/${path}`,
      needs: isListed ? ['read', 'stop', 'finance'] : ['read'],
      cost: 'list',
      parameters: {
        limit: integer('Records of a page, which may be shorter when they are large. Default 100.', 1, 500),
        cursor: pageParameters.cursor,
        ...(kind !== 'Paymaster' && { paymaster: text('Only of the paymaster of this name.', 253) }),
      },
      schema: listSchema(isListed ? orGlance : schema),
      example: { items: [example], nextCursor: null },
      async handle(tools, { principal, given }) {
        const {
          limit = 100,
          cursor,
          paymaster,
        } = given as { limit?: number; cursor?: string; paymaster?: string };
        const fields = paymaster === undefined ? {} : { fields: { 'spec.paymasterRef.name': paymaster } };
        const options = { namespace: principal.namespace, ...fields };
        const all = section(kind, options, shownTo(principal), (objects) =>
          renderViews(tools, principal, objects),
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
        const object = await requirePresent(tools, call, noun);
        const view = await renderViews(tools, call.principal, [object]);
        return { data: view(object), etag: computeEtag(object) };
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
      body: writtenBody(noun, 'new'),
      async handle(tools, call) {
        const key = requireKey(noun, call, typeof call.body.name === 'string' ? call.body.name : '');
        return written(tools, call, await create(tools, call, noun, key), 201);
      },
    }),
    endpoint({
      ...changed,
      operationId: `put${name}`,
      summary: `Write a ${one} as a whole, or create it (201)`,
      method: 'put',
      parameters: { dryRun },
      body: writtenBody(noun, 'whole'),
      async handle(tools, call) {
        const key = keyOfCall(noun, call);
        const { dryRun: isDry } = call.given;
        if (call.ifMatch === undefined && (await tools.resources.get(kind, key)) === undefined) {
          const made = await create(tools, call, noun, key, isDry);
          if (isDry === true) return { data: shownTo(call.principal)(made), status: 201 };
          return written(tools, call, made, 201);
        }
        const next = ({ labels }: Written) => composeNext(call.body, labels);
        return changeTo(tools, call, next, isDry);
      },
    }),
    endpoint({
      ...changed,
      operationId: `patch${name}`,
      summary: `Change fields of a ${one}: a JSON merge patch (RFC 7396) of labels and spec`,
      method: 'patch',
      parameters: { dryRun },
      body: writtenBody(noun, 'patch'),
      async handle(tools, call) {
        const patched = (present: Written) =>
          composeNext(mergePatch(present, call.body) as WrittenBody, {}, present.labels);
        return changeTo(tools, call, patched, call.given.dryRun);
      },
    }),
    endpoint({
      ...changed,
      operationId: `delete${name}`,
      summary: `Delete a ${one}; with dryRun, say what would end`,
      method: 'delete',
      parameters: {
        dryRun: boolean('True: nothing is deleted.'),
        ...(kind === 'Paymaster' && {
          cascade: boolean(
            'True: the contracts and policies that belong to it are deleted after it, except those that a manifest declares. Without it a paymaster that has any is not deleted.',
          ),
        }),
      },
      schema: deletionSchema,
      example: kind === 'Paymaster' ? paymasterDeletionExample : deletionExample,
      async handle(tools, call) {
        if (kind === 'Paymaster') return deletePaymaster(tools, call, call.given);
        const object = await requirePresent(tools, call, noun);
        requireMatch(call, object);
        const key = keyOfCall(noun, call);
        const isDry = call.given.dryRun === true;
        const data = { name: key.name, dryRun: isDry, ends: {} };
        if (isDry) return { data };
        await unlessDeleted(
          () => notFound(noun, key),
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
        ...(verb === 'suspend' && { needs: stop.needs, schema: stop.needs.length > 0 ? orGlance : schema }),
        async handle(tools, call) {
          const next = ({ labels, spec }: Written): Written => {
            const { [stop.field]: was, ...rest } = spec;
            if (verb === 'suspend') return { labels, spec: { ...rest, [stop.field]: stop.value } };
            return { labels, spec: was === stop.value ? rest : spec };
          };
          return changeTo(tools, call, next);
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
