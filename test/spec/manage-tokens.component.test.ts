import { beforeAll, describe, expect, test } from '@jest/globals';
import { hashCredential } from '../../core/config/api-key.js';
import { tokenScopes, type TokenScope } from '../../core/resources/dashboard-token.js';
import {
  documentEndpoints,
  manageEndpoints,
  managePrefix,
  prefix,
} from '../../server/dashboard/endpoints.js';
import {
  acmeToken,
  applyOrganisation,
  chainId,
  otherToken,
  recordOf,
  recordsOf,
} from '../build/dashboard.js';
import { useDashboard } from '../support/use-dashboard.js';

// Tokens of the management API: what each may call, who may make and end them, and how someone would try to get more.

const host = useDashboard();

async function ask(method: string, path: string, token: string, body?: unknown) {
  const response = await host.fetch(path, {
    method: method.toUpperCase(),
    headers: { Authorization: `Bearer ${token}` },
    ...(body !== undefined && method !== 'get' && { body: JSON.stringify(body) }),
  });
  const text = await response.text();
  const answer = recordOf(text === '' ? {} : JSON.parse(text));
  return { status: response.status, data: response.ok ? recordOf(answer['data']) : answer };
}

const tokens = `${managePrefix}/tokens`;

async function aToken(
  name: string,
  scopes: readonly TokenScope[],
  { by = acmeToken, ...more }: { readonly by?: string; readonly expiresAt?: string } = {},
): Promise<string> {
  const { status, data } = await ask('post', tokens, by, { name, scopes, ...more });
  expect({ status, data }).toMatchObject({ status: 201 });
  return String(data['token']);
}

const isKnown = async (token: string): Promise<boolean> =>
  (await ask('get', `${managePrefix}/me`, token)).status === 200;

const only = new Map<TokenScope, string>();
beforeAll(async () => {
  for (const scope of tokenScopes) only.set(scope, await aToken(`only-${scope}`, [scope]));
});

const rows = [
  ...documentEndpoints.map((row) => ({ ...row, at: `${prefix}${row.path}` })),
  ...manageEndpoints.map((row) => ({ ...row, at: `${managePrefix}${row.path}` })),
].map((row) => ({ ...row, at: row.at.replace(/:\w+/g, '0f8fad5b-d9cb-569f-a165-70867728950e') }));

test.each(rows)(
  '$method $at takes the scopes of its row and no other',
  async ({ method, at, needs = [], message, scope }) => {
    for (const [held, token] of only) {
      const response = await host.fetch(at, {
        method: method.toUpperCase(),
        headers: { authToken: token, ...(scope === 'paymaster' && { apiKey: 'any' }) },
      });
      const answer = recordOf(JSON.parse((await response.text()) || '{}'));
      const may = held === 'write' || needs.includes(held);
      expect({ held, isForbidden: response.status === 403 }).toEqual({ held, isForbidden: !may });
      if (!may && message === undefined) expect(answer).toMatchObject({ code: 'SCOPE_REQUIRED' });
    }
  },
);

test('reading shows no key and stopping undoes nothing: those rows need write', () => {
  const open = manageEndpoints.filter(({ needs = [] }) => needs.includes('read') || needs.includes('stop'));
  expect(open.filter(({ path }) => /key|resume/.test(path))).toEqual([]);
  const changing = manageEndpoints.filter(({ method, needs = [] }) => method !== 'get' && needs.length > 0);
  expect(
    changing.map(({ path }) => path).filter((path) => !/suspend$|explain$|^\/what-if$|^\/tokens$/.test(path)),
  ).toEqual([]);
});

describe('a token', () => {
  test('says what it may do, is shown once, and is stored as its hash', async () => {
    const expiresAt = new Date(host.clock.now() + 3_600_000).toISOString();
    const token = await aToken('shown', ['read', 'stop'], { expiresAt });
    expect((await ask('get', `${managePrefix}/me`, token)).data).toMatchObject({
      organisation: { namespace: 'acme' },
      token: { name: 'shown', scopes: ['read', 'stop'], expiresAt },
    });
    const { data } = await ask('get', tokens, token);
    const listed = recordsOf(data['tokens']).find(({ name }) => name === 'shown');
    expect(listed).toEqual({ name: 'shown', scopes: ['read', 'stop'], expiresAt, createdBy: 'acme-ci' });
    const stored = await host.resources.get('DashboardToken', { namespace: 'acme', name: 'shown' });
    expect(stored?.spec.sha256).toBe(hashCredential(token));
    expect(JSON.stringify(stored)).not.toContain(token);
  });

  test('with stop suspends a paymaster, and does not resume it', async () => {
    const spec = { name: 'stoppable', chainId, type: 'HYBRID', version: '1.1.0' };
    await ask('post', `${managePrefix}/paymasters`, acmeToken, { name: 'stoppable', spec });
    const at = `${managePrefix}/paymasters/stoppable`;
    const stop = only.get('stop')!;
    expect(await ask('post', `${at}/suspend`, stop)).toMatchObject({
      status: 200,
      data: { spec: { suspended: true } },
    });
    expect(await ask('post', `${at}/resume`, stop)).toMatchObject({ status: 403 });
    expect(await ask('patch', at, stop, { spec: { suspended: true } })).toMatchObject({ status: 403 });
  });

  test('that is deleted is refused at once, on every replica', async () => {
    const token = await aToken('revoked', ['write']);
    const beside = await host.beside();
    const seen = async () =>
      (await beside.fetch(`${managePrefix}/me`, { headers: { authToken: token } })).status;
    expect([await isKnown(token), await seen()]).toEqual([true, 200]);
    expect(await ask('delete', `${tokens}/revoked`, acmeToken)).toMatchObject({ status: 200 });
    expect([await isKnown(token), await seen()]).toEqual([false, 401]);
    expect(await ask('delete', `${tokens}/revoked`, acmeToken)).toMatchObject({ status: 404 });
  });

  test('works until it expires', async () => {
    const token = await aToken('short', ['read'], {
      expiresAt: new Date(host.clock.now() + 60_000).toISOString(),
    });
    expect(await isKnown(token)).toBe(true);
    host.clock.advance(60_001);
    expect(await isKnown(token)).toBe(false);
  });
});

describe('nobody gets more by', () => {
  test('making a token with a scope that the own one lacks', async () => {
    for (const held of ['read', 'stop', 'finance'] as const)
      for (const scope of tokenScopes.filter((each) => each !== held))
        expect(
          await ask('post', tokens, only.get(held)!, { name: `more-${held}`, scopes: [held, scope] }),
        ).toMatchObject({
          status: 403,
          data: { code: 'SCOPE_REQUIRED' },
        });
  });

  test('making a token that lives longer, or one that is given no end', async () => {
    const end = new Date(host.clock.now() + 3_600_000).toISOString();
    const token = await aToken('ending', ['write'], { expiresAt: end });
    const later = new Date(host.clock.now() + 7_200_000).toISOString();
    expect(
      await ask('post', tokens, token, { name: 'later', scopes: ['read'], expiresAt: later }),
    ).toMatchObject({
      status: 403,
    });
    const child = await aToken('no-end', ['read'], { by: token });
    expect((await ask('get', `${managePrefix}/me`, child)).data).toMatchObject({ token: { expiresAt: end } });
  });

  test('bodies that name a hash, a creator, another namespace, no scope or an unknown one', async () => {
    const name = 'forged';
    for (const body of [
      { name, scopes: ['read'], sha256: hashCredential('mine') },
      { name, scopes: ['read'], createdBy: 'the platform' },
      { name, scopes: ['read'], namespace: 'other' },
      { name, scopes: [] },
      { name, scopes: ['admin'] },
      { name, scopes: ['read'], expiresAt: 'never' },
      { name: 'Forged', scopes: ['read'] },
      { name: '../other/forged', scopes: ['read'] },
      [],
    ])
      expect(await ask('post', tokens, acmeToken, body)).toMatchObject({ status: 400 });
    expect(await ask('post', tokens, acmeToken, { name: 'shown', scopes: ['read'] })).toMatchObject({
      status: 409,
    });
  });

  test("ending or seeing another organisation's token", async () => {
    const token = await aToken('safe', ['read']);
    expect(await ask('delete', `${tokens}/safe`, otherToken)).toMatchObject({ status: 404 });
    expect(JSON.stringify((await ask('get', tokens, otherToken)).data)).not.toContain('safe');
    expect(await isKnown(token)).toBe(true);
  });

  test('writing the hash of a foreign token into an own namespace', async () => {
    const token = await aToken('copied', ['read']);
    const organisationOf = async (of: string) =>
      recordOf((await ask('get', `${managePrefix}/me`, of)).data['organisation'])['namespace'];
    const copy = (name: string, of: string) =>
      host.resources.apply({
        manager: 'kubectl',
        kind: 'DashboardToken',
        key: { namespace: 'other', name },
        spec: { name, sha256: hashCredential(of), scopes: ['write'] },
      });
    host.clock.advance(5_000);
    await copy('copy', token);
    // Never theirs: of two that are equally old neither counts.
    expect([undefined, 'acme']).toContain(await organisationOf(token));
    await copy('platform', acmeToken);
    expect(await organisationOf(acmeToken)).toBe('acme');
    await host.resources.delete('DashboardToken', { namespace: 'other', name: 'copy' });
    expect(await organisationOf(token)).toBe('acme');

    const late = 'late-token-0123456789';
    await copy('late', late);
    await applyOrganisation(host.resources, 'late', {
      namespace: 'late',
      tokens: [{ name: 'late', sha256: hashCredential(late), expiresAt: new Date(0).toISOString() }],
    });
    expect(await isKnown(late)).toBe(false);
  });

  test('an object in a namespace that has lost its organisation', async () => {
    const token = 'former-token-0123456789';
    await applyOrganisation(host.resources, 'former', { namespace: 'former' });
    await host.resources.apply({
      manager: 'kubectl',
      kind: 'DashboardToken',
      key: { namespace: 'former', name: 'x' },
      spec: { name: 'x', sha256: hashCredential(token), scopes: ['write'] },
    });
    expect(await isKnown(token)).toBe(true);
    await host.resources.delete('Organisation', { name: 'former' });
    expect(await isKnown(token)).toBe(false);
  });
});
