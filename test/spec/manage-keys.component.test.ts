import { describe, expect, test } from '@jest/globals';
import { Ajv2020 } from 'ajv/dist/2020.js';
import { hashCredential } from '../../core/config/api-key.js';
import { manageEndpoints, managePrefix } from '../../server/dashboard/endpoints.js';
import {
  acmeToken,
  applyOrganisation,
  chainId,
  otherToken,
  recordOf,
  recordsOf,
} from '../build/dashboard.js';
import { aFeeToken } from '../build/resources.js';
import { until } from '../support/until.js';
import { useDashboard } from '../support/use-dashboard.js';

// Keys, problems and chains through the management API.

const host = useDashboard({ operator: true, programmedTimeoutMs: 60_000 });

async function ask(method: string, path: string, body?: unknown, token = acmeToken, etag?: string) {
  const response = await host.fetch(`${managePrefix}${path}`, {
    method,
    headers: { Authorization: `Bearer ${token}`, ...(etag !== undefined && { 'If-Match': etag }) },
    ...(body !== undefined && { body: JSON.stringify(body) }),
  });
  const answer = recordOf(JSON.parse(await response.text()));
  return {
    status: response.status,
    etag: response.headers.get('etag') ?? '',
    programmed: response.headers.get('x-programmed'),
    data: response.ok ? recordOf(answer['data']) : answer,
  };
}

const isAccepted = async (key: unknown): Promise<boolean> =>
  (await host.call('GET', '/smart-contract', { token: acmeToken, key: String(key) })).status === 200;

async function aPaymaster(name: string, chain = chainId): Promise<void> {
  const spec = { name, chainId: chain, type: 'HYBRID', version: '1.1.0' };
  expect(await ask('POST', '/paymasters', { name, spec })).toMatchObject({ status: 201, programmed: 'true' });
}

describe('the key of a paymaster', () => {
  test('is replaced at once, or after an overlap, and once with If-Match', async () => {
    await aPaymaster('keyed');
    const { data: first, etag } = await ask('GET', '/paymasters/keyed/key');
    expect(first).toMatchObject({ generation: 1, previousKeyUntil: null });
    expect(await isAccepted(first['key'])).toBe(true);

    const overlap = '/paymasters/keyed/key/rotate?overlapSeconds=60';
    const second = await ask('POST', overlap, undefined, acmeToken, etag);
    expect(second).toMatchObject({ status: 200, programmed: 'true', data: { generation: 2 } });
    expect(await ask('POST', overlap, undefined, acmeToken, etag)).toMatchObject({ status: 412 });
    expect([await isAccepted(first['key']), await isAccepted(second.data['key'])]).toEqual([true, true]);
    host.clock.advance(60_001);
    expect([await isAccepted(first['key']), await isAccepted(second.data['key'])]).toEqual([false, true]);
    expect((await ask('GET', '/paymasters/keyed/key')).data).toEqual({
      ...second.data,
      previousKeyUntil: null,
    });

    const third = await ask('POST', '/paymasters/keyed/key/rotate');
    expect(third.data).toMatchObject({ generation: 3, previousKeyUntil: null });
    expect([await isAccepted(second.data['key']), await isAccepted(third.data['key'])]).toEqual([
      false,
      true,
    ]);
  });

  test('is not ended by another new one while callers may still have it, however many ask at once, unless no overlap is asked for', async () => {
    await aPaymaster('twice');
    const { data: first } = await ask('GET', '/paymasters/twice/key');
    const overlap = '/paymasters/twice/key/rotate?overlapSeconds=60';
    const answers = await Promise.all([ask('POST', overlap), ask('POST', overlap), ask('POST', overlap)]);
    expect(answers.map(({ status }) => status).toSorted((a, b) => a - b)).toEqual([200, 409, 409]);
    expect(await isAccepted(first['key'])).toBe(true);
    const { data: second } = await ask('GET', '/paymasters/twice/key');
    expect(second).toMatchObject({ generation: 2 });
    expect(await ask('POST', '/paymasters/twice/key/rotate')).toMatchObject({ status: 200 });
    expect([await isAccepted(first['key']), await isAccepted(second['key'])]).toEqual([false, false]);
  });

  test('does not come back with a name', async () => {
    await aPaymaster('returning');
    const { data: first } = await ask('GET', '/paymasters/returning/key');
    const { data: second } = await ask('POST', '/paymasters/returning/key/rotate');
    expect(await ask('DELETE', '/paymasters/returning')).toMatchObject({ status: 200, programmed: 'true' });
    expect(await isAccepted(second['key'])).toBe(false);
    await aPaymaster('returning');
    expect((await ask('GET', '/paymasters/returning/key')).data).toMatchObject({ generation: 2 });
    expect(await isAccepted(first['key'])).toBe(false);
    expect((await ask('POST', '/paymasters/returning/key/rotate')).data).toMatchObject({ generation: 3 });
  });

  test('is not shown to another organisation', async () => {
    await aPaymaster('mine');
    for (const [method, path] of [
      ['GET', '/paymasters/mine/key'],
      ['POST', '/paymasters/mine/key/rotate'],
    ] as const)
      expect(await ask(method, path, undefined, otherToken)).toMatchObject({ status: 404 });
    expect(await ask('POST', '/paymasters/mine/key/rotate?overlapSeconds=2592001')).toMatchObject({
      status: 400,
    });
  });
});

describe('keys of a paymaster that have names', () => {
  const isServed = async (key: unknown): Promise<boolean> =>
    (await host.configs.findByKey(hashCredential(String(key)))) !== undefined;
  const add = (paymaster: string, body: object) => ask('POST', `/paymasters/${paymaster}/keys`, body);

  test('are added, listed without the keys, shown, and revoked one by one', async () => {
    await aPaymaster('many');
    const web = await add('many', { name: 'web' });
    expect(web).toMatchObject({ status: 201, programmed: 'true', data: { name: 'web', generation: 1 } });
    const partner = await add('many', {
      name: 'partner',
      campaign: 'winter',
      cidrs: ['203.0.113.0/24'],
      expiresAt: '2030-01-01T00:00:00Z',
      rateLimit: { requests: 5, perSeconds: 1 },
    });
    const { key, ...rest } = partner.data;
    const listed = await ask('GET', '/paymasters/many/keys');
    expect(recordsOf(listed.data['items'])[1]).toEqual(rest);
    expect(JSON.stringify(listed.data)).not.toContain(key);
    expect((await ask('GET', '/paymasters/many/keys/partner')).data).toEqual(partner.data);
    expect([await isServed(web.data['key']), await isServed(key)]).toEqual([true, true]);

    expect(await ask('DELETE', '/paymasters/many/keys/web?dryRun=true')).toMatchObject({ status: 200 });
    expect(await isServed(web.data['key'])).toBe(true);
    expect(await ask('DELETE', '/paymasters/many/keys/web')).toMatchObject({
      status: 200,
      programmed: 'true',
    });
    expect([await isServed(web.data['key']), await isServed(key)]).toEqual([false, true]);
    for (const method of ['GET', 'DELETE'])
      expect(await ask(method, '/paymasters/many/keys/web')).toMatchObject({ status: 404 });
    expect(await ask('DELETE', '/paymasters/many/keys/partner')).toMatchObject({ status: 200 });
    expect((await ask('GET', '/paymasters/many')).data['spec']).not.toHaveProperty('keys');
  });

  test('never come back: added again, changed by hand to what they were, or with their paymaster', async () => {
    await aPaymaster('leaky');
    const leaked = (await add('leaky', { name: 'web' })).data;
    await ask('DELETE', '/paymasters/leaky/keys/web');
    const second = await add('leaky', { name: 'web' });
    expect(second).toMatchObject({ status: 201, data: { generation: 2 } });
    for (const keys of [[], [{ name: 'web' }], [{ name: 'web', generation: 1 }]]) {
      const patched = await ask('PATCH', '/paymasters/leaky', { spec: { keys } });
      expect(patched).toMatchObject({ status: 200, programmed: 'true' });
      expect([await isServed(leaked['key']), await isServed(second.data['key'])]).toEqual([false, false]);
    }
    const third = (await ask('GET', '/paymasters/leaky/keys/web')).data;
    expect(third).toMatchObject({ generation: 3 });
    await ask('DELETE', '/paymasters/leaky');
    expect(await isServed(third['key'])).toBe(false);
    await aPaymaster('leaky');
    expect((await add('leaky', { name: 'web' })).data).toMatchObject({ generation: 4 });
    for (const { key } of [leaked, second.data, third]) expect(await isServed(key)).toBe(false);
  });

  test('are as many as ask at once, each with a name of its own', async () => {
    await aPaymaster('hasty');
    const names = ['a', 'b', 'a', 'c', 'a'];
    const answers = await Promise.all(names.map((name) => add('hasty', { name })));
    expect(answers.map(({ status }) => status).toSorted((a, b) => a - b)).toEqual([201, 201, 201, 409, 409]);
    const items = recordsOf((await ask('GET', '/paymasters/hasty/keys')).data['items']);
    expect(items.map(({ name }) => String(name)).toSorted((a, b) => (a < b ? -1 : 1))).toEqual([
      'a',
      'b',
      'c',
    ]);
    for (let i = items.length; i < 20; i += 1)
      expect(await add('hasty', { name: `k${i}` })).toMatchObject({ status: 201 });
    expect(await add('hasty', { name: 'one-too-many' })).toMatchObject({ status: 400 });
  });

  test.each([
    { body: {}, field: 'name' },
    { body: { name: '-x' }, field: 'name' },
    { body: { name: 'x', generation: 1 }, field: 'generation' },
    { body: { name: 'x', cidrs: ['10.0.0.0/33'] }, field: 'cidrs[0]' },
    { body: { name: 'x', cidrs: ['10.0.0.1'] }, field: 'cidrs[0]' },
    { body: { name: 'x', expiresAt: 'tomorrow' }, field: 'expiresAt' },
    { body: { name: 'x', rateLimit: { requests: 0, perSeconds: 1 } }, field: 'rateLimit.requests' },
    { body: { name: 'x', networks: [] }, field: 'networks' },
  ])('are not added with a wrong $field', async ({ body, field }) => {
    const answer = await add('keyed', body);
    expect(answer).toMatchObject({ status: 400, data: { errors: [{ field }] } });
  });

  test('are not shown to another organisation, and never to a token that only reads', async () => {
    await aPaymaster('own');
    await add('own', { name: 'web' });
    for (const [method, path] of [
      ['GET', '/paymasters/own/keys'],
      ['GET', '/paymasters/own/keys/web'],
      ['DELETE', '/paymasters/own/keys/web'],
      ['POST', '/paymasters/own/keys'],
    ] as const)
      expect(
        await ask(method, path, method === 'POST' ? { name: 'x' } : undefined, otherToken),
      ).toMatchObject({
        status: 404,
      });
    const made = await ask('POST', '/tokens', { name: 'only-reads', scopes: ['read', 'stop', 'finance'] });
    const token = String(made.data['token']);
    expect(await ask('GET', '/paymasters/own/keys', undefined, token)).toMatchObject({ status: 200 });
    for (const [method, path] of [
      ['GET', '/paymasters/own/keys/web'],
      ['DELETE', '/paymasters/own/keys/web'],
      ['POST', '/paymasters/own/keys'],
    ] as const)
      expect(await ask(method, path, method === 'POST' ? { name: 'x' } : undefined, token)).toMatchObject({
        status: 403,
      });
  });

  test('that a manifest lists are changed in the manifest', async () => {
    await aPaymaster('in-git');
    const key = { namespace: 'acme', name: 'in-git' };
    const { spec } = (await host.resources.get('Paymaster', key))!;
    await host.resources.apply({
      manager: 'argocd',
      kind: 'Paymaster',
      key,
      spec: { ...spec, keys: [{ name: 'web' }] },
    });
    expect(await add('in-git', { name: 'x' })).toMatchObject({ status: 409 });
    expect(await ask('DELETE', '/paymasters/in-git/keys/web')).toMatchObject({ status: 409 });
  });
});

test('a webhook has a key that rotates, and its address can be changed; a policy of another kind has none', async () => {
  await aPaymaster('hooked');
  const paymasterRef = { name: 'hooked' };
  const url = 'https://rules.example.com/check';
  const webhook = { paymasterRef, name: 'check', policyType: 'WEBHOOK', webhook: { url } };
  await ask('POST', '/policies', { name: 'check', spec: webhook });
  const { data: first } = await ask('GET', '/policies/check/key');
  expect(first).toMatchObject({ generation: 1, key: expect.stringMatching(/^[0-9a-f]{64}$/) });
  const { data: second } = await ask('POST', '/policies/check/key/rotate?overlapSeconds=60');
  expect(second).toMatchObject({ generation: 2, previousKeyUntil: expect.any(String) });
  expect(second['key']).not.toBe(first['key']);
  const moved = await ask('PATCH', '/policies/check', { spec: { webhook: { url: `${url}/2` } } });
  expect(moved.data['spec']).toMatchObject({ webhook: { url: `${url}/2`, keyGeneration: 2 } });
  expect((await ask('GET', '/policies/check/key')).data['key']).toBe(second['key']);
  const deployment = { paymasterRef, name: 'deploy', policyType: 'WALLET_DEPLOYMENT', walletDeployment: {} };
  expect(await ask('POST', '/policies', { name: 'deploy', spec: deployment })).toMatchObject({ status: 201 });
  expect(await ask('GET', '/policies/deploy/key')).toMatchObject({ status: 404 });
});

test('problems are named with their meaning and a remedy, and only the own ones', async () => {
  const key = { namespace: 'acme', name: 'lost' };
  const spec = { name: 'lost', chainId: 77, type: 'HYBRID', version: '1.1.0' } as const;
  await host.resources.apply({ manager: 'argocd', kind: 'Paymaster', key, spec });
  const found = await (async () => {
    for (;;) {
      const { data } = await ask('GET', '/problems');
      const problem = recordsOf(data['items']).find(
        ({ name, check }) => name === 'lost' && check === 'reference-missing',
      );
      if (problem !== undefined) return { data, problem };
    }
  })();
  expect(found.problem).toMatchObject({
    noun: 'paymasters',
    displayName: 'lost',
    severity: 'warning',
    runbook: 'docs/runbooks.md#reference-missing',
    reason: 'ChainNotFound',
    remedy: 'Use one of the chains that the message lists.',
  });
  const row = manageEndpoints.find(({ path }) => path === '/problems');
  const isValid = new Ajv2020({ strict: false, validateFormats: false }).compile(row?.schema ?? false);
  expect(isValid(found.data) ? [] : isValid.errors).toEqual([]);
  const { data } = await ask('GET', '/problems', undefined, otherToken);
  expect(JSON.stringify(data)).not.toContain('lost');
});

test('chains are those that the organisation may use, without the addresses of their nodes', async () => {
  const { data } = await ask('GET', '/chains');
  expect(recordsOf(data['items'])).toMatchObject([{ chainId, suspended: false }]);
  const versions = recordsOf(recordsOf(data['items'])[0]?.['versions']);
  expect(versions.map(({ version, entryPoint }) => `${String(version)} on ${String(entryPoint)}`)).toEqual([
    '1.0.0 on 0.6',
    '1.1.0 on 0.6',
    '2.0.0 on 0.6',
  ]);
  expect(JSON.stringify(data)).not.toMatch(/http|signer|file/);
  const stored = await host.resources.get('Organisation', { name: 'other' });
  await applyOrganisation(host.resources, 'other', { ...stored!.spec, chains: [5] });
  expect((await ask('GET', '/chains', undefined, otherToken)).data).toEqual({ items: [], nextCursor: null });
});

test('a chain has the explorer that the platform names, to whose address paths are added', async () => {
  expect((await ask('GET', '/chains')).data).toMatchObject({ items: [{ explorer: null }] });
  const chains = await host.resources.list('Chain');
  for (const { metadata, spec } of chains) {
    const key = { name: metadata.name };
    const explorer = 'https://explorer.example/testnet/';
    await host.resources.apply({ manager: 'platform', kind: 'Chain', key, spec: { ...spec, explorer } });
  }
  const { data } = await ask('GET', '/chains');
  expect(data).toMatchObject({ items: [{ explorer: 'https://explorer.example/testnet' }] });
});

test('fee tokens of a chain are shown with the kind of their price, not its address, and whether they may be used', async () => {
  const { metadata, spec } = aFeeToken({
    meta: { name: 'usd' },
    price: { http: { url: 'https://prices.example.com/?key=a-secret', path: 'data.price' } },
  });
  const write = (name: string) =>
    host.resources.apply({ manager: 'platform', kind: 'FeeToken', key: { name }, spec });
  await write(metadata.name);
  const tokens = async () => {
    const { status, data } = await ask('GET', `/chains/${chainId}/tokens`);
    expect(status).toBe(200);
    return { data, tokens: recordsOf(data['items']) };
  };
  expect((await tokens()).tokens).toMatchObject([
    { name: 'usd', symbol: 'USD', decimals: 6, premiumPercentage: '0', priceSource: 'http', isUsable: false },
  ]);
  // A second one of the same address is not accepted.
  await write('usd-again');
  const found = await (async () => {
    for (;;) {
      const now = await tokens();
      const again = now.tokens.find(({ name }) => name === 'usd-again');
      const problem = recordsOf(again?.['problems'] ?? []).find(({ condition }) => condition === 'Accepted');
      if (problem !== undefined) return { ...now, problem };
    }
  })();
  expect(found.problem).toMatchObject({ remedy: expect.any(String), isCurrent: true });
  expect(JSON.stringify(found.data)).not.toMatch(/example\.com|a-secret/);
  const row = manageEndpoints.find(({ path }) => path === '/chains/:chainId/tokens');
  const isValid = new Ajv2020({ strict: false, validateFormats: false }).compile(row?.schema ?? false);
  expect(isValid(found.data) ? [] : isValid.errors).toEqual([]);

  for (const id of ['77', '0', 'x', '1e3', String(chainId).repeat(9)])
    expect(await ask('GET', `/chains/${id}/tokens`)).toMatchObject({ status: 404 });
  // `other` may use chain 5 alone.
  expect(await ask('GET', `/chains/${chainId}/tokens`, undefined, otherToken)).toMatchObject({ status: 404 });
});

test('a chain has problems for those who use it and may, without the address of its node', async () => {
  const { spec: dev } = (await host.resources.get('Chain', { name: 'dev' }))!;
  for (const far of [98, 99]) {
    const spec = { ...dev, chainId: far, rpc: { urls: ['http://127.0.0.1:9/key-of-the-platform'] } };
    const key = { name: `far-${far}` };
    await host.resources.apply({ manager: 'platform', kind: 'Chain', key, spec });
  }
  const { spec: other } = (await host.resources.get('Organisation', { name: 'other' }))!;
  await applyOrganisation(host.resources, 'other', { ...other, chains: [5] });
  await aPaymaster('far', 99);
  const theirs = { name: 'theirs', chainId: 99, type: 'HYBRID', version: '1.1.0' } as const;
  const key = { namespace: other.namespace, name: 'theirs' };
  await host.resources.apply({ manager: 'argocd', kind: 'Paymaster', key, spec: theirs });

  const problems = async (token: string, noun: string) =>
    recordsOf((await ask('GET', '/problems', undefined, token)).data['items']).filter(
      (each) => each['noun'] === noun,
    );
  await until('the operator has asked the node', async () =>
    (await problems(acmeToken, 'chains')).some(
      ({ check, name }) => check === 'chain-away' && name === 'far-99',
    ),
  );
  const seen = await problems(acmeToken, 'chains');
  expect(JSON.stringify(seen)).not.toMatch(/127\.0\.0\.1|key-of-the-platform|far-98|theirs/);
  await until('the operator has judged the other paymaster', async () =>
    (await problems(otherToken, 'paymasters')).some(({ reason }) => reason === 'ChainNotAllowed'),
  );
  expect(await problems(otherToken, 'chains')).toEqual([]);
});
