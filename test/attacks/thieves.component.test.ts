import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { deriveApiKey } from '../../core/config/api-key.js';
import { createPasses, passHeader } from '../../core/config/pass.js';
import type { EpochMs } from '../../core/units/time.js';
import { createSessions } from '../../server/dashboard/console/sessions.js';
import type { Connection } from '../../standalone/connection.js';
import { repositoryRoot } from '../support/repository-root.js';
import { until } from '../support/until.js';
import { dashboard, freshUserOp, rpc, rpcUrlFor } from '../system/support/client.js';
import {
  removeDataDirectory,
  startStandalone,
  type RunningStandalone,
} from '../system/support/standalone.js';

// SECURITY.md has a row for each secret: what a thief of it can do. Here he has that secret and everything that is public, and tries.

let running: RunningStandalone;
let connection: Required<Connection>;
const clock = { now: () => Date.now() as EpochMs };
const sponsored = { mode: 'SPONSORED' };

beforeAll(async () => {
  running = await startStandalone();
  connection = running.connection();
  await until('the quickstart sponsors', async () => {
    connection = running.connection();
    return connection.sponsoredContract !== undefined && (await asks(connection.rpcUrl)) === 'signed';
  });
});
afterAll(async () => {
  running?.signal('SIGKILL');
  await running?.ended;
  if (running !== undefined) removeDataDirectory(running.dataDirectory);
});

const fileText = (name: string): string => readFileSync(join(running.dataDirectory, name), 'utf8').trim();
const keyIn = (name: string): Buffer => Buffer.from(fileText(name), 'hex');

async function asks(url: string): Promise<unknown> {
  const { result, error } = await rpc(url, 'pm_sponsorUserOperation', [freshUserOp(connection), sponsored]);
  if (error !== undefined) return error.data?.['reason'] ?? error.message;
  return result?.['paymasterAndData'] === '0x' ? result['reason'] : 'signed';
}

async function explains(headers: Readonly<Record<string, string>>): Promise<unknown> {
  const params = [freshUserOp(connection), sponsored];
  const { result, error } = await rpc(connection.rpcUrl, 'pm_explainSponsorship', params, headers);
  return error?.data?.['reason'] ?? result;
}

async function statusOf(path: string, headers: Readonly<Record<string, string>>): Promise<number> {
  const response = await fetch(`${connection.dashboardUrl}${path}`, { headers });
  await response.text();
  return response.status;
}

/** A session of the console that he seals himself. */
function sessionUnder(key: Uint8Array, authToken: string): Readonly<Record<string, string>> {
  const { cookie, csrf } = createSessions({ key: () => key, clock }).begin(authToken);
  return { cookie: cookie.split(';')[0] ?? '', 'x-csrf-token': csrf };
}

describe('of master.key', () => {
  test('has every apiKey, and asks within the limits and policies of its paymaster', async () => {
    const name = 'shop';
    const key = deriveApiKey(keyIn('master.key'), { namespace: 'quickstart', name, keyGeneration: 1 });
    expect(key).toBe(connection.apiKey);
    const url = rpcUrlFor(connection, key);
    expect(await asks(url)).toBe('signed');
    const other = freshUserOp({
      sponsoredContract: { ...connection.sponsoredContract, address: `0x${'7'.repeat(40)}` },
    });
    const { result } = await rpc(url, 'pm_sponsorUserOperation', [other, sponsored]);
    expect(result).toMatchObject({ paymasterAndData: '0x' });
  });

  test('manages nothing: neither with the key, nor with what it derives, nor with a session that he seals', async () => {
    const text = fileText('master.key');
    for (const authToken of [text, connection.apiKey])
      expect(await statusOf('/manage/v1/me', { authToken })).toBe(401);
    for (const token of [connection.authToken, connection.apiKey])
      expect(await statusOf('/manage/v1/me', sessionUnder(keyIn('master.key'), token))).toBe(401);
    expect(await explains({ authToken: connection.apiKey })).toBe('AUTH_TOKEN_REQUIRED');
  });
});

describe('of webhook-master.key', () => {
  const passOf = (paymasterId: string): string =>
    createPasses({ masterKeys: { webhook: keyIn('webhook-master.key') }, clock }).issue(paymasterId);

  test('sees what would be decided for a paymaster whose apiKey he has, and nothing is signed by it', async () => {
    expect(await explains({ [passHeader]: passOf(connection.paymasterId) })).toMatchObject({
      sponsored: true,
    });
    expect(await explains({ [passHeader]: passOf('another') })).toBe('AUTH_TOKEN_REQUIRED');
    const answer = JSON.stringify(await explains({ [passHeader]: passOf(connection.paymasterId) }));
    expect(answer).not.toContain('paymasterAndData');
  });

  test('manages nothing', async () => {
    const key = keyIn('webhook-master.key');
    const headers = { [passHeader]: passOf(connection.paymasterId) };
    expect(await statusOf('/manage/v1/me', headers)).toBe(401);
    expect(await statusOf('/manage/v1/me', sessionUnder(key, connection.authToken))).toBe(401);
  });
});

describe('of an apiKey', () => {
  test('asks like any wallet: rules, limits and management are closed', async () => {
    expect(await explains({})).toBe('AUTH_TOKEN_REQUIRED');
    for (const headers of [{ apiKey: connection.apiKey }, { authToken: connection.apiKey }])
      for (const path of ['/manage/v1/me', '/manage/v1/limits', '/api/v2/public/sdk/paymaster'])
        expect([path, await statusOf(path, headers)]).toEqual([path, 401]);
  });
});

describe('of an authToken', () => {
  test('cannot widen what the platform caps, see it, or see other organisations', async () => {
    const headers = { authToken: connection.authToken };
    expect(await statusOf('/manage/v1/platform/organisations', headers)).toBe(401);
    expect(await statusOf('/manage/v1/paymasters/nobody', headers)).toBe(404);
    const spec = { gas: { maxVerificationGasLimit: 50_000_000 } };
    const response = await fetch(`${connection.dashboardUrl}/manage/v1/paymasters/shop`, {
      method: 'PATCH',
      headers: { ...headers, 'content-type': 'application/json' },
      body: JSON.stringify({ spec }),
    });
    // The field may be written; only the Chain can raise a default.
    expect({ status: response.status, answer: await response.text() }).toMatchObject({ status: 200 });
    const greedy = { ...freshUserOp(connection), verificationGasLimit: '40000000' };
    const { result, error } = await rpc(connection.rpcUrl, 'pm_sponsorUserOperation', [greedy, sponsored]);
    expect(error?.data?.['reason'] ?? result?.['reason']).toBeDefined();
    expect(result?.['paymasterAndData'] ?? '0x').toBe('0x');
  });
});

describe('of the database, of objects and of the log', () => {
  test('finds no key and no token in them', async () => {
    const { authToken } = connection;
    const made = await fetch(`${connection.dashboardUrl}/manage/v1/tokens`, {
      method: 'POST',
      headers: { authToken, 'content-type': 'application/json' },
      body: JSON.stringify({ name: 'for-a-thief', scopes: ['read'] }),
    });
    const { data } = (await made.json()) as { readonly data: { readonly token: string } };
    await dashboard(connection, 'GET', '/paymaster');
    await asks(connection.rpcUrl);
    const secrets = {
      'signing key': fileText('signers/dev').replace(/^0x/, ''),
      'master.key': fileText('master.key'),
      'webhook-master.key': fileText('webhook-master.key'),
      'session.key': fileText('session.key'),
      authToken,
      'token that was made': data.token,
      apiKey: connection.apiKey,
    };
    const places = [
      'usage.sqlite',
      'usage.sqlite-wal',
      'resources.sqlite',
      'resources.sqlite-wal',
      'log.jsonl',
    ];
    for (const place of places) {
      const bytes = readFileSync(join(running.dataDirectory, place));
      expect(bytes.length).toBeGreaterThan(0);
      for (const [name, secret] of Object.entries(secrets)) {
        expect(secret.length).toBeGreaterThan(20);
        const forms = [secret, secret.toUpperCase()].map((text) => Buffer.from(text));
        if (/^[0-9a-f]{64}$/.test(secret)) forms.push(Buffer.from(secret, 'hex'));
        expect([place, name, forms.some((form) => bytes.includes(form))]).toEqual([place, name, false]);
      }
    }
  });
});

/** Where a thief of the other secrets has tried what the table says. */
const elsewhere: Readonly<Record<string, readonly [file: string, says: string]>> = {
  'signing key, kind `file`': [
    'attacks/one-nonce.component',
    'an operation that was signed with the leaked key stops the contract',
  ],
  'signing key, kind `envelope`': [
    'adapters/signer/providers',
    'whose ciphertext is another one is found at the start, and signs nothing',
  ],
  'signing key, kind `kms` or `web3signer`': [
    'adapters/signer/remote-signers.component',
    'that takes our right away has certainly not signed',
  ],
  'the right to open or sign': ['adapters/signer/providers', 'its key stays when the right is taken away'],
  'key of a paymaster with a name': [
    'spec/rpc-named-keys.component',
    'is its own: a key that is flooded leaves the others what they have',
  ],
  '`session.key`': [
    'attacks/console-sessions.component',
    'of the key of sessions and of a token gets no session beyond twelve hours',
  ],
  'chain URLs': ['kube/process-config', 'never quotes a URL, which may hold a key'],
  'headers of price sources': ['adapters/price/price-documents.component', 'headers'],
  'URL of a receiver of notifications': [
    'system/notifications.component',
    'that is dead holds back nobody, is shown, and its URL is shown nowhere',
  ],
  'tokens of service accounts': ['charts/taken-over.component', 'Somebody has the token of a component'],
};

test('every secret of the table has its thief', () => {
  const text = readFileSync(join(repositoryRoot, 'SECURITY.md'), 'utf8');
  const table = text.slice(text.indexOf('\n## Secrets'), text.indexOf('\n## What is not promised'));
  const named = [...table.matchAll(/^\| ([^|]+) \|/gm)].map(([, name = '']) => name).slice(2);
  expect(named.length).toBeGreaterThan(10);
  const own = readFileSync(join(repositoryRoot, 'test/attacks/thieves.component.test.ts'), 'utf8');
  const missing = named.filter((name) => {
    const there = Object.entries(elsewhere).find(([secret]) => name.startsWith(secret));
    if (there === undefined) return !own.includes(`describe('of ${bare(name)}`);
    const [, [file, says]] = there;
    return !readFileSync(join(repositoryRoot, `test/${file}.test.ts`), 'utf8').includes(says);
  });
  expect(missing).toEqual([]);
});

function bare(name: string): string {
  if (name.startsWith('password')) return 'the database';
  if (name.startsWith('apiKey')) return 'an apiKey';
  return name.startsWith('`authToken`') ? 'an authToken' : name.replaceAll('`', '');
}
