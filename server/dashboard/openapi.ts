import type { LedgerEndpoint } from './ledger/endpoint.js';
import { ledgerPaths } from './ledger/openapi.js';
import type { StructuralSchema } from '../../core/schema/structural.js';
import type { Endpoint } from './endpoint.js';
import { prefix } from './endpoints.js';
import { examples } from './openapi-examples.js';
import { maxLimit, maxListBytes } from './lists.js';
import { dataSchemas, errorSchema } from './openapi-records.js';
import { arrayOf, record, reference, type JsonSchema } from '../../core/schema/json-schema.js';
import { deliveryPath, webhookCall } from './openapi-webhook.js';

/** The OpenAPI 3.1 document of the API, made from the same table and schemas that serve it. */
export function createOpenApi(
  endpoints: readonly Endpoint[],
  ledgerEndpoints: readonly LedgerEndpoint[],
): JsonSchema {
  const paths: Record<string, Record<string, JsonSchema>> = {};
  for (const endpoint of endpoints) {
    const template = endpoint.path.replace(/:(\w+)/g, '{$1}');
    paths[template] = { ...paths[template], [endpoint.method]: operation(endpoint) };
  }
  return {
    openapi: '3.1.0',
    info: {
      title: 'Paymaster dashboard API',
      version: 'v2',
      description:
        'Creates paymasters, registers the contracts whose methods they sponsor, and sets their rules. Of every path the first part may also end in `Parameters`: `/paymasterParameters` is `/paymaster`.',
    },
    servers: [{ url: prefix }],
    paths: {
      ...paths,
      ...ledgerPaths(ledgerEndpoints),
      '/api/v1/webhooks/{policyId}/deliveries': deliveryPath,
    },
    webhooks: webhookCall,
    components: {
      schemas: { Error: errorSchema },
      securitySchemes: {
        authToken: {
          type: 'apiKey',
          in: 'header',
          name: 'authToken',
          description: 'Token of the organisation.',
        },
        apiKey: { type: 'apiKey', in: 'header', name: 'apiKey', description: 'Key of one paymaster.' },
      },
    },
  };
}

function operation(endpoint: Endpoint): JsonSchema {
  const names = [...endpoint.path.matchAll(/:(\w+)/g)].map(([, name]) => name);
  return {
    operationId: endpoint.operationId,
    summary: endpoint.summary,
    security: [endpoint.scope === 'organisation' ? { authToken: [] } : { authToken: [], apiKey: [] }],
    ...((names.length > 0 || endpoint.isList) && {
      parameters: [
        ...names.map((name) => ({ name, in: 'path', required: true, schema: { type: 'string' } })),
        ...(endpoint.isList ? pageParameters : []),
      ],
    }),
    ...(endpoint.bodies && {
      requestBody: {
        required: true,
        content: json(anyOf(endpoint.bodies.map(published)), examples[endpoint.operationId]?.body),
      },
    }),
    responses: {
      200: {
        description: endpoint.message,
        ...(endpoint.method !== 'get' && { headers: { 'X-Programmed': programmedHeader } }),
        content: json(successSchema(endpoint), exampleOf(endpoint)),
      },
      ...Object.fromEntries(
        Object.entries(errorDescriptions).map(([status, description]) => [
          status,
          { description, content: json(reference('Error')) },
        ]),
      ),
    },
  };
}

const pageParameters = [
  {
    name: 'limit',
    in: 'query',
    description: `Records of a page, which may be shorter when they are large. Without limit and cursor: all of them, the oldest first, up to ${maxListBytes} bytes.`,
    schema: { type: 'integer', minimum: 1, maximum: maxLimit },
  },
  { name: 'cursor', in: 'query', description: '`cursor` of the page before.', schema: { type: 'string' } },
];

const cursorSchema: JsonSchema = {
  type: ['string', 'null'],
  description: 'For the next page, in pages only; null on the last one.',
};

const programmedHeader = {
  description:
    'true when the change is served already, false when the operator needs longer or has refused it.',
  schema: { type: 'string', enum: ['true', 'false'] },
};

const errorDescriptions = {
  400: 'A wrong field, a taken name or address, an unsupported chain or version, a wrong signature, a used-up quota, a list that is too long to be answered at once.',
  401: 'A missing or unacceptable header.',
  404: 'What the path, the body or a header names does not exist. For a contract, `statusCode` is 400.',
  409: 'Another manager, such as a manifest, owns a field that would change.',
  413: 'The body is larger than 1 MiB.',
  429: 'Too many requests; see Retry-After.',
  500: 'An error of the service.',
  503: 'A store is down or busy; see Retry-After.',
} as const;

const warningsSchema: JsonSchema = arrayOf(
  { type: 'string' },
  'Sentences for people: fields of the body that are not known and were ignored, with the one that was perhaps meant, and that an update restarted a cycle. Absent: none.',
);

function successSchema({ operationId, message, isList }: Endpoint): JsonSchema {
  const data = dataSchemas[operationId];
  return record(
    { statusCode: { const: 200 }, message: { const: message }, ...(data && { data }) },
    { warnings: warningsSchema, ...(isList && { cursor: cursorSchema }) },
  );
}

function exampleOf({ operationId, message }: Endpoint): object {
  const data = examples[operationId]?.data;
  return { statusCode: 200, message, ...(data === undefined ? {} : { data }) };
}

function json(schema: JsonSchema, example?: object): JsonSchema {
  return { 'application/json': { schema, ...(example === undefined ? {} : { example }) } };
}

function anyOf(schemas: readonly JsonSchema[]): JsonSchema {
  const [only, ...more] = schemas;
  return only !== undefined && more.length === 0 ? only : { anyOf: schemas };
}

/** The schema without the members that only our own messages and the API server read. */
function published(schema: StructuralSchema): JsonSchema {
  const { properties, items, ...rest } = schema;
  const standard = Object.fromEntries(Object.entries(rest).filter(([name]) => !isHint(name)));
  return {
    ...standard,
    ...(properties && {
      properties: Object.fromEntries(
        Object.entries(properties).map(([name, child]) => [name, published(child)]),
      ),
    }),
    ...(items && { items: published(items) }),
  };
}

function isHint(name: string): boolean {
  return name === 'expected' || name === 'confidential' || name === 'eip55' || name.startsWith('x-');
}
