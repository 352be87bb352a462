import { arrayOf, record, reference, type JsonSchema } from '../../core/schema/json-schema.js';
import type { Endpoint } from './endpoint.js';
import { documentEndpoints, manageEndpoints, managePrefix, platformEndpoints, prefix } from './endpoints.js';
import { isDoneOnce } from './idempotency.js';
import { deliveryPath, webhookCall } from './openapi-webhook.js';

/** The OpenAPI 3.1 document of the API, made from the rows that serve it. */
export function createOpenApi(): JsonSchema {
  return {
    openapi: '3.1.0',
    info: {
      title: 'Paymaster dashboard API',
      version: 'v2',
      license: { name: 'Apache-2.0', identifier: 'Apache-2.0' },
      description:
        'Creates paymasters, registers the contracts whose methods they sponsor, and sets their rules. Of every path the first part may also end in `Parameters`: `/paymasterParameters` is `/paymaster`.',
    },
    servers: [{ url: prefix }],
    paths: {
      ...renderPaths(documentEndpoints, ''),
      ...renderPaths([...manageEndpoints, ...platformEndpoints], managePrefix, { servers: [{ url: '/' }] }),
      '/api/v1/webhooks/{policyId}/deliveries': deliveryPath,
    },
    webhooks: webhookCall,
    components: {
      schemas: { Error: errorSchema, Problem: problemSchema },
      securitySchemes: {
        authToken: {
          type: 'apiKey',
          in: 'header',
          name: 'authToken',
          description: 'Token of the organisation.',
        },
        bearer: {
          type: 'http',
          scheme: 'bearer',
          description: 'The same token, below `/manage/v1` and here.',
        },
        apiKey: { type: 'apiKey', in: 'header', name: 'apiKey', description: 'Key of one paymaster.' },
      },
    },
  };
}

function renderPaths(endpoints: readonly Endpoint[], from: string, item: JsonSchema = {}): JsonSchema {
  const byPath = Map.groupBy(endpoints, ({ path }) => `${from}${path.replace(/:(\w+)/g, '{$1}')}`);
  return Object.fromEntries(
    [...byPath].map(([path, ofPath]) => [
      path,
      { ...item, ...Object.fromEntries(ofPath.map((each) => [each.method, operation(each)])) },
    ]),
  );
}

const aboutWhat = {
  organisation: 'About the organisation of the token alone.',
  paymaster: 'About the paymaster of the key alone.',
  platform: 'About all organisations: only tokens of the platform are taken.',
} as const satisfies Record<Endpoint['scope'], string>;

function operation(endpoint: Endpoint): JsonSchema {
  const { operationId, summary, method, message, status = 200, body } = endpoint;
  const parameters = renderParameters(endpoint);
  const isOfDocument = message !== undefined;
  return {
    operationId,
    summary,
    security: renderSecurity(endpoint),
    ...(parameters.length > 0 && { parameters }),
    ...(body && {
      requestBody: { required: body.isOptional !== true, content: json(anyOf(body.schemas), body.example) },
    }),
    responses: {
      [status]: {
        description: message ?? aboutWhat[endpoint.scope],
        ...(isOfDocument
          ? method !== 'get' && { headers: { 'X-Programmed': programmedHeader } }
          : { headers: { ETag: etagHeader } }),
        content: {
          ...(isOfDocument
            ? json(envelopeSchema(endpoint), envelopeExample(endpoint))
            : renderData(endpoint)),
          ...(endpoint.form && otherForms[endpoint.form]),
        },
      },
      ...(!isOfDocument && method === 'get' && { 304: { description: 'As before, see If-None-Match.' } }),
      ...Object.fromEntries(
        Object.entries({
          ...(isOfDocument ? documentErrors : manageErrors),
          ...(isDoneOnce(endpoint) && onceErrors),
          ...endpoint.errors,
        }).map(([code, description]) => [
          code,
          { description, content: isOfDocument ? json(reference('Error')) : problem },
        ]),
      ),
    },
  };
}

function renderParameters(endpoint: Endpoint): readonly object[] {
  const { path, message, parameters = {} } = endpoint;
  const inPath = [...path.matchAll(/:(\w+)/g)].map(([, name]) => ({
    name,
    in: 'path',
    required: true,
    schema: { type: 'string', ...(name === 'id' && message === undefined && { format: 'uuid' }) },
  }));
  const inQuery = Object.entries(parameters).map(([name, { schema, description }]) => ({
    name,
    in: 'query',
    required: false,
    schema,
    description,
  }));
  return [...inPath, ...inQuery, ...(isDoneOnce(endpoint) ? [idempotencyKey] : [])];
}

const idempotencyKey = {
  name: 'Idempotency-Key',
  in: 'header',
  required: false,
  schema: { type: 'string', maxLength: 255 },
  description:
    'Chosen by the client for this request: within 24 hours the same request with the same key is done once, and answered as the first time. Where the answer held a secret or is larger than 16 KiB, the second one is answered 409.',
};

/** Roles are the scopes of which a token needs one. */
function renderSecurity({ scope, message, needs = [] }: Endpoint): readonly object[] {
  if (message !== undefined) return [{ authToken: [], ...(scope === 'paymaster' && { apiKey: [] }) }];
  const roles = scope === 'platform' ? ['platform'] : [...new Set([...needs, 'write'])];
  return [{ bearer: roles }, { authToken: roles }];
}

const cursorSchema: JsonSchema = {
  type: ['string', 'null'],
  description: 'For the next page, in pages only; null on the last one.',
};

const programmedHeader = {
  description:
    'true when the change is compiled and stored, from where replicas follow within a second; false when the operator needs longer or has refused it.',
  schema: { type: 'string', enum: ['true', 'false'] },
};

const etagHeader = { schema: { type: 'string' }, description: 'For If-None-Match. JSON only.' };

const documentErrors = {
  400: 'A wrong field, a taken name or address, an unsupported chain or version, a wrong signature, a used-up quota, a list that is too long to be answered at once.',
  401: 'A missing or unacceptable header.',
  404: 'What the path, the body or a header names does not exist. For a contract, `statusCode` is 400.',
  409: 'Another manager, such as a manifest, owns a field that would change.',
  413: 'The body is larger than 1 MiB.',
  429: 'Too many requests; see Retry-After.',
  500: 'An error of the service.',
  503: 'A store is down or busy; see Retry-After.',
} as const;

const manageErrors = {
  400: 'A parameter that is unknown, repeated or wrong, an empty or too long range, too many rows.',
  401: 'A missing or unacceptable token.',
  403: 'The token lacks the scope.',
  404: 'The organisation has no such decision or paymaster.',
  429: 'Too many requests; see Retry-After.',
  500: 'An error of the service.',
  501: 'No ledger is kept here; the message says what to set.',
  503: 'A store is down or busy; see Retry-After.',
} as const;

const onceErrors = {
  409: 'With an Idempotency-Key: it was done, and its answer is not kept; or it is being done.',
  422: 'The Idempotency-Key was sent with another request.',
} as const;

const otherForms = {
  table: { 'text/csv': { schema: { type: 'string', description: 'RFC 4180 with a header line.' } } },
} as const;

const errorSchema: JsonSchema = record({
  statusCode: { type: 'integer', description: 'The HTTP status, except 400 where a contract is not found.' },
  message: { type: 'string' },
});

const problemSchema: JsonSchema = record(
  {
    title: { type: 'string' },
    status: { type: 'integer' },
    detail: { type: 'string', description: 'What is wrong with this request.' },
    code: { type: 'string', description: 'Of the table in docs/errors.md.' },
  },
  {
    manifest: {
      type: 'string',
      description: 'With code FIELD_OWNED: YAML to commit where the owner of a field keeps its manifests.',
    },
    errors: arrayOf(
      record({ field: { type: 'string' }, mustBe: { type: 'string' } }, { value: { type: 'string' } }),
      'What is wrong, by field.',
    ),
  },
);

const problem = { 'application/problem+json': { schema: reference('Problem') } };

const warningsSchema: JsonSchema = arrayOf(
  { type: 'string' },
  'Sentences for people: fields of the body that are not known and were ignored, with the one that was perhaps meant, and that an update restarted a cycle. Absent: none.',
);

function envelopeSchema({ message, schema, cost }: Endpoint): JsonSchema {
  return record(
    { statusCode: { const: 200 }, message: { const: message }, ...(schema && { data: schema }) },
    { warnings: warningsSchema, ...(cost === 'list' && { cursor: cursorSchema }) },
  );
}

function envelopeExample({ message, example }: Endpoint): object {
  return { statusCode: 200, message, ...(example === undefined ? {} : { data: example }) };
}

function renderData({ schema = {}, example, parameters = {} }: Endpoint): JsonSchema {
  const warnings = arrayOf({ type: 'string' }, 'What else the change does, for people. Absent: nothing.');
  const changes = 'dryRun' in parameters ? { warnings } : {};
  return json(record({ data: schema }, changes), { data: example });
}

function json(schema: JsonSchema, example?: object): JsonSchema {
  return { 'application/json': { schema, ...(example === undefined ? {} : { example }) } };
}

function anyOf(schemas: readonly JsonSchema[]): JsonSchema {
  const [only, ...more] = schemas;
  return only !== undefined && more.length === 0 ? only : { anyOf: schemas };
}
