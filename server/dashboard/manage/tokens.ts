import { DomainError, isDomainError, quote } from '../../../core/errors.js';
import type { ObjectKey } from '../../../core/meta/meta.js';
import { type DashboardToken, tokenScopes } from '../../../core/resources/dashboard-token.js';
import { arrayOf, record } from '../../../core/schema/json-schema.js';
import { given } from '../../../core/units/given.js';
import { parseInstant, type EpochMs } from '../../../core/units/time.js';
import { requireObject } from '../../http/json.js';
import { newAuthToken } from '../auth-token.js';
import type { Principal } from '../auth.js';
import type { Tools } from '../deps.js';
import { endpoint, type Body } from '../endpoint.js';
import { textOrNull, timeOrNull } from '../ledger/schemas.js';
import { unlessDeleted } from '../lookups.js';
import { boolean } from '../parameters.js';
import { text } from '../record-schemas.js';
import { about, shapeOf, showsList, showsOne, wholeList } from '../shape.js';
import { listBelow, gatherFamily, listLine, maxBelow, type TokenFamily } from '../token-family.js';
import { requireKey, requireAsInManifest } from './object-changes.js';

/** As many as an Organisation lists. */
const maxTokens = 64;
/** Members of the spec that are ours: nobody asks for them. */
const ours: readonly string[] = ['createdBy', 'sha256', 'parent'];
const scopes = { type: 'array', items: { enum: tokenScopes }, minItems: 1 };
const name = about(text, 'Name of the object, e.g. on-call: lowercase letters, digits, "-" and ".".');

/** A token, and the name of the one that it ends with. */
type Listed = DashboardToken & { readonly above: string | undefined };

const tokenShape = shapeOf<Listed>()({
  name: [name, 'on-call', ({ metadata }) => metadata.name],
  scopes: [scopes, ['read', 'stop'], ({ spec }) => spec.scopes],
  expiresAt: [
    timeOrNull,
    '2027-01-01T00:00:00.000Z',
    ({ spec: { expiresAt } }) => (expiresAt === undefined ? null : parseInstant(expiresAt)),
  ],
  createdBy: [textOrNull, 'ci', ({ spec }) => spec.createdBy],
  endsWith: [
    about(textOrNull, 'The token with which it ends. Null: none, or one that is gone.'),
    'ci',
    ({ above }) => above,
  ],
});
const newShape = shapeOf<Listed & { readonly token: string }>()({
  ...tokenShape.members,
  token: [about(text, 'A secret.'), 'pmo_l0pT8bq2cJ5Q3v0u9xqz1N7Zr4mYkW2e'],
});
const seenShape = shapeOf<Listed & { readonly lastUsed: EpochMs | undefined }>()({
  ...tokenShape.members,
  lastUsedAt: [
    about(timeOrNull, 'To the hour. Null: not in the last 400 days.'),
    '2026-06-01T12:00:00.000Z',
    ({ lastUsed }) => lastUsed,
  ],
});
const endedShape = shapeOf<Listed & { readonly dryRun: boolean; readonly ends: readonly string[] }>()({
  ...tokenShape.members,
  dryRun: [{ type: 'boolean' }, false],
  ends: [arrayOf(text, 'Names of the tokens that end with it.'), ['night']],
});
const shared = { scope: 'organisation' } as const;

type NewToken = Pick<DashboardToken['spec'], 'name' | 'scopes' | 'expiresAt'>;

const body: Body<NewToken> = {
  schemas: [record({ name, scopes }, { expiresAt: { type: 'string', format: 'date-time' } })],
  example: { name: 'on-call', scopes: ['read', 'stop'], expiresAt: '2027-01-01T00:00:00Z' },
  parse(_tools, body) {
    const given = requireObject(body);
    const spec = Object.fromEntries(Object.entries(given).filter(([name]) => !ours.includes(name)));
    requireAsInManifest('DashboardToken', { ...spec, sha256: '0'.repeat(64) }, /^spec\./, given, ours);
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
    ...showsList(seenShape),
    async handle({ resources, tokenUse }, { principal: { namespace } }) {
      const { tokens, family } = await familyIn(resources, namespace);
      const used = await tokenUse.last(tokens.map(({ spec }) => spec.sha256));
      const shown = tokens.map((token) =>
        seenShape.render({ ...listed(token, family), lastUsed: used.get(token.spec.sha256) }),
      );
      return { data: wholeList(shown) };
    },
  }),
  endpoint({
    ...shared,
    operationId: 'createToken',
    isSecret: true,
    summary: 'Make a token that ends with the own one, and no later. It is shown in this answer alone',
    method: 'post',
    path: '/tokens',
    status: 201,
    errors: {
      403: 'The token would end later than the own one.',
      409: 'The name is taken.',
    },
    body,
    ...showsOne(newShape),
    async handle(tools, call) {
      const { principal, body: asked } = call;
      requireWithin(asked, principal);
      const key = requireKey({ kind: 'DashboardToken' }, call, asked.name);
      const { authToken, sha256 } = newAuthToken();
      const { tokenName, token: parent } = principal;
      const expiresAt = asked.expiresAt ?? principal.expiresAt;
      const spec = {
        name: asked.name,
        scopes: asked.scopes,
        sha256,
        createdBy: tokenName,
        parent,
        ...given({ expiresAt }),
      };
      const object = await tools.turns.run(`tokens of ${principal.namespace}`, () =>
        create(tools, key, spec, principal),
      );
      return { data: newShape.render({ ...object, above: tokenName, token: authToken }) };
    },
  }),
  endpoint({
    ...shared,
    operationId: 'adoptToken',
    summary:
      'Let a token end with the own one instead of the one that made it, before that is removed; those below it come with it',
    method: 'post',
    path: '/tokens/:name/adopt',
    errors: {
      403: 'It would end later than the own token.',
      409: 'It ends with no other token, or the own token ends with it.',
    },
    ...showsOne(tokenShape),
    handle: (tools, { principal, params: { name = '' } }) =>
      tools.turns.run(`tokens of ${principal.namespace}`, async () => {
        const { namespace } = principal;
        const { tokens, family } = await familyIn(tools.resources, namespace);
        const token = called(name, tokens);
        requireAdoptable(token.spec, family, principal);
        const adopted = await tools.writes.change('DashboardToken', { namespace, name }, (_, owned) => ({
          ...owned,
          parent: principal.token,
        }));
        return { data: tokenShape.render({ ...adopted, above: principal.tokenName }) };
      }),
  }),
  endpoint({
    ...shared,
    operationId: 'deleteToken',
    summary: 'Revoke a token and all that end with it: they are refused from the answer on',
    method: 'delete',
    path: '/tokens/:name',
    parameters: { dryRun: boolean('True: nothing is revoked; `ends` says what would end with it.') },
    ...showsOne(endedShape),
    async handle(tools, { principal: { namespace }, params: { name = '' }, given: { dryRun = false } }) {
      const key = { namespace, name };
      const { tokens, family } = await familyIn(tools.resources, namespace);
      const object = called(name, tokens);
      const ends = listBelow(object.spec, family).map((each) => each.name);
      const data = endedShape.render({ ...listed(object, family), dryRun, ends });
      if (dryRun) return { data };
      await unlessDeleted(
        () => unknown(name),
        () => tools.writes.remove('DashboardToken', key),
      );
      await tools.endedTokens.remove(namespace);
      return { data };
    },
  }),
];

async function familyIn(
  resources: Tools['resources'],
  namespace: string,
): Promise<{ readonly tokens: readonly DashboardToken[]; readonly family: TokenFamily }> {
  const tokens = await resources.list('DashboardToken', { namespace });
  const organisations = await resources.list('Organisation', { fields: { 'spec.namespace': namespace } });
  return { tokens, family: gatherFamily(organisations, tokens) };
}

function listed(token: DashboardToken, family: TokenFamily): Listed {
  const { parent } = token.spec;
  return { ...token, above: parent && family.get(parent.sha256)?.name };
}

/** Throws SCOPE_REQUIRED. */
function requireWithin({ expiresAt }: Pick<NewToken, 'expiresAt'>, own: Principal): void {
  if (own.expiresAt === undefined || expiresAt === undefined) return;
  if (!(Date.parse(expiresAt) <= Date.parse(own.expiresAt)))
    throw new DomainError(
      'SCOPE_REQUIRED',
      `The token ends at ${own.expiresAt}, so none that ends with it can end later`,
      { problems: [{ field: 'expiresAt', expected: `at most ${own.expiresAt}`, value: expiresAt }] },
    );
}

/** Throws QUOTA_EXCEEDED where more tokens would end with the own one, or with one above it. */
function requireRoom(family: TokenFamily, { token: { sha256 } }: Principal, coming: readonly string[]): void {
  const own = family.get(sha256);
  for (const each of own === undefined ? [] : listLine(own, family)) {
    const below = new Set([...listBelow(each, family).map((token) => token.sha256), ...coming]);
    if (below.size > maxBelow)
      throw new DomainError(
        'QUOTA_EXCEEDED',
        `With the token ${quote(each.name)} end as many as may: ${maxBelow}`,
      );
  }
}

/** Throws TOKEN_NOT_ADOPTABLE, SCOPE_REQUIRED, QUOTA_EXCEEDED. */
function requireAdoptable(
  { name, sha256, parent, expiresAt }: DashboardToken['spec'],
  family: TokenFamily,
  principal: Principal,
): void {
  const own = family.get(principal.token.sha256);
  // Else a thief of one token could make all of the owner's end with it.
  if (parent === undefined)
    throw new DomainError('TOKEN_NOT_ADOPTABLE', `The token ${quote(name)} ends with no other token`);
  if (own === undefined || listLine(own, family).some((each) => each.sha256 === sha256))
    throw new DomainError('TOKEN_NOT_ADOPTABLE', `The own token ends with the token ${quote(name)}`);
  requireWithin({ ...given({ expiresAt }) }, principal);
  if (principal.expiresAt !== undefined && expiresAt === undefined)
    throw new DomainError(
      'SCOPE_REQUIRED',
      `The own token ends at ${principal.expiresAt}, and the token ${quote(name)} has no end`,
    );
  const coming = [sha256, ...listBelow({ sha256 }, family).map((each) => each.sha256)];
  requireRoom(family, principal, coming);
}

async function create(
  { resources, writes }: Tools,
  key: ObjectKey,
  spec: DashboardToken['spec'],
  principal: Principal,
): Promise<DashboardToken> {
  const { tokens, family } = await familyIn(resources, principal.namespace);
  requireRoom(family, principal, [spec.sha256]);
  if (tokens.length >= maxTokens)
    throw new DomainError('QUOTA_EXCEEDED', `The organisation may have ${maxTokens} tokens and has them all`);
  try {
    return await writes.create('DashboardToken', key, spec, spec.createdBy ?? '');
  } catch (error) {
    throw isDomainError(error, 'ALREADY_EXISTS')
      ? new DomainError('OBJECT_EXISTS', `The token ${quote(key.name)} exists`, {
          problems: [{ field: 'name', expected: 'a name that is free', value: quote(key.name) }],
        })
      : error;
  }
}

/** Throws NOT_FOUND. */
function called(name: string, tokens: readonly DashboardToken[]): DashboardToken {
  const token = tokens.find(({ metadata }) => metadata.name === name);
  if (token === undefined) throw unknown(name);
  return token;
}

function unknown(name: string): DomainError {
  return new DomainError('NOT_FOUND', `The organisation has no token ${quote(name)}`);
}
