import { gzipSync } from 'node:zlib';
import { beforeAll, describe, expect, test } from '@jest/globals';
import { DomainError } from '../../core/errors.js';
import type { LogFields, Logger } from '../../core/log.js';
import {
  aContractBody,
  aLimitBody,
  acmeToken,
  createPaymaster,
  prefix,
  recordOf,
} from '../build/dashboard.js';
import type { DashboardOverrides } from '../build/dashboard.js';
import { useDashboard } from '../support/use-dashboard.js';

// What the service document leaves to HTTP: envelope, bodies, browsers, overload, outage, logs.

const host = useDashboard();
let key: string;
beforeAll(async () => {
  ({ key } = await createPaymaster(host));
});

describe('envelope', () => {
  test('every answer is JSON, is not cached, and carries a request id', async () => {
    for (const token of [acmeToken, undefined, 'wrong']) {
      const { headers, body, status } = await host.call('GET', '/paymaster', { token });
      expect(headers.get('content-type')).toMatch(/^application\/json/);
      expect(headers.get('cache-control')).toBe('no-store');
      expect(headers.get('x-request-id')).toMatch(/^[A-Za-z0-9_.-]{1,64}$/);
      expect(headers.get('x-powered-by')).toBeNull();
      expect(body.statusCode).toBe(status);
    }
  });

  test('an X-Request-Id of the caller is kept, an unfit one is replaced', async () => {
    const fit = await host.call('GET', '/paymaster', { headers: { 'X-Request-Id': 'gateway-17' } });
    expect(fit.headers.get('x-request-id')).toBe('gateway-17');
    const unfit = await host.call('GET', '/paymaster', { headers: { 'X-Request-Id': 'a b c' } });
    expect(unfit.headers.get('x-request-id')).not.toBe('a b c');
  });

  test('headers are named in any case', async () => {
    for (const name of ['authtoken', 'AUTHTOKEN', 'AuthToken']) {
      const { status } = await host.call('GET', '/paymaster', { headers: { [name]: acmeToken } });
      expect({ name, status }).toEqual({ name, status: 200 });
    }
  });
});

describe('bodies', () => {
  const contract = (address: string) => ({ ...aContractBody, name: address, address });

  test('PATCH without a body, also with a JSON content type, reaches the endpoint', async () => {
    const created = await host.call('POST', '/paymaster-policy', { token: acmeToken, key, body: aLimitBody });
    const id = String(recordOf(created.body.data)['_id']);
    for (const action of ['deactivate', 'activate', 'limit']) {
      const answer = await host.call('PATCH', `/paymaster-policy/${action}/${id}`, {
        token: acmeToken,
        key,
        headers: { 'Content-Type': 'application/json' },
      });
      expect({ action, status: answer.status }).toEqual({ action, status: 200 });
    }
  });

  test('GET with a JSON content type and no body reaches the endpoint', async () => {
    const answer = await host.call('GET', '/paymaster', {
      token: acmeToken,
      headers: { 'Content-Type': 'application/json' },
    });
    expect(answer.status).toBe(200);
  });

  test('a body where none is documented is ignored, even if it is not JSON', async () => {
    const answer = await host.call('PATCH', '/paymaster-policy/activate/unknown', {
      token: acmeToken,
      key,
      raw: '{"half',
    });
    expect(answer.body.message).toBe('Paymaster Policy not found');
  });

  test.each([
    'text/plain',
    'application/x-www-form-urlencoded',
    'application/json; charset=utf-8',
    'application/problem+json',
  ])('JSON is JSON under the content type %s', async (type) => {
    const { status, body } = await host.call('POST', '/smart-contract', {
      token: acmeToken,
      key,
      raw: JSON.stringify(aContractBody),
      headers: { 'Content-Type': type },
    });
    expect(status === 200 || body.message === 'Smart contract address already exists').toBe(true);
  });

  test('a compressed body is read', async () => {
    const address = '0x00000000000000000000000000000000000000E1';
    const { status } = await host.call('POST', '/smart-contract', {
      token: acmeToken,
      key,
      raw: new Uint8Array(gzipSync(JSON.stringify(contract(address)))),
      headers: { 'Content-Encoding': 'gzip' },
    });
    expect(status).toBe(200);
  });

  test('the longest ABI fits, one character more is a 400 that names it', async () => {
    const abiOf = (length: number) => `[${' '.repeat(length - 2)}]`;
    const fits = await host.call('POST', '/smart-contract', {
      token: acmeToken,
      key,
      body: {
        ...contract('0x00000000000000000000000000000000000000E2'),
        abi: abiOf(196_608),
        whitelistedMethods: [],
      },
    });
    expect(fits.status).toBe(200);
    const tooLong = await host.call('POST', '/smart-contract', {
      token: acmeToken,
      key,
      body: {
        ...contract('0x00000000000000000000000000000000000000E3'),
        abi: abiOf(196_609),
        whitelistedMethods: [],
      },
    });
    expect(tooLong.status).toBe(400);
    expect(tooLong.body.message).toContain('abi must be');
  });

  test.each([
    { name: 'plain', raw: () => JSON.stringify({ name: 'x'.repeat(1024 * 1024) }), headers: {} },
    {
      name: 'compressed, a thousandth of that on the wire',
      raw: () => new Uint8Array(gzipSync(JSON.stringify({ name: 'x'.repeat(1024 * 1024) }))),
      headers: { 'Content-Encoding': 'gzip' },
    },
  ])('a body over 1 MiB, $name, is 413 in the envelope', async ({ raw, headers }) => {
    const { status, body } = await host.call('POST', '/smart-contract', {
      token: acmeToken,
      key,
      raw: raw(),
      headers,
    });
    expect(status).toBe(413);
    expect(body).toMatchObject({ statusCode: 413, message: 'The body is larger than 1 MiB' });
  });

  test('credentials are judged before the body', async () => {
    const { status } = await host.call('POST', '/smart-contract', { token: 'wrong', key, raw: '{"half' });
    expect(status).toBe(401);
  });
});

describe('browsers', () => {
  test.each(['/paymaster', '/paymasterParameters', '/smart-contract', '/paymaster-policy/activate/x'])(
    'the preflight of %s allows the methods and both headers without credentials',
    async (path) => {
      const response = await host.fetch(`${prefix}${path}`, {
        method: 'OPTIONS',
        headers: {
          Origin: 'https://dapp.example.com',
          'Access-Control-Request-Method': 'PATCH',
          'Access-Control-Request-Headers': 'apikey,authtoken,content-type',
        },
      });
      expect(response.status).toBe(204);
      expect(response.headers.get('access-control-allow-origin')).toBe('*');
      expect(response.headers.get('access-control-allow-methods')?.split(',')).toEqual(
        expect.arrayContaining(['GET', 'POST', 'PATCH', 'DELETE']),
      );
      const allowed = response.headers.get('access-control-allow-headers')?.toLowerCase().split(',');
      expect(allowed).toEqual(expect.arrayContaining(['authtoken', 'apikey', 'content-type']));
    },
  );

  test('answers and errors are readable by any page, X-Programmed and Retry-After too', async () => {
    for (const token of [acmeToken, 'wrong']) {
      const { headers } = await host.call('GET', '/paymaster', {
        token,
        headers: { Origin: 'https://dapp.example.com' },
      });
      expect(headers.get('access-control-allow-origin')).toBe('*');
      expect(headers.get('access-control-expose-headers')).toContain('X-Programmed');
      expect(headers.get('access-control-expose-headers')).toContain('Retry-After');
    }
  });
});

describe('paths', () => {
  test.each(['/paymaster/', '/paymaster?page=2', '//paymaster', '/PayMaster'])(
    '%s is served',
    async (path) => {
      const { status } = await host.call('GET', path, { token: acmeToken });
      expect(status).toBe(200);
    },
  );

  test.each([
    '/paymasters',
    '/paymaster/Parameters',
    '/paymaster-policy/limit',
    '/',
    '/..%2f..%2fetc/passwd',
    '/%',
  ])('%s is 404 or 400 in the envelope, never a page', async (path) => {
    const { status, body } = await host.call('PATCH', path, { token: acmeToken, key });
    expect([400, 404]).toContain(status);
    expect(body.statusCode).toBe(status);
  });
});

describe('queries', () => {
  test.each([
    { name: 'a parameter that nobody knows', query: 'page=2&limt=1' },
    { name: 'a second value', query: 'limit=5&limit=none' },
    { name: 'more text than any endpoint has a use for', query: `utm=${'x'.repeat(9000)}` },
  ])('$name is ignored', async ({ query }) => {
    const { status, body } = await host.call('GET', `/paymaster?${query}`, { token: acmeToken });
    expect({ status, message: body.message }).toEqual({ status: 200, message: 'DApp list fetched' });
  });
});

describe('overload and outage', () => {
  test('a token over its rate is 429 with Retry-After, and passes again when the time is over', async () => {
    const limited = await host.beside({
      rateLimit: { requests: 3, perSeconds: 60 },
    });
    const statuses: number[] = [];
    for (let index = 0; index < 3; index++)
      statuses.push((await limited.call('GET', '/paymaster', { token: acmeToken })).status);
    const refused = await limited.call('GET', '/paymaster', { token: acmeToken });
    host.clock.advance(Number(refused.headers.get('retry-after')) * 1000);
    const later = await limited.call('GET', '/paymaster', { token: acmeToken });
    await limited.stop();
    expect(statuses).toEqual([200, 200, 200]);
    expect({ status: refused.status, statusCode: refused.body.statusCode }).toEqual({
      status: 429,
      statusCode: 429,
    });
    expect(later.status).toBe(200);
  });

  const down = () => Promise.reject(new DomainError('UNAVAILABLE', 'SQLITE_IOERR at /var/lib/store.db'));
  const broken = () => Promise.reject(new TypeError('cannot read properties of undefined'));

  type Outage = {
    name: string;
    overrides: () => DashboardOverrides;
    method: string;
    path: (paymasterId: string) => string;
    body?: object;
  };
  const noMessages = {
    putText: down,
    addText: down,
    getText: down,
    getTexts: down,
    takeText: down,
  };

  test.each<Outage>([
    {
      name: 'the resource store cannot be read',
      overrides: () => ({ resources: { ...host.resources, list: down, get: down } }),
      method: 'GET',
      path: () => '/paymaster-policy',
    },
    {
      name: 'the resource store cannot be written',
      overrides: () => ({ resources: { ...host.resources, apply: down } }),
      method: 'POST',
      path: () => '/paymaster-policy',
      body: { ...aLimitBody, name: 'Down' },
    },
    {
      name: 'funding messages cannot be stored',
      overrides: () => ({ texts: noMessages }),
      method: 'GET',
      path: (paymasterId) => `/funding-message/${paymasterId}`,
    },
  ])('when $name, the answer is 503 with Retry-After and tells nothing of the store', async (outage) => {
    const { key: apiKey, paymasterId } = await createPaymaster(host, { name: outage.name });
    const cut = await host.beside(outage.overrides());
    const { status, headers, body } = await cut.call(outage.method, outage.path(paymasterId), {
      token: acmeToken,
      key: apiKey,
      body: outage.body,
    });
    await cut.stop();
    expect({ status, message: body.message }).toEqual({
      status: 503,
      message: 'The service is temporarily unavailable, try again',
    });
    expect(headers.get('retry-after')).toBe('1');
  });

  test('a fault of ours is a plain 500 outside and a full log line inside', async () => {
    const lines: LogFields[] = [];
    const faulty = await host.beside({
      resources: { ...host.resources, list: broken },
      log: recordingLogger(lines),
    });
    const { status, body, headers } = await faulty.call('GET', '/paymaster', { token: acmeToken });
    await faulty.stop();
    expect({ status, body }).toEqual({
      status: 500,
      body: { statusCode: 500, message: 'Internal error', data: undefined },
    });
    expect(lines).toContainEqual(
      expect.objectContaining({ requestId: headers.get('x-request-id'), error: expect.any(TypeError) }),
    );
  });
});

describe('logs', () => {
  test('a write is logged with who and what, and never a key, token or signature', async () => {
    const lines: LogFields[] = [];
    const logged = await host.beside({ log: recordingLogger(lines) });
    const created = await createPaymaster(logged, { name: 'Logged' });
    await logged.call('POST', '/smart-contract', { ...created, body: aContractBody });
    await logged.call('POST', '/smart-contract', { ...created, body: aContractBody });
    await logged.call('GET', '/paymaster', { token: 'some-wrong-token' });
    await logged.stop();
    expect(
      lines.map(({ operation, organisation, tokenName }) => ({ operation, organisation, tokenName })),
    ).toEqual([
      { operation: 'createPaymaster', organisation: 'acme', tokenName: 'acme-ci' },
      { operation: 'createSmartContract', organisation: 'acme', tokenName: 'acme-ci' },
    ]);
    const text = JSON.stringify(lines);
    for (const secret of [acmeToken, created.key, 'some-wrong-token']) expect(text).not.toContain(secret);
  });
});

function recordingLogger(lines: LogFields[]): Logger {
  const record = (_message: string, fields: LogFields = {}) => void lines.push(fields);
  const logger: Logger = { debug: record, info: record, warn: record, error: record, child: () => logger };
  return logger;
}
