import { beforeAll, describe, expect, test } from '@jest/globals';
import { Ajv2020 } from 'ajv/dist/2020.js';
import { systemTimers } from '../../adapters/timers.js';
import { hashCredential } from '../../core/config/api-key.js';
import { silentLogger } from '../../core/log.js';
import { tokenScopes, type TokenScope } from '../../core/resources/dashboard-token.js';
import { followTokens } from '../../server/dashboard/ended-tokens.js';
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
import { until } from '../support/until.js';
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

const listPaymasters = manageEndpoints.find(({ operationId }) => operationId === 'listObjectsPaymaster')!;

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
  // The list of keys with names shows none of the keys.
  const keyed = open.filter(({ path }) => /key|resume/.test(path));
  expect(keyed.map(({ operationId }) => operationId)).toEqual(['listPaymasterKeys']);
  expect(keyed.map(({ schema }) => JSON.stringify(schema)).join()).not.toContain('"key":');
  const changing = manageEndpoints.filter(({ method, needs = [] }) => method !== 'get' && needs.length > 0);
  expect(
    changing.map(({ path }) => path).filter((path) => !/suspend$|explain$|^\/what-if$/.test(path)),
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
    let shown: Readonly<Record<string, unknown>> = {};
    // What a call notes is written beside it.
    await until('its use is noted', async () => {
      const { data } = await ask('get', tokens, token);
      shown = recordsOf(data['items']).find(({ name }) => name === 'shown') ?? {};
      return shown['lastUsedAt'] !== null;
    });
    const { lastUsedAt, ...listed } = shown;
    expect(Math.abs(Date.parse(String(lastUsedAt)) - host.clock.now())).toBeLessThan(3_600_000);
    expect(listed).toEqual({
      name: 'shown',
      scopes: ['read', 'stop'],
      expiresAt,
      createdBy: 'acme-ci',
      endsWith: 'acme-ci',
    });
    await aToken('unused', ['read']);
    const others = recordsOf((await ask('get', tokens, token)).data['items']);
    expect(others.find(({ name }) => name === 'unused')).toMatchObject({ lastUsedAt: null });
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

  test.each(['stop', 'finance'] as const)(
    'with %s lists name, chain and suspended of paymasters, and sees nothing else of them',
    async (scope) => {
      const token = only.get(scope)!;
      const spec = { name: `listed by ${scope}`, chainId, type: 'HYBRID', version: '1.1.0' };
      const name = `listed-${scope}`;
      const body = { name, labels: { team: 'growth' }, spec };
      const { data: made } = await ask('post', `${managePrefix}/paymasters`, acmeToken, body);
      const listed = async () => {
        const { data } = await ask('get', `${managePrefix}/paymasters`, token);
        return recordsOf(data['items']).find((item) => item['name'] === name);
      };
      const seen = { name, id: made['id'], spec: { name: spec.name, chainId } };
      expect(await listed()).toEqual(seen);
      await ask('post', `${managePrefix}/paymasters/${name}/suspend`, acmeToken);
      const suspended = { ...seen, spec: { ...seen.spec, suspended: true } };
      expect(await listed()).toEqual(suspended);
      const schema = listPaymasters.schema ?? {};
      expect(
        new Ajv2020({ strict: false, validateFormats: false }).validate(schema, {
          items: [suspended],
          nextCursor: null,
        }),
      ).toBe(true);
      // Nor by another way.
      const answer = await ask('post', `${managePrefix}/paymasters/${name}/suspend`, token);
      if (scope === 'stop') expect(answer).toEqual({ status: 200, data: suspended });
      expect((await ask('get', `${managePrefix}/paymasters/${name}`, token)).status).toBe(403);
      const both = await aToken(`read-${scope}`, ['read', scope]);
      const { data } = await ask('get', `${managePrefix}/paymasters`, both);
      expect(recordsOf(data['items']).find((item) => item['name'] === name)).toMatchObject({
        labels: { team: 'growth' },
        createdBy: 'acme-ci',
      });
    },
  );

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

describe('tokens that a token has made', () => {
  const rootToken = (name: string) => `${name}-root-0123456789`;
  const listOf = (name: string, more: object = {}) => [
    { name, sha256: hashCredential(rootToken(name)), ...more },
  ];
  /** An organisation of its own, whose only token is the first one of a line. */
  async function anOrganisation(name: string): Promise<{ readonly root: string; readonly line: string[] }> {
    const root = rootToken(name);
    await applyOrganisation(host.resources, name, { namespace: name, tokens: listOf(name) });
    const child = await aToken('child', ['write'], { by: root });
    const grandchild = await aToken('grandchild', ['write'], { by: child });
    return { root, line: [child, grandchild] };
  }
  const known = async (all: readonly string[]) => Promise.all(all.map(isKnown));
  const stored = async (namespace: string) =>
    (await host.resources.list('DashboardToken', { namespace })).map(({ metadata }) => metadata.name);

  test('end with it, at all depths, and are deleted: the thief of a token keeps nothing', async () => {
    const { root, line } = await anOrganisation('one');
    expect(await known([root, ...line])).toEqual([true, true, true]);
    expect(await ask('delete', `${tokens}/child`, root)).toMatchObject({ status: 200 });
    expect(await known([root, ...line])).toEqual([true, false, false]);
    expect(await stored('one')).toEqual([]);
  });

  test('end with one of the Organisation that is removed, and adding its hash again revives none', async () => {
    const { root, line } = await anOrganisation('two');
    const following = followTokens({
      resources: host.resources,
      clock: host.clock,
      log: silentLogger,
      timers: systemTimers,
    });
    try {
      await applyOrganisation(host.resources, 'two', { namespace: 'two', tokens: [] });
      expect(await known([root, ...line])).toEqual([false, false, false]);
      await until('they are deleted', async () => (await stored('two')).length === 0);
      await applyOrganisation(host.resources, 'two', { namespace: 'two', tokens: listOf('two') });
      expect(await known([root, ...line])).toEqual([true, false, false]);
    } finally {
      await following.stop();
    }
  });

  test('are refused with an Organisation that was deleted and made again, until they are adopted', async () => {
    const { root, line } = await anOrganisation('three');
    await host.resources.delete('Organisation', { name: 'three' });
    await applyOrganisation(host.resources, 'three', { namespace: 'three', tokens: listOf('three') });
    expect(await known([root, ...line])).toEqual([true, false, false]);
    expect(await ask('post', `${tokens}/child/adopt`, root)).toMatchObject({ status: 200 });
    expect(await known([root, ...line])).toEqual([true, true, true]);
  });

  test('end when it expires, also where its end was moved', async () => {
    const { root, line } = await anOrganisation('four');
    const expiresAt = new Date(host.clock.now() + 30_000).toISOString();
    const moved = listOf('four', { expiresAt });
    await applyOrganisation(host.resources, 'four', { namespace: 'four', tokens: moved });
    expect(await known([root, ...line])).toEqual([true, true, true]);
    host.clock.advance(30_001);
    expect(await known([root, ...line])).toEqual([false, false, false]);
  });

  test('outlive it when they were adopted before, with all below them', async () => {
    const { root, line } = await anOrganisation('five');
    const next = 'five-next-0123456789';
    const both = [...listOf('five'), { name: 'next', sha256: hashCredential(next) }];
    await applyOrganisation(host.resources, 'five', { namespace: 'five', tokens: both });
    const adopted = await ask('post', `${tokens}/child/adopt`, next);
    expect(adopted).toMatchObject({ status: 200, data: { name: 'child', endsWith: 'next' } });
    await applyOrganisation(host.resources, 'five', { namespace: 'five', tokens: both.slice(1) });
    expect(await known([root, next, ...line])).toEqual([false, true, true, true]);
  });

  test('are at most sixteen below one, at all depths together', async () => {
    const { root, line } = await anOrganisation('six');
    const [child = ''] = line;
    for (let index = 2; index < 16; index += 1) await aToken(`t${index}`, ['read'], { by: child });
    for (const by of [child, root])
      expect(await ask('post', tokens, by, { name: 'one-more', scopes: ['read'] })).toMatchObject({
        status: 400,
        data: { code: 'QUOTA_EXCEEDED', detail: expect.stringContaining('"six" end as many') },
      });
  });

  test('cannot be brought out of reach, nor the tokens of others brought down', async () => {
    const { root, line } = await anOrganisation('seven');
    const [child = '', grandchild = ''] = line;
    const adopt = async (name: string, by: string) => ask('post', `${tokens}/${name}/adopt`, by);
    const refused = { status: 409, data: { code: 'TOKEN_NOT_ADOPTABLE' } };
    // A token below itself would end with nothing.
    expect(await adopt('child', grandchild)).toMatchObject(refused);
    expect(await adopt('child', child)).toMatchObject(refused);
    // One of a manifest ends when the manifest says so.
    await host.resources.apply({
      manager: 'manifests',
      kind: 'DashboardToken',
      key: { namespace: 'seven', name: 'of-git' },
      spec: { name: 'of git', sha256: hashCredential('of-git-0123456789'), scopes: ['write'] },
    });
    expect(await adopt('of-git', child)).toMatchObject(refused);
    expect(await adopt('child', acmeToken)).toMatchObject({ status: 404 });
    // One that ends later than the own token.
    const end = new Date(host.clock.now() + 60_000).toISOString();
    const ending = await aToken('ending', ['write'], { by: root, expiresAt: end });
    expect(await adopt('child', ending)).toMatchObject({ status: 403 });
    expect(await known([root, ...line])).toEqual([true, true, true]);
  });
});

describe('nobody gets more by', () => {
  test('making or adopting a token without the scope write, be it one of the own scope', async () => {
    await aToken('to-be-adopted', ['read']);
    for (const held of ['read', 'stop', 'finance'] as const)
      for (const [path, body] of [
        [tokens, { name: `more-${held}`, scopes: [held] }],
        [`${tokens}/to-be-adopted/adopt`, undefined],
      ] as const)
        expect(await ask('post', path, only.get(held)!, body)).toMatchObject({
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
      { name, scopes: ['read'], parent: { sha256: hashCredential(acmeToken), uid: '1' } },
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
