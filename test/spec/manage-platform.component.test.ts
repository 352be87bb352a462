import { describe, expect, test } from '@jest/globals';
import { Ajv2020 } from 'ajv/dist/2020.js';
import { hashCredential } from '../../core/config/api-key.js';
import type { EpochSeconds } from '../../core/units/time.js';
import {
  documentEndpoints,
  manageEndpoints,
  managePrefix,
  platformEndpoints,
  prefix,
} from '../../server/dashboard/endpoints.js';
import { acmeToken, applyOrganisation, chainId, recordOf, recordsOf } from '../build/dashboard.js';
import { useDashboard } from '../support/use-dashboard.js';

// `/manage/v1/platform…`: a token of the platform reaches nothing else, and nobody else reaches it.

const platformToken = 'platform-token-0123456789';
const sha256 = hashCredential(platformToken);
const host = useDashboard({
  operator: true,
  programmedTimeoutMs: 60_000,
  platformTokens: { nameOf: (given) => Promise.resolve(given === sha256 ? 'night' : undefined) },
});

async function ask(path: string, token = platformToken, method = 'GET', body?: unknown) {
  const response = await host.fetch(path, {
    method,
    headers: { Authorization: `Bearer ${token}`, apiKey: 'x.0f8fad5b-d9cb-469f-a165-70867728950e' },
    ...(body !== undefined && { body: JSON.stringify(body) }),
  });
  const text = await response.text();
  return { status: response.status, body: recordOf(text === '' ? {} : JSON.parse(text)) };
}

const placeOf = (path: string): string => path.replace(/:\w+/g, 'acme');

describe.each(platformEndpoints)('$method $path', ({ path, method, schema, example }) => {
  const asked = `${managePrefix}${placeOf(path)}`;

  test('is read alone', () => expect([method, path.startsWith('/platform/')]).toEqual(['get', true]));

  test('answers nothing to any token of an organisation, or without one', async () => {
    const scopes = ['read', 'stop', 'finance', 'write'];
    const name = `all-${path.replace(/\W+/g, '-').toLowerCase()}end`;
    const made = await ask(`${managePrefix}/tokens`, acmeToken, 'POST', { name, scopes });
    const { token } = recordOf(made.body['data']);
    for (const each of [acmeToken, String(token), 'wrong', sha256])
      expect(await ask(asked, each)).toMatchObject({ status: 401, body: { code: 'CREDENTIALS_REQUIRED' } });
    expect((await host.fetch(asked)).status).toBe(401);
  });

  test('answers nothing where the platform has no tokens', async () => {
    const bare = await host.beside({ platformTokens: { nameOf: () => Promise.resolve(undefined) } });
    const headers = { Authorization: `Bearer ${platformToken}` };
    expect((await bare.fetch(asked, { headers })).status).toBe(401);
    await bare.stop();
  });

  test('is as its schema says', async () => {
    const ajv = new Ajv2020({ strict: false, allErrors: true, validateFormats: false });
    const isValid = ajv.compile(schema ?? false);
    expect(isValid(example) ? [] : isValid.errors).toEqual([]);
    const { status, body } = await ask(asked);
    // No ledger is kept here.
    if (status === 501) return;
    expect(status).toBe(200);
    expect(isValid(body['data']) ? [] : isValid.errors).toEqual([]);
  });
});

test.each([
  ...manageEndpoints.map((each) => ({ ...each, from: managePrefix })),
  ...documentEndpoints.map((each) => ({ ...each, from: prefix })),
])("the platform's token is nobody's at $method $path", async ({ method, path, from, body }) => {
  const answer = await ask(`${from}${placeOf(path)}`, platformToken, method.toUpperCase(), body?.example);
  // The document answers 400 or 404 to a wrong header of some.
  expect([400, 401, 404]).toContain(answer.status);
  expect(answer.body['data']).toBeUndefined();
  if (from === managePrefix) expect(answer).toMatchObject({ status: 401 });
});

test('the platform sees every organisation, its paymasters in numbers, and its problems', async () => {
  const spec = { name: 'lost', chainId: 77, type: 'HYBRID', version: '1.1.0' } as const;
  const key = { namespace: 'acme', name: 'lost' };
  await host.resources.apply({
    manager: 'argocd',
    kind: 'Paymaster',
    key,
    spec: { ...spec, suspended: true },
  });
  const lost = ({ name, reason }: Readonly<Record<string, unknown>>) =>
    name === 'lost' && reason === 'ChainNotFound';
  const read = async (path: string, token: string) => {
    const { body } = await ask(`${managePrefix}${path}`, token);
    return recordsOf(recordOf(body['data'])['items']).find(lost);
  };
  const problem = await (async () => {
    for (;;) {
      const found = await read('/platform/organisations/acme/problems', platformToken);
      if (found !== undefined) return found;
    }
  })();
  expect(problem).toMatchObject({ noun: 'paymasters', remedy: expect.any(String), isCurrent: true });
  // As the organisation sees it.
  expect(await read('/problems', acmeToken)).toEqual(problem);

  const pages: object[] = [];
  for (let query = 'limit=1'; query !== '';) {
    const { status, body } = await ask(`${managePrefix}/platform/organisations?${query}`);
    expect(status).toBe(200);
    const { items, nextCursor } = recordOf(body['data']);
    pages.push(...recordsOf(items));
    query = typeof nextCursor === 'string' ? `limit=1&cursor=${encodeURIComponent(nextCursor)}` : '';
  }
  expect(pages).toMatchObject([
    { name: 'acme', tokens: 1, chains: null, paymasters: { total: 1, ready: 0, suspended: 1 } },
    { name: 'other', paymasters: { total: 0, ready: 0, suspended: 0 } },
  ]);
  expect(JSON.stringify(pages)).not.toContain(hashCredential(acmeToken));
  const nobody = await ask(`${managePrefix}/platform/organisations/nobody/problems`);
  expect(nobody).toMatchObject({ status: 404 });
});

test('the platform sees chains as far as they are settled', async () => {
  const read = async () =>
    recordsOf(recordOf((await ask(`${managePrefix}/platform/chains`)).body['data'])['items']);
  expect(await read()).toMatchObject([{ chainId, name: 'dev', settledBlock: null, lagSeconds: null }]);
  const timestamp = (Math.floor(host.clock.now() / 1000) - 90) as EpochSeconds;
  await host.usage.advance({
    chainId,
    expected: undefined,
    next: { blockNumber: 7, blockHash: `0x${'ab'.repeat(32)}`, timestamp },
    settled: [],
    released: [],
    forfeited: [],
    charges: [],
    restored: [],
    balances: [],
  });
  const [chain] = await read();
  expect(chain).toMatchObject({ settledBlock: 7, settledBlockAt: expect.any(String) });
  expect(chain?.['lagSeconds']).toBeGreaterThanOrEqual(90);
});

test('an organisation whose namespace cannot be read hides no other one', async () => {
  await applyOrganisation(host.resources, 'zoo', { namespace: 'no-such-namespace' });
  const { status, body } = await ask(`${managePrefix}/platform/organisations`);
  expect(status).toBe(200);
  expect(recordsOf(recordOf(body['data'])['items']).map(({ name }) => name)).toEqual([
    'acme',
    'other',
    'zoo',
  ]);
});
