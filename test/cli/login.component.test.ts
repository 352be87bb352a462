import { spawn } from 'node:child_process';
import { chmodSync, existsSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { hashCredential } from '../../core/config/api-key.js';
import { acmeToken, otherToken } from '../build/dashboard.js';
import { paymaster } from '../support/paymaster.js';
import { repositoryRoot } from '../support/repository-root.js';
import { until } from '../support/until.js';
import { useDashboard } from '../support/use-dashboard.js';

const platformToken = 'platform-token-0123456789';
const platformHash = hashCredential(platformToken);
const host = useDashboard({
  platformTokens: { nameOf: (sha256) => Promise.resolve(sha256 === platformHash ? 'night' : undefined) },
});
let folder: string;
let file: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'login-'));
  file = join(folder, 'paymaster/config.yaml');
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

const run = (args: readonly string[], { env = {}, token = '' } = {}) =>
  paymaster(args, { XDG_CONFIG_HOME: folder, ...env }, token);
const login = (more: readonly string[] = [], token = acmeToken, url = host.origin) =>
  run(['login', url, ...more], { token: `${token}\n` });

describe('paymaster login', () => {
  test('keeps the token for its owner alone, and shows it nowhere', async () => {
    const { out, error, status } = await login();
    expect({ out, status }).toEqual({ out: '', status: 0 });
    expect(error).toMatch(
      /^organisation acme, token "acme-ci" \(read, stop, finance, write\); kept as context "default" in /,
    );
    expect(statSync(file).mode & 0o777).toBe(0o600);
    expect(statSync(dirname(file)).mode & 0o777).toBe(0o700);
    const shown = await run(['context', 'list', '-o', 'json']);
    expect(JSON.parse(shown.out)).toEqual({
      contexts: [{ name: 'default', url: expect.stringMatching(/^http:\/\/127/), current: true }],
    });
    for (const text of [error, shown.out, (await run(['context', 'list'])).out])
      expect(text).not.toContain(acmeToken);
  });

  test('keeps several servers; use and delete choose between them', async () => {
    await login(['--context', 'acme']);
    await login(['--context', 'other'], otherToken);
    const contexts = async () => (await run(['context', 'list'])).out.replaceAll(/ +http\S+/g, '');
    expect(await contexts()).toBe('  acme\n* other\n');
    await run(['context', 'use', 'acme']);
    expect(await contexts()).toBe('* acme\n  other\n');
    expect(await run(['context', 'delete', 'acme'])).toEqual({
      status: 1,
      out: '',
      error: `"acme" is the server ${host.origin} and its token\nerror: nothing was deleted: --yes deletes it here\n`,
    });
    expect(await contexts()).toBe('* acme\n  other\n');
    await run(['context', 'delete', 'acme', '--yes']);
    expect(await contexts()).toBe('  other\n');
    expect(readFileSync(file, 'utf8')).not.toContain(acmeToken);
    expect(await run(['context', 'use', 'acme'])).toMatchObject({ status: 2 });
  });

  test.each([
    {
      name: 'a token that the server does not accept',
      token: 'mistyped',
      status: 1,
      says: 'does not accept the token',
    },
    { name: 'no token', token: '', status: 2, says: 'the token must be one line' },
    { name: 'two lines', token: `${acmeToken}\nx`, status: 2, says: 'the token must be one line' },
  ])('writes nothing for $name, and quotes nothing of it', async ({ token, status, says }) => {
    const ended = await login([], token);
    expect(ended).toMatchObject({ status, error: expect.stringContaining(says) });
    if (token !== '') expect(ended.error).not.toContain(token);
    expect(existsSync(file)).toBe(false);
  });

  test.each([
    { url: 'http://paymaster.example.org', says: '--insecure allows it' },
    { url: 'http://127.0.0.1.example.org', says: '--insecure allows it' },
    { url: 'http://localhost@example.org', says: 'without user, query and fragment' },
    { url: 'https://example.org/?token=1', says: 'without user, query and fragment' },
    { url: 'ftp://127.0.0.1', says: 'must be an http or https URL' },
    { url: 'paymaster', says: 'must be an http or https URL' },
  ])('asks for no token for $url', async ({ url, says }) => {
    const ended = await login([], acmeToken, url);
    expect(ended).toMatchObject({ status: 2, error: expect.stringContaining(says) });
    expect(existsSync(file)).toBe(false);
  });

  test('says that nobody is there, apart from a token that is wrong', async () => {
    expect(await login([], acmeToken, 'http://127.0.0.1:1')).toMatchObject({
      status: 3,
      error: expect.stringContaining('http://127.0.0.1:1 does not answer'),
    });
  });

  test('a server that sends us elsewhere does not get the token there', async () => {
    const asked: string[] = [];
    const thief = createServer((request, response) => {
      asked.push(request.url ?? '');
      const { port } = thief.address() as AddressInfo;
      response.writeHead(307, { location: `http://localhost:${port}/stolen` }).end();
    });
    await new Promise<void>((resolve) => thief.listen(0, '127.0.0.1', resolve));
    const { port } = thief.address() as AddressInfo;
    expect(await login([], acmeToken, `http://127.0.0.1:${port}`)).toMatchObject({ status: 3 });
    expect(asked).toEqual(['/manage/v1/me']);
    await new Promise((resolve) => thief.close(resolve));
  });

  test('what others may read, or is not what login writes, is not used, and nothing of it is quoted', async () => {
    await login();
    chmodSync(file, 0o640);
    for (const args of [
      ['context', 'list'],
      ['login', host.origin],
    ]) {
      const ended = await run(args, { token: acmeToken });
      expect(ended).toMatchObject({ status: 2, error: expect.stringContaining(`chmod 600 ${file}`) });
    }
    chmodSync(file, 0o600);
    const ofContext = (members: string) => `contexts: [{ name: a, url: u, ${members} }]\n`;
    for (const { text, says } of [
      { text: `token: "${acmeToken}\n  x: [`, says: 'must be YAML as "paymaster login" writes it' },
      { text: `contexts: [{ name: a, token: ${acmeToken} }]\n`, says: 'contexts[0].url must be a text' },
      { text: ofContext(`token: [${acmeToken}]`), says: 'contexts[0].token must be a text' },
      { text: ofContext(`token: x, ${acmeToken}: 1`), says: 'contexts[0] must be without members but name,' },
      { text: ofContext(`token: x, insecure: ${acmeToken}`), says: 'insecure must be true or false' },
      {
        text: ofContext('token: x').replace(': a', ': a b'),
        says: 'contexts[0].name must be letters, digits',
      },
      { text: `contexts: ${acmeToken}\n`, says: 'contexts must be a list' },
      { text: `contexts: []\ncurrent: "${acmeToken} x"\n`, says: 'current must be letters, digits' },
      { text: `contexts: []\n${acmeToken}: a\n`, says: 'must be without members but contexts and current' },
    ]) {
      writeFileSync(file, text);
      const { error, status } = await run(['context', 'list']);
      expect(status).toBe(2);
      expect(error).toContain(says);
      expect(error).not.toContain(acmeToken);
    }
  });

  test('is not asked for where the name of its context could not be read again', async () => {
    const ended = await run(['login', host.origin, '--context', 'a b'], { token: acmeToken });
    expect(ended).toMatchObject({
      status: 2,
      error: expect.stringContaining('--context must be letters, digits'),
    });
  });

  test.each([{ PAYMASTER_URL: 'https://thief.example' }, { PAYMASTER_TOKEN_FILE: '/dev/null' }])(
    'never mixes half of the environment (%j) with a kept token',
    async (env) => {
      await login();
      expect(await run(['usage'], { env })).toMatchObject({
        status: 2,
        error: expect.stringContaining('PAYMASTER_URL must be given together with PAYMASTER_TOKEN_FILE'),
      });
    },
  );

  test('is not needed with PAYMASTER_URL and PAYMASTER_TOKEN_FILE; --context goes before them', async () => {
    const token = join(folder, 'token');
    writeFileSync(token, `${otherToken}\n`);
    const env = { PAYMASTER_URL: host.origin, PAYMASTER_TOKEN_FILE: token };
    const nameOf = async (args: readonly string[]) =>
      JSON.parse((await run([...args, '-o', 'json'], { env })).out).organisation.name;
    expect(await nameOf(['me'])).toBe('other');
    await login();
    expect(await nameOf(['me'])).toBe('other');
    expect(await nameOf(['me', '--context', 'default'])).toBe('acme');
    expect(await run(['me', '--context', 'none'])).toMatchObject({
      status: 2,
      error: expect.stringContaining('no context is called "none" (known: default)'),
    });
  });

  describe('with a token of the platform', () => {
    test('keeps it beside that of an organisation, and each command takes its own', async () => {
      await login();
      const kept = await login([], platformToken);
      expect(kept).toMatchObject({
        status: 0,
        error: expect.stringMatching(
          /^token of the platform, for "paymaster platform" alone; kept as context "platform" in /,
        ),
      });
      expect((await run(['context', 'list'])).out).toBe(
        `* default  ${host.origin}\n  platform  ${host.origin}  (platform)\n`,
      );
      const { items } = JSON.parse((await run(['platform', 'organisations', '-o', 'json'])).out);
      expect(items).toEqual(expect.arrayContaining([expect.objectContaining({ name: 'acme' })]));
      expect(JSON.parse((await run(['me', '-o', 'json'])).out).organisation.name).toBe('acme');
    });

    test('is asked for where an organisation signed in alone', async () => {
      await login();
      for (const more of [[], ['--context', 'default']])
        expect(await run(['platform', 'chains', ...more])).toMatchObject({
          status: 2,
          error: expect.stringContaining(
            'needs a token of the platform (setting PAYMASTER_PLATFORM_TOKENS_FILE',
          ),
        });
    });

    test('is sent nowhere else: not as the chosen, the named or the only one', async () => {
      await login(['--context', 'night'], platformToken);
      expect(await run(['usage'])).toMatchObject({
        status: 2,
        error: expect.stringContaining('no server is chosen: "paymaster login URL"'),
      });
      await run(['context', 'use', 'night']);
      for (const args of [
        ['usage'],
        ['me', '--context', 'night'],
        ['export', '--server'],
        ['doctor', '--server'],
      ])
        expect(await run(args)).toMatchObject({
          status: 2,
          error: expect.stringContaining(
            'the context "night" holds a token of the platform: one of the platform is for "paymaster platform" alone',
          ),
        });
      expect(await run(['platform', 'chains'])).toMatchObject({ status: 0 });
    });

    test('of several servers, one has to be chosen', async () => {
      await login(['--context', 'a'], platformToken);
      await login(['--context', 'b'], platformToken);
      expect(await run(['platform', 'chains'])).toMatchObject({
        status: 2,
        error: expect.stringContaining('several contexts hold a token of the platform (a, b)'),
      });
      expect(await run(['platform', 'chains', '--context', 'b'])).toMatchObject({ status: 0 });
      await run(['context', 'use', 'a']);
      expect(await run(['platform', 'chains'])).toMatchObject({ status: 0 });
    });

    test.each([
      {
        token: platformToken,
        args: ['usage'],
        says: 'one of the platform is for "paymaster platform" alone',
      },
      {
        token: acmeToken,
        args: ['platform', 'chains'],
        says: 'PAYMASTER_PLATFORM_TOKENS_FILE of the dashboard',
      },
    ])('from a file, the answer to $args says which token is needed', async ({ token, args, says }) => {
      const file = join(folder, 'token');
      writeFileSync(file, token);
      const env = { PAYMASTER_URL: host.origin, PAYMASTER_TOKEN_FILE: file };
      const ended = await run(args, { env });
      expect(ended).toMatchObject({ status: 1, error: expect.stringContaining(says) });
      expect(ended.error).not.toContain(token);
    });
  });

  test('without any, a command says how to get one', async () => {
    expect(await run(['me'])).toMatchObject({
      status: 2,
      error: expect.stringContaining('paymaster login URL'),
    });
  });

  test('a terminal does not show the typed token', async () => {
    const command = `${join(repositoryRoot, 'bin/paymaster')} login http://127.0.0.1:1`;
    const typing = spawn('script', ['-qec', command, '/dev/null'], {
      env: { ...process.env, XDG_CONFIG_HOME: folder },
    });
    let shown = '';
    typing.stdout.setEncoding('utf8').on('data', (text: string) => (shown += text));
    await until('it asks', () => shown.includes('token for http://127.0.0.1:1: '));
    typing.stdin.write('typed-secret\r');
    await until('it has tried', () => shown.includes('does not answer'));
    typing.stdin.end();
    expect(shown).not.toContain('typed');
  });
});
