import { record, reference, type JsonSchema } from '../../../core/schema/json-schema.js';
import { ledgerPrefix } from './endpoints.js';
import type { LedgerEndpoint } from './endpoint.js';

/** Paths of the OpenAPI document. */
export function ledgerPaths(endpoints: readonly LedgerEndpoint[]): Readonly<Record<string, JsonSchema>> {
  return Object.fromEntries(
    endpoints.map((endpoint) => [
      `${ledgerPrefix}${endpoint.path.replace(/:(\w+)/g, '{$1}')}`,
      { servers: [{ url: '/' }], get: operation(endpoint) },
    ]),
  );
}

function operation({ operationId, summary, path, parameters, schema, example }: LedgerEndpoint): JsonSchema {
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
    responses: {
      200: {
        description: 'About the organisation of the token alone.',
        headers: { ETag: { schema: { type: 'string' }, description: 'For If-None-Match. JSON only.' } },
        content: {
          'application/json': { schema: record({ data: schema }), example: { data: example } },
          'text/csv': { schema: { type: 'string', description: 'RFC 4180 with a header line.' } },
        },
      },
      304: { description: 'As before, see If-None-Match.' },
      ...Object.fromEntries(
        Object.entries(errors).map(([status, description]) => [
          status,
          { description, content: { 'application/json': { schema: reference('Error') } } },
        ]),
      ),
    },
  };
}

const errors = {
  400: 'A parameter that is unknown, repeated or wrong, an empty or too long range, too many rows.',
  401: 'A missing or unacceptable authToken.',
  404: 'The organisation has no such decision or paymaster.',
  429: 'Too many requests; see Retry-After.',
  500: 'An error of the service.',
  501: 'No ledger is kept here; the message says what to set.',
  503: 'A store is down or busy; see Retry-After.',
} as const;
