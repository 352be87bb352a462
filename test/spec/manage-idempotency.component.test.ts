import { expect, test } from '@jest/globals';
import { DomainError } from '../../core/errors.js';
import { managePrefix } from '../../server/dashboard/endpoints.js';
import { acmeToken, chainId, otherToken, recordOf } from '../build/dashboard.js';
import { useDashboard } from '../support/use-dashboard.js';

// A POST with an Idempotency-Key is done once by all replicas together, and answered as the first time.

const host = useDashboard();
const hour = 3_600_000;

type Options = {
  readonly key?: string;
  readonly token?: string;
  readonly origin?: string;
  readonly ifMatch?: string;
};
async function post(path: string, body: unknown, options: Options = {}) {
  const { key, token = acmeToken, origin = host.origin, ifMatch } = options;
  const response = await fetch(`${origin}${managePrefix}${path}`, {
    method: 'POST',
    headers: {
      Authorization: `Bearer ${token}`,
      'Content-Type': 'application/json',
      ...(key !== undefined && { 'Idempotency-Key': key }),
      ...(ifMatch !== undefined && { 'If-Match': ifMatch }),
    },
    body: JSON.stringify(body),
  });
  const { status, headers } = response;
  return {
    status,
    etag: headers.get('etag'),
    programmed: headers.get('x-programmed'),
    body: recordOf(JSON.parse(await response.text())),
  };
}

const paymaster = (name: string) => ({ name, spec: { name, chainId, type: 'HYBRID', version: '1.1.0' } });
const refusedAs = (status: number, code: string) => ({ status, body: { code } });

test('the second request gets the answer of the first, and nothing is done again', async () => {
  const first = await post('/paymasters', paymaster('once'), { key: 'k1' });
  expect(first.status).toBe(201);
  // On another replica.
  expect(await post('/paymasters', paymaster('once'), { key: 'k1' })).toEqual(first);
  expect(await post('/paymasters', paymaster('once'))).toMatchObject(refusedAs(409, 'OBJECT_EXISTS'));
  await post('/paymasters/once/suspend', {}, { key: 'stop' });
  await post('/paymasters/once/resume', {});
  expect(await post('/paymasters/once/suspend', {}, { key: 'stop' })).toMatchObject({ status: 200 });
  const stored = await host.resources.get('Paymaster', { namespace: 'acme', name: 'once' });
  expect(stored?.spec.suspended).toBeUndefined();
});

test.each([
  { name: 'body', path: '/paymasters', body: paymaster('other'), options: {} },
  { name: 'path', path: '/paymasters/same-path/suspend', body: paymaster('same-path'), options: {} },
  { name: 'match', path: '/paymasters', body: paymaster('same-match'), options: { ifMatch: '"a"' } },
])('with another $name it is refused', async ({ name, path, body, options }) => {
  expect(await post('/paymasters', paymaster(`same-${name}`), { key: name })).toMatchObject({ status: 201 });
  expect(await post(path, body, { key: name, ...options })).toMatchObject(
    refusedAs(422, 'IDEMPOTENCY_KEY_REUSED'),
  );
});

test('a key belongs to its token', async () => {
  expect(await post('/paymasters', paymaster('mine'), { key: 'shared' })).toMatchObject({ status: 201 });
  const others = await post('/paymasters', paymaster('theirs'), { key: 'shared', token: otherToken });
  expect(others).toMatchObject({ status: 201, body: { data: { name: 'theirs' } } });
});

test('what failed may be sent again, and after a day the key is free', async () => {
  const body = { ...paymaster('later'), spec: { ...paymaster('later').spec, chainId: 999_999 } };
  const wrong = await post('/paymasters', body, { key: 'again' });
  expect(wrong.status).toBeGreaterThanOrEqual(400);
  expect(await post('/paymasters', paymaster('later'), { key: 'again' })).toMatchObject({ status: 201 });
  host.clock.advance(24 * hour + 1);
  expect(await post('/paymasters', paymaster('later'), { key: 'again' })).toMatchObject(
    refusedAs(409, 'OBJECT_EXISTS'),
  );
});

test('an answer that holds a secret is not kept: the second request is told so', async () => {
  const body = { name: 'robot', scopes: ['read'] };
  const first = await post('/tokens', body, { key: 'token' });
  expect(first).toMatchObject({ status: 201, body: { data: { token: expect.any(String) } } });
  const second = await post('/tokens', body, { key: 'token' });
  expect(second).toMatchObject(refusedAs(409, 'IDEMPOTENCY_REPLAY'));
  expect(second.body['detail']).toContain('not kept: it held a secret');
  await post('/paymasters', paymaster('rotated'));
  expect(await post('/paymasters/rotated/key/rotate', {}, { key: 'rotate' })).toMatchObject({ status: 200 });
  expect(await post('/paymasters/rotated/key/rotate', {}, { key: 'rotate' })).toMatchObject({ status: 409 });
});

test('of requests at the same time one is done', async () => {
  const all = await Promise.all(
    [1, 2, 3, 4].map(() => post('/paymasters', paymaster('race'), { key: 'race' })),
  );
  const others = all.filter(({ status }) => status !== 201).map(({ body }) => body['code']);
  expect(all.length - others.length).toBeGreaterThanOrEqual(1);
  // Never that the object is there already: that would be a second attempt.
  expect(others.filter((code) => code !== 'IDEMPOTENCY_REPLAY')).toEqual([]);
  expect(await post('/paymasters', paymaster('race'), { key: 'race' })).toMatchObject({ status: 201 });
});

test('a token has at most 500 keys', async () => {
  const full = await host.beside({
    texts: {
      putText: (...args) => host.texts.putText(...args),
      getText: (...args) => host.texts.getText(...args),
      getTexts: (...args) => host.texts.getTexts(...args),
      takeText: (...args) => host.texts.takeText(...args),
      addText: (name, message, until, { prefix, most }) =>
        host.texts.addText(name, message, until, { prefix, most: most - 500 }),
    },
  });
  const answer = await post('/paymasters', paymaster('full'), { key: 'new', origin: full.origin });
  expect(answer).toMatchObject({ body: { code: 'QUOTA_EXCEEDED' } });
  expect(answer.body['detail']).toContain('500 keys in 24 hours');
  await full.stop();
});

test('without the database nothing is done', async () => {
  const down = () => Promise.reject(new DomainError('UNAVAILABLE', 'the database does not answer'));
  const cut = await host.beside({
    texts: {
      putText: down,
      addText: down,
      getText: down,
      getTexts: down,
      takeText: down,
    },
  });
  expect(await post('/paymasters', paymaster('down'), { key: 'down', origin: cut.origin })).toMatchObject({
    status: 503,
  });
  await cut.stop();
  expect(await host.resources.get('Paymaster', { namespace: 'acme', name: 'down' })).toBeUndefined();
});

test('a key of another form is refused, and the header is named', async () => {
  expect(await post('/paymasters', paymaster('long'), { key: 'x'.repeat(256) })).toMatchObject({
    status: 400,
    body: { errors: [{ field: 'Idempotency-Key' }] },
  });
});

test.each(['/nothing', '/paymasters/a/b/c', '/platform/none'])(
  'an unknown path %s is answered as the others: a problem, with the method and the path',
  async (path) => {
    const response = await host.fetch(`${managePrefix}${path}`, { method: 'GET' });
    expect(response.status).toBe(404);
    expect(response.headers.get('content-type')).toMatch(/^application\/problem\+json/);
    expect(await response.json()).toMatchObject({
      status: 404,
      code: 'NOT_FOUND',
      detail: `There is no GET ${managePrefix}${path}`,
    });
  },
);
