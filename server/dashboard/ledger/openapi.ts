import { record, reference, type JsonSchema } from '../../../core/schema/json-schema.js';
import { ledgerPrefix } from './endpoints.js';
import type { LedgerEndpoint } from './endpoint.js';

/** Paths of the OpenAPI document. */
export function ledgerPaths(endpoints: readonly LedgerEndpoint[]): Readonly<Record<string, JsonSchema>> {
  const byPath = Map.groupBy(endpoints, ({ path }) => `${ledgerPrefix}${path.replace(/:(\w+)/g, '{$1}')}`);
  return Object.fromEntries(
    [...byPath].map(([path, ofPath]) => [
      path,
      {
        servers: [{ url: '/' }],
        ...Object.fromEntries(ofPath.map((endpoint) => [endpoint.method ?? 'get', operation(endpoint)])),
      },
    ]),
  );
}

function operation(endpoint: LedgerEndpoint): JsonSchema {
  const {
    operationId,
    summary,
    path,
    parameters,
    schema,
    example,
    method = 'get',
    status = 200,
    body,
  } = endpoint;
  const inPath = [...path.matchAll(/:(\w+)/g)].map(([, name]) => ({
    name,
    in: 'path',
    required: true,
    schema: { type: 'string', format: 'uuid' },
  }));
  const inQuery = Object.entries(parameters).map(([name, parameter]) => ({
    name,
    in: 'query',
    required: false,
    schema: parameter.schema,
    description: parameter.description,
  }));
  return {
    operationId,
    summary,
    security: [{ authToken: [] }],
    parameters: [...inPath, ...inQuery],
    ...(body === undefined
      ? {}
      : {
          requestBody: {
            required: true,
            content: { 'application/json': { schema: body.schema, example: body.example } },
          },
        }),
    responses: {
      [status]: {
        description: 'About the organisation of the token alone.',
        headers: { ETag: { schema: { type: 'string' }, description: 'For If-None-Match. JSON only.' } },
        content: {
          'application/json': { schema: record({ data: schema }), example: { data: example } },
          ...otherForms[endpoint.form ?? 'table'],
        },
      },
      ...(method === 'get' ? { 304: { description: 'As before, see If-None-Match.' } } : {}),
      ...Object.fromEntries(
        Object.entries({ ...errors, ...endpoint.errors }).map(([code, description]) => [
          code,
          { description, content: { 'application/json': { schema: reference('Error') } } },
        ]),
      ),
    },
  };
}

const otherForms = {
  table: { 'text/csv': { schema: { type: 'string', description: 'RFC 4180 with a header line.' } } },
  lines: {
    'application/x-ndjson': {
      schema: {
        type: 'string',
        description: 'A line about every second, each as the JSON answer, until it has ended.',
      },
    },
  },
  none: {},
} as const;

const errors = {
  400: 'A parameter that is unknown, repeated or wrong, an empty or too long range, too many rows.',
  401: 'A missing or unacceptable authToken.',
  404: 'The organisation has no such decision, paymaster or replay.',
  429: 'Too many requests; see Retry-After.',
  500: 'An error of the service.',
  501: 'No ledger is kept here; the message says what to set.',
  503: 'A store is down or busy; see Retry-After.',
} as const;
