import { createCipheriv, createHmac, randomBytes } from 'node:crypto';
import { describe, expect, test } from '@jest/globals';
import { hashCredential } from '../../core/config/api-key.js';
import { createLogger } from '../../adapters/log/pino-logger.js';
import { DomainError } from '../../core/errors.js';
import type { EpochMs } from '../../core/units/time.js';
import { isThisMachine } from '../../server/dashboard/console/routes.js';
import { createSignInCode } from '../../standalone/auth-token.js';
import {
  acmeToken,
  applyOrganisation,
  otherToken,
  prefix,
  recordOf,
  sessionKey,
} from '../build/dashboard.js';
import type { DashboardHost } from '../build/dashboard.js';
import { masterKeys } from '../build/operator.js';
import { useDashboard } from '../support/use-dashboard.js';

// Sessions of the console: someone who has no token, or another page in the owner's browser, tries to act as the owner.

const lines: string[] = [];
const codes = new Map<string, string>();
const host = useDashboard({
  trustedProxies: 1,
  log: createLogger({ level: 'debug', destination: { write: (line: string) => void lines.push(line) } }),
  consoleCode: (code) => {
    const token = codes.get(code);
    codes.delete(code);
    return token;
  },
});

type SignIn = {
  readonly status: number;
  readonly setCookie: string;
  readonly cookie: string;
  readonly csrf: string;
};
let clients = 0;
const page = 'http://127.0.0.1';

/** Each from another address, since attempts are counted by address. */
async function signIn(
  body: object,
  headers: Readonly<Record<string, string>> = {},
  at: DashboardHost = host,
): Promise<SignIn> {
  clients += 1;
  const response = await at.fetch('/console/session', {
    method: 'POST',
    headers: {
      'content-type': 'application/json',
      'x-forwarded-for': `10.0.${clients >> 8}.${clients & 255}`,
      origin: page,
      ...headers,
    },
    body: JSON.stringify(body),
  });
  const text = await response.text();
  const setCookie = response.headers.get('set-cookie') ?? '';
  const { csrf } = recordOf(text === '' ? {} : JSON.parse(text));
  return { status: response.status, setCookie, cookie: setCookie.split(';')[0] ?? '', csrf: String(csrf) };
}

async function me(headers: Readonly<Record<string, string>>, at: DashboardHost = host): Promise<number> {
  const response = await at.fetch('/manage/v1/me', { headers });
  await response.text();
  return response.status;
}

const signOut = (session: SignIn, at: DashboardHost = host): Promise<Response> =>
  at.fetch('/console/session', { method: 'DELETE', headers: own(session) });

/** A session that no dashboard began: sealed as `sessions.ts` says. */
function sealedOffline(
  secret: Uint8Array,
  content: { readonly csrf: string; readonly [member: string]: unknown },
): Readonly<Record<string, string>> {
  const iv = randomBytes(12);
  const cipher = createCipheriv('aes-256-gcm', secret, iv);
  const sealed = [iv, cipher.update(JSON.stringify(content)), cipher.final(), cipher.getAuthTag()];
  const cookie = `paymaster-session=${Buffer.concat(sealed).toString('base64url')}`;
  return { cookie, 'x-csrf-token': content.csrf };
}

/** A change; that there is no such paymaster shows that the session was taken. */
async function suspend(session: SignIn, at: DashboardHost): Promise<number> {
  const path = '/manage/v1/paymasters/nothing/suspend';
  return (await at.fetch(path, { method: 'POST', headers: own(session) })).status;
}

const own = ({ cookie, csrf }: SignIn) => ({ cookie, 'x-csrf-token': csrf });

describe('the owner', () => {
  test('signs in with a token, calls both APIs without it, also on another replica, and finds the session again', async () => {
    const session = await signIn({ token: acmeToken });
    expect(session.setCookie).toMatch(
      /^paymaster-session=[\w-]+; Path=\/; Max-Age=43200; HttpOnly; SameSite=Strict$/,
    );
    expect(await me(own(session))).toBe(200);
    expect((await host.fetch(`${prefix}/paymaster`, { headers: own(session) })).status).toBe(200);
    const other = await host.beside();
    expect(await me(own(session), other)).toBe(200);
    expect(await signIn({}, { cookie: session.cookie })).toMatchObject({ status: 200, csrf: session.csrf });
    await other.stop();
  });

  test('gets a cookie that only TLS carries where the page came by TLS', async () => {
    const { setCookie } = await signIn({ token: acmeToken }, { origin: 'https://console.example.com' });
    expect(setCookie).toMatch(/^__Host-paymaster-session=[\w-]+; Path=\/; .*; SameSite=Strict; Secure$/);
  });
});

describe('another page in the browser', () => {
  test.each(['GET', 'POST'])('gets nothing with the cookie alone (%s)', async (method) => {
    const { cookie } = await signIn({ token: acmeToken });
    for (const path of [`${prefix}/paymaster`, '/manage/v1/me']) {
      const response = await host.fetch(path, { method, headers: { cookie } });
      expect([401, 404]).toContain(response.status);
      expect(await response.text()).not.toContain('"data"');
    }
    expect(await me({ cookie })).toBe(401);
  });

  test("gets nothing with the CSRF token of the attacker's own session", async () => {
    const [victim, attacker] = [await signIn({ token: acmeToken }), await signIn({ token: otherToken })];
    expect(await me({ cookie: victim.cookie, 'x-csrf-token': attacker.csrf })).toBe(401);
    expect(await me({ cookie: victim.cookie, 'x-csrf-token': '' })).toBe(401);
  });

  test('may not send the CSRF header, nor read what the console is told', async () => {
    const { cookie } = await signIn({ token: acmeToken });
    const origin = 'https://evil.example';
    for (const path of ['/manage/v1/me', `${prefix}/paymaster`]) {
      const preflight = await host.fetch(path, {
        method: 'OPTIONS',
        headers: { origin, 'access-control-request-headers': 'x-csrf-token' },
      });
      expect(preflight.headers.get('access-control-allow-headers')?.toLowerCase()).not.toContain('csrf');
      expect(preflight.headers.get('access-control-allow-credentials')).toBeNull();
    }
    const answer = await host.fetch('/console/session', { method: 'POST', headers: { origin, cookie } });
    expect(answer.headers.get('access-control-allow-origin')).toBeNull();
  });

  test('cannot sign the owner in as the attacker', async () => {
    expect(await signIn({ token: otherToken }, { 'sec-fetch-site': 'cross-site' })).toMatchObject({
      status: 401,
      setCookie: '',
    });
    expect(await signIn({ token: otherToken }, { 'sec-fetch-site': 'same-site' })).toMatchObject({
      status: 401,
      setCookie: '',
    });
    // The only kinds of body that a form can send.
    for (const type of ['text/plain', 'application/x-www-form-urlencoded'])
      expect(await signIn({ token: otherToken }, { 'content-type': type })).toMatchObject({ setCookie: '' });
  });

  test('cannot plant its own session from a neighbouring domain: over TLS the plain name is not read', async () => {
    const planted = await signIn({ token: otherToken });
    const answer = await signIn(
      {},
      { cookie: planted.cookie, origin: 'https://console.example.com', 'sec-fetch-site': 'same-origin' },
    );
    expect(answer).toMatchObject({ status: 204, setCookie: '' });
  });

  test('cannot sign the owner out', async () => {
    const session = await signIn({ token: acmeToken });
    await host.fetch('/console/session', { method: 'DELETE', headers: { cookie: session.cookie } });
    expect(await me(own(session))).toBe(200);
  });

  test('cannot frame the console, and the console loads nothing from elsewhere', async () => {
    const { headers } = await host.fetch('/console/session', { method: 'POST' });
    const policy = headers.get('content-security-policy') ?? '';
    expect(policy).toContain("default-src 'none'");
    expect(policy).toContain("frame-ancestors 'none'");
    expect(policy).not.toContain('unsafe');
    expect(policy).not.toContain('http');
    expect(headers.get('x-content-type-options')).toBe('nosniff');
    expect(headers.get('referrer-policy')).toBe('no-referrer');
    expect(headers.get('cache-control')).toBe('no-store');
  });
});

describe('a thief', () => {
  test('of a cookie has no session on any replica after the owner signed out, and other sessions go on', async () => {
    const [session, another] = [await signIn({ token: acmeToken }), await signIn({ token: acmeToken })];
    const other = await host.beside();
    expect(await me(own(session), other)).toBe(200);
    const response = await signOut(session);
    expect(response.headers.get('set-cookie')).toContain('paymaster-session=; Path=/; Max-Age=0');
    for (const at of [host, other, await host.beside()]) {
      expect(await me(own(session), at)).toBe(401);
      expect(await suspend(session, at)).toBe(401);
      expect((await at.fetch(`${prefix}/paymaster`, { headers: own(session) })).status).toBe(401);
      expect(await signIn({}, { cookie: session.cookie }, at)).toMatchObject({ status: 204 });
      expect(await me(own(another), at)).toBe(200);
    }
    await other.stop();
  });

  test('of a cookie changes nothing while the database, which remembers who signed out, is away', async () => {
    const session = await signIn({ token: acmeToken });
    await signOut(session);
    const gone = () => Promise.reject(new DomainError('UNAVAILABLE', 'the database does not answer'));
    const messages = {
      putText: gone,
      addText: gone,
      getText: gone,
      getTexts: gone,
      takeText: gone,
    };
    const cutOff = await host.beside({ texts: messages });
    expect(await suspend(session, cutOff)).toBe(503);
    // Somebody who signs in meanwhile sees what is wrong, and is told that he cannot sign out.
    const owner = await signIn({ token: acmeToken }, {}, cutOff);
    expect(await me(own(owner), cutOff)).toBe(200);
    const response = await signOut(owner, cutOff);
    expect([response.status, response.headers.get('set-cookie')]).toEqual([503, null]);
    expect(await me(own(owner))).toBe(200);
    // A token needs no session.
    expect((await cutOff.call('GET', '/paymaster', { token: acmeToken })).status).toBe(200);
    await cutOff.stop();
  });

  test('of a token signs in sixty times a minute, from however many addresses', async () => {
    const now = host.clock.now();
    const one = await host.beside({ trustedProxies: 1, clock: { now: () => now } });
    const colleague = 'a-token-of-a-colleague-0123456789';
    await applyOrganisation(host.resources, 'acme', {
      namespace: 'acme',
      tokens: [acmeToken, colleague].map((token) => ({
        name: `of-${token}`,
        sha256: hashCredential(token),
      })),
    });
    const statuses: number[] = [];
    for (let times = 0; times < 62; times += 1)
      statuses.push((await signIn({ token: acmeToken }, {}, one)).status);
    expect(statuses.filter((status) => status === 200)).toHaveLength(60);
    expect(statuses.slice(60)).toEqual([429, 429]);
    expect((await signIn({ token: otherToken }, {}, one)).status).toBe(200);
    // A colleague of the same organisation, whose token only reads, did not lock the owner out.
    expect((await signIn({ token: colleague }, {}, one)).status).toBe(200);
    await one.stop();
  });

  test('has none, on any replica, once the token is removed', async () => {
    const token = 'a-token-that-leaks-0123456789';
    await applyOrganisation(host.resources, 'acme', {
      namespace: 'acme',
      tokens: [
        { name: 'acme-ci', sha256: hashCredential(acmeToken) },
        { name: 'leaked', sha256: hashCredential(token) },
      ],
    });
    const session = await signIn({ token });
    expect(await me(own(session))).toBe(200);
    await applyOrganisation(host.resources, 'acme', {
      namespace: 'acme',
      tokens: [{ name: 'acme-ci', sha256: hashCredential(acmeToken) }],
    });
    expect(await me(own(session))).toBe(401);
    expect(await signIn({}, { cookie: session.cookie })).toMatchObject({ status: 204 });
  });

  test('who changes a cookie, or seals one under another key, has no session', async () => {
    const session = await signIn({ token: acmeToken });
    const value = session.cookie.slice('paymaster-session='.length);
    const bytes = Buffer.from(value, 'base64url');
    for (const at of [0, 12, 40, bytes.length - 1]) {
      const changed = Buffer.from(bytes);
      changed[at] = (changed[at] ?? 0) ^ 1;
      const cookie = `paymaster-session=${changed.toString('base64url')}`;
      expect(await me({ ...own(session), cookie })).toBe(401);
    }
    const elsewhere = await host.beside({ sessionKey: () => Buffer.alloc(32, 7) });
    const foreign = await signIn({ token: acmeToken }, {}, elsewhere);
    expect(await me(own(foreign), elsewhere)).toBe(200);
    expect(await me(own(foreign))).toBe(401);
    await elsewhere.stop();
  });

  // Manifests hold the hash of every token, and rotations bring master keys into many hands.
  test.each([
    { name: 'the key of sessions', secret: sessionKey },
    {
      name: 'master.key',
      secret: createHmac('sha256', masterKeys.current).update('["console session"]').digest(),
    },
    { name: 'webhook-master.key', secret: masterKeys.webhook },
  ])('of $name and of the hash of a token makes no session', async ({ secret }) => {
    const until = host.clock.now() + 3_600_000;
    const csrf = 'made-offline';
    const sha256 = hashCredential(acmeToken);
    for (const content of [
      { sha256, until, csrf },
      { authToken: sha256, until, csrf },
      { authToken: sha256, sha256, until, csrf },
      { authToken: null, sha256, until, csrf },
    ])
      expect(await me(sealedOffline(secret, content))).toBe(401);
  });

  test('of the key of sessions and of a token gets no session beyond twelve hours', async () => {
    const now = host.clock.now();
    const until = async (time: unknown): Promise<number> =>
      me(sealedOffline(sessionKey, { authToken: acmeToken, until: time, csrf: 'made-offline' }));
    expect(await until(now + 3_600_000)).toBe(200);
    for (const late of [now + 13 * 3_600_000, Date.UTC(2036, 0, 1), Number.MAX_VALUE, null, '9999999999999'])
      expect(await until(late)).toBe(401);
  });

  test('finds neither token nor hash in cookie, answer or log', async () => {
    const session = await signIn({ token: acmeToken });
    const value = Buffer.from(session.cookie.split('=')[1] ?? '', 'base64url').toString('latin1');
    const seen = `${lines.join('')} ${JSON.stringify(session)} ${value}`;
    expect(lines.join('')).toContain('console sign-in');
    for (const secret of [acmeToken, hashCredential(acmeToken)]) expect(seen).not.toContain(secret);
    expect(lines.join('')).not.toContain(session.csrf);
    expect(lines.join('')).not.toContain(session.cookie);
  });

  test('who signs in often from the address of others does not lock them out', async () => {
    const address = { 'x-forwarded-for': '192.0.2.7' };
    for (let times = 0; times < 12; times += 1)
      expect((await signIn({ token: acmeToken }, address)).status).toBe(200);
  });

  test('who guesses tokens, all at once, has ten guesses', async () => {
    const address = { 'x-forwarded-for': '192.0.2.2' };
    const now = host.clock.now();
    const one = await host.beside({ trustedProxies: 1, clock: { now: () => now } });
    const guesses = Array.from({ length: 30 }, (_, guess) =>
      signIn({ token: `guess-${guess}` }, address, one),
    );
    const statuses = (await Promise.all(guesses)).map(({ status }) => status);
    expect(statuses.filter((status) => status === 401)).toHaveLength(10);
    await one.stop();
  });

  test('who guesses tokens is slowed down after ten', async () => {
    const address = { 'x-forwarded-for': '192.0.2.1' };
    const now = host.clock.now();
    const one = await host.beside({ trustedProxies: 1, clock: { now: () => now } });
    const statuses = [];
    for (let guess = 0; guess < 12; guess += 1)
      statuses.push((await signIn({ token: `guess-${guess}` }, address, one)).status);
    expect(statuses).toEqual([...Array.from({ length: 10 }, () => 401), 429, 429]);
    expect((await signIn({ token: acmeToken }, {}, one)).status).toBe(200);
    await one.stop();
  });
});

test('a session ends after twelve hours', async () => {
  const session = await signIn({ token: acmeToken });
  const later = (ms: number) => ({ now: () => (host.clock.now() + ms) as EpochMs });
  const before = await host.beside({ clock: later(12 * 3_600_000 - 60_000) });
  const after = await host.beside({ clock: later(12 * 3_600_000 + 1) });
  expect(await me(own(session), before)).toBe(200);
  expect(await me(own(session), after)).toBe(401);
  await before.stop();
  await after.stop();
});

test('a dashboard without a console has no sessions', async () => {
  const bare = await host.beside({ hasConsole: false });
  expect((await bare.fetch('/console/session', { method: 'POST' })).status).toBe(404);
  await bare.stop();
});

describe('a code of sign-in', () => {
  test('signs in once, on this machine', async () => {
    codes.set('printed', acmeToken);
    const session = await signIn({ code: 'printed' });
    expect(await me(own(session))).toBe(200);
    expect(await signIn({ code: 'printed' })).toMatchObject({ status: 401, setCookie: '' });
    expect(await signIn({ code: 'guessed' })).toMatchObject({ status: 401, setCookie: '' });
  });

  test.each([
    { peer: '127.0.0.1', works: true },
    { peer: '::1', works: true },
    { peer: '::ffff:127.0.0.1', works: true },
    { peer: '192.0.2.2', works: false },
    { peer: '::ffff:10.0.0.1', works: false },
    { peer: '10.127.0.1', works: false },
    { peer: 'fd00::1', works: false },
    { peer: undefined, works: false },
  ])('from $peer is taken: $works', ({ peer, works }) => {
    expect(isThisMachine(peer)).toBe(works);
  });

  test('stands for the token once and for fifteen minutes', () => {
    let now = 0 as EpochMs;
    const made = () => createSignInCode({ authToken: acmeToken, clock: { now: () => now } });
    const [used, late] = [made(), made()];
    expect(used.redeem(late.code)).toBeUndefined();
    expect(used.redeem(used.code)).toBe(acmeToken);
    expect(used.redeem(used.code)).toBeUndefined();
    now = (15 * 60_000 + 1) as EpochMs;
    expect(late.redeem(late.code)).toBeUndefined();
  });
});
