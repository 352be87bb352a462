import { describe, expect, test } from '@jest/globals';
import { Ajv2020 } from 'ajv/dist/2020.js';
import { hashCredential } from '../../core/config/api-key.js';
import { manageEndpoints, managePrefix } from '../../server/dashboard/endpoints.js';
import { acmeToken, applyOrganisation, recordOf } from '../build/dashboard.js';
import { useDashboard } from '../support/use-dashboard.js';

// What holds for every endpoint of the management API: a new row is attacked by itself.

const host = useDashboard();

type Asked = { readonly status: number; readonly type: string | null; readonly body: unknown };

async function ask(
  method: string,
  path: string,
  headers: Readonly<Record<string, string>>,
  body?: unknown,
): Promise<Asked> {
  const response = await host.fetch(`${managePrefix}${path}`, {
    method: method.toUpperCase(),
    headers,
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
  const text = await response.text();
  return {
    status: response.status,
    type: response.headers.get('content-type'),
    body: text === '' ? undefined : (JSON.parse(text) as unknown),
  };
}

const rows = manageEndpoints.map((row) => ({
  ...row,
  asked: row.path.replace(/:\w+/g, '0f8fad5b-d9cb-569f-a165-70867728950e'),
}));

describe.each(rows)('$method $path', ({ method, asked, body, schema, example }) => {
  test('answers nothing without a token, and nothing to a wrong one', async () => {
    for (const headers of [{}, { authToken: 'wrong' }, { Authorization: 'Bearer wrong' }]) {
      const answer = await ask(method, asked, headers as Record<string, string>, body?.example);
      expect(answer).toMatchObject({
        status: 401,
        type: expect.stringContaining('application/problem+json'),
        body: { status: 401, code: 'CREDENTIALS_REQUIRED', detail: expect.stringMatching(/token/) },
      });
    }
  });

  test('has examples that are as its schemas say', () => {
    const ajv = new Ajv2020({ strict: false, allErrors: true, validateFormats: false });
    const isValid = ajv.compile(schema ?? false);
    expect(isValid(example) ? [] : isValid.errors).toEqual([]);
    if (body === undefined) return;
    const isBody = ajv.compile(body.schemas.length === 1 ? body.schemas[0]! : { anyOf: body.schemas });
    expect(isBody(body.example) ? [] : isBody.errors).toEqual([]);
  });
});

test('no two rows have one name or one place', () => {
  for (const of of [
    rows.map(({ operationId }) => operationId),
    rows.map(({ method, path }) => `${method} ${path}`),
  ])
    expect(of).toEqual([...new Set(of)]);
});

describe('me', () => {
  test('says whose the token is, in either header', async () => {
    const known = {
      status: 200,
      body: {
        data: {
          organisation: { name: 'acme', namespace: 'acme', organisationId: expect.any(String) },
          token: { name: 'acme-ci', scopes: ['read', 'stop', 'finance', 'write'], expiresAt: null },
        },
      },
    };
    expect(await ask('get', '/me', { authToken: acmeToken })).toMatchObject(known);
    expect(await ask('get', '/me', { Authorization: `Bearer ${acmeToken}` })).toMatchObject(known);
    expect(await ask('get', '/me', { Authorization: `bearer ${acmeToken}` })).toMatchObject(known);
  });

  test.each(['Basic', 'Bearer', `Bearer${acmeToken}`, `Token ${acmeToken}`, `Bearer ${acmeToken} x`])(
    'takes no %s',
    async (Authorization) => {
      expect(await ask('get', '/me', { Authorization })).toMatchObject({ status: 401 });
    },
  );

  test('says until when', async () => {
    const expiresAt = new Date(host.clock.now() + 60_000).toISOString();
    await applyOrganisation(host.resources, 'short', {
      namespace: 'short',
      tokens: [{ name: 'short', sha256: hashCredential('short-token-0123456789'), expiresAt }],
    });
    const { body } = await ask('get', '/me', { authToken: 'short-token-0123456789' });
    expect(recordOf(recordOf(body)['data'])).toMatchObject({ token: { name: 'short', expiresAt } });
    host.clock.advance(60_001);
    expect(await ask('get', '/me', { authToken: 'short-token-0123456789' })).toMatchObject({ status: 401 });
  });
});
