import { DomainError, invalidInput, isDomainError, quote, type Problem } from '../../../core/errors.js';
import {
  type DashboardToken,
  tokenScopes,
  type TokenScope,
} from '../../../core/resources/dashboard-token.js';
import { validateName, validateResource } from '../../../core/resources/validate.js';
import { arrayOf, record } from '../../../core/schema/json-schema.js';
import { isObject } from '../../../core/schema/json-value.js';
import { given } from '../../../core/units/given.js';
import { parseInstant } from '../../../core/units/time.js';
import type { Principal } from '../auth.js';
import { newAuthToken } from '../auth-token.js';
import type { Tools } from '../deps.js';
import { endpoint, type Body } from '../endpoint.js';
import { textOrNull, timeOrNull } from '../ledger/schemas.js';
import { text } from '../record-schemas.js';
import { about, shapeOf } from '../shape.js';
import { unlessDeleted } from '../lookups.js';

/** As many as an Organisation lists. */
const mostTokens = 64;
const scopes = { type: 'array', items: { enum: tokenScopes }, minItems: 1 };
const name = about(text, 'Name of the object, e.g. on-call: lowercase letters, digits, "-" and ".".');

const tokenShape = shapeOf<DashboardToken>()({
  name: [name, 'on-call', ({ metadata }) => metadata.name],
  scopes: [scopes, ['read', 'stop'], ({ spec }) => spec.scopes],
  expiresAt: [
    timeOrNull,
    '2027-01-01T00:00:00.000Z',
    ({ spec: { expiresAt } }) => (expiresAt === undefined ? null : parseInstant(expiresAt)),
  ],
  createdBy: [textOrNull, 'ci', ({ spec }) => spec.createdBy],
});
const newShape = shapeOf<DashboardToken & { readonly token: string }>()({
  ...tokenShape.members,
  token: [about(text, 'A secret.'), 'pmo_l0pT8bq2cJ5Q3v0u9xqz1N7Zr4mYkW2e'],
});
const shared = { scope: 'organisation' } as const;

type NewToken = Pick<DashboardToken['spec'], 'name' | 'scopes' | 'expiresAt'>;

const body: Body<NewToken> = {
  schemas: [record({ name, scopes }, { expiresAt: { type: 'string', format: 'date-time' } })],
  example: { name: 'on-call', scopes: ['read', 'stop'], expiresAt: '2027-01-01T00:00:00Z' },
  parse(_tools, given) {
    if (!isObject(given))
      throw invalidInput({ field: 'body', expected: 'a JSON object', value: quote(given) });
    const { createdBy: _, sha256: __, ...spec } = given;
    // The hash is ours; everything else is judged as in a manifest.
    const problems: Problem[] = validateResource('DashboardToken', {
      metadata: { name: 'new', namespace: 'new' },
      spec: { ...spec, sha256: '0'.repeat(64) },
    }).map(({ field, ...rest }) => ({ field: field.replace(/^spec\./, ''), ...rest }));
    for (const name of ['createdBy', 'sha256'])
      if (Object.hasOwn(given, name)) problems.push({ field: name, expected: 'left out' });
    if (problems.length > 0) throw invalidInput(problems);
    return given as NewToken;
  },
};

export const tokenEndpoints = [
  endpoint({
    ...shared,
    operationId: 'listTokens',
    summary:
      'Tokens that were made by this API or by manifests; those that the platform grants are not among them',
    method: 'get',
    path: '/tokens',
    needs: ['read'],
    schema: record({ tokens: arrayOf(tokenShape.schema) }),
    example: { tokens: [tokenShape.example] },
    async handle({ resources }, { principal: { namespace } }) {
      const tokens = await resources.list('DashboardToken', { namespace });
      return { data: { tokens: tokens.map(tokenShape.render) } };
    },
  }),
  endpoint({
    ...shared,
    operationId: 'createToken',
    summary:
      'Make a token with scopes of the own one, which ends no later than that does. It is shown in this answer alone',
    method: 'post',
    path: '/tokens',
    needs: tokenScopes,
    status: 201,
    errors: {
      403: 'The token lacks a scope that it would give, or would end earlier.',
      409: 'The name is taken.',
    },
    body,
    schema: newShape.schema,
    example: newShape.example,
    async handle(tools, { principal, body: asked }) {
      requireWithin(asked, principal);
      const key = { namespace: principal.namespace, name: asked.name };
      const wrong = validateName('DashboardToken', key).map((problem) => ({ ...problem, field: 'name' }));
      if (wrong.length > 0) throw invalidInput(wrong);
      const { authToken, sha256 } = newAuthToken();
      const { tokenName } = principal;
      const expiresAt = asked.expiresAt ?? principal.expiresAt;
      const spec = {
        name: asked.name,
        scopes: asked.scopes,
        sha256,
        createdBy: tokenName,
        ...given({ expiresAt }),
      };
      const object = await tools.turns.run(`tokens of ${key.namespace}`, () => create(tools, key, spec));
      return { data: newShape.render({ ...object, token: authToken }) };
    },
  }),
  endpoint({
    ...shared,
    operationId: 'deleteToken',
    summary: 'Revoke a token: it is refused from the answer on',
    method: 'delete',
    path: '/tokens/:name',
    schema: tokenShape.schema,
    example: tokenShape.example,
    async handle(tools, { principal: { namespace }, params: { name = '' } }) {
      const key = { namespace, name };
      const isName = validateName('DashboardToken', key).length === 0;
      const object = isName ? await tools.resources.get('DashboardToken', key) : undefined;
      if (object === undefined) throw unknown(name);
      await unlessDeleted(
        () => unknown(name),
        () => tools.writes.remove('DashboardToken', key),
      );
      return { data: tokenShape.render(object) };
    },
  }),
];

/** Throws SCOPE_REQUIRED. */
function requireWithin({ scopes: asked, expiresAt }: NewToken, own: Principal): void {
  const lacks = own.scopes.includes('write')
    ? []
    : asked.filter((scope: TokenScope) => !own.scopes.includes(scope));
  if (lacks.length > 0)
    throw new DomainError(
      'SCOPE_REQUIRED',
      `The token cannot give the scope ${lacks.join(', ')}, which it lacks`,
    );
  if (own.expiresAt === undefined || expiresAt === undefined) return;
  if (!(Date.parse(expiresAt) <= Date.parse(own.expiresAt)))
    throw new DomainError(
      'SCOPE_REQUIRED',
      `The token ends at ${own.expiresAt}, so it cannot make one that ends later`,
    );
}

async function create(
  { resources, writes }: Tools,
  key: { readonly namespace: string; readonly name: string },
  spec: DashboardToken['spec'],
): Promise<DashboardToken> {
  const { length } = await resources.list('DashboardToken', { namespace: key.namespace });
  if (length >= mostTokens)
    throw new DomainError(
      'QUOTA_EXCEEDED',
      `The organisation may have ${mostTokens} tokens and has them all`,
    );
  try {
    return await writes.create('DashboardToken', key, spec, spec.createdBy ?? '');
  } catch (error) {
    throw isDomainError(error, 'ALREADY_EXISTS')
      ? new DomainError('OBJECT_EXISTS', `The token ${quote(key.name)} exists`)
      : error;
  }
}

function unknown(name: string): DomainError {
  return new DomainError('NOT_FOUND', `The organisation has no token ${quote(name)}`);
}
