import { execFileSync } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, describe, expect, test } from '@jest/globals';
import { silentLogger } from '../../core/log.js';
import { parseStandaloneConfig } from '../../standalone/config.js';
import { startAnvil } from '../../standalone/dev-chain/anvil.js';
import type { Connection } from '../../standalone/connection.js';
import { sharedStandalone } from './support/shared-standalone.js';
import { newDataDirectory } from './support/standalone.js';
import { sponsors, useStarts } from './support/starts.js';
import { until } from '../support/until.js';

// What a new user sees: the command itself, in a separate process.

const { start, spawn, spawnIn, forget } = useStarts();

/** For tests that change nothing of it. */
let untouched: Awaited<ReturnType<typeof sharedStandalone>>;
beforeAll(async () => {
  untouched = await sharedStandalone();
});

test('prints what runs where, the state of each resource, and a curl that works when pasted', async () => {
  const output = untouched.output;
  const connection = untouched.connection;
  expect(output).toContain(connection.rpcUrl);
  expect(output).toContain(connection.chainRpcUrl);
  expect(output.match(/✓/g)).toHaveLength(8);
  expect(output).not.toContain('✗');
  const curl = output
    .split('\n')
    .find((line) => line.startsWith('curl') && line.includes('pm_sponsorUserOperation'));
  const reply: unknown = JSON.parse(execFileSync('sh', ['-c', curl ?? 'false'], { encoding: 'utf8' }));
  expect(reply).toMatchObject({
    jsonrpc: '2.0',
    id: 1,
    result: { paymasterAndData: expect.stringMatching(/^0x[0-9a-f]{552}$/) },
  });
  expect(output).not.toContain(connection.authToken);
  const listing = output.split('\n').find((line) => line.startsWith('curl') && line.includes('authToken'));
  expect(JSON.parse(execFileSync('sh', ['-c', listing ?? 'false'], { encoding: 'utf8' }))).toMatchObject({
    statusCode: 200,
  });
  for (const path of ['/healthz', '/readyz', '/metrics'])
    expect((await fetch(`${connection.dashboardUrl}${path}`)).status).toBe(200);
});

test('webhooks may call this machine only while nobody else reaches it, or where a setting says so', async () => {
  const exposed = await start({ environment: { HOST: '0.0.0.0', PAYMASTER_ALLOW_PLAIN_HTTP: 'true' } });
  expect(exposed.output()).toContain('has no TLS: anyone on the way reads keys, tokens and sessions');
  expect(await makesLocalWebhook(exposed.connection())).toMatchObject({
    statusCode: 400,
    message: expect.stringContaining('a public address'),
  });
  expect(await makesLocalWebhook(untouched.connection)).toMatchObject({ statusCode: 200 });
  const allowed = (env: NodeJS.ProcessEnv) => parseStandaloneConfig(env, '/').allowLoopbackWebhooks;
  const open = { PAYMASTER_ALLOW_PLAIN_HTTP: 'true' };
  expect(allowed({})).toBe(true);
  expect(allowed({ ...open, HOST: '192.0.2.1' })).toBe(false);
  expect(allowed({ ...open, HOST: '0.0.0.0', PAYMASTER_WEBHOOK_ALLOW_LOOPBACK: 'true' })).toBe(true);

  // Two instances run side by side.
  expect(exposed.connection().chainRpcUrl).not.toBe(untouched.connection.chainRpcUrl);
  expect(await sponsors(exposed)).toBe('sponsored');
});

async function makesLocalWebhook({
  dashboardUrl,
  authToken,
  apiKey,
}: Required<Connection>): Promise<unknown> {
  const { port } = new URL(dashboardUrl);
  const response = await fetch(`http://127.0.0.1:${port}/api/v2/public/sdk/paymaster-policy`, {
    method: 'POST',
    headers: { authToken, apiKey, 'content-type': 'application/json' },
    body: JSON.stringify({
      name: 'local',
      policyType: 'WEBHOOK',
      policyData: { url: 'http://127.0.0.1:9/check' },
    }),
  });
  return response.json();
}

test('connection.json names every version with its layout and addresses, and is private', () => {
  const connection = untouched.connection;
  expect(
    connection.versions.map(({ version, entryPointVersion }) => `${version} on ${entryPointVersion}`).sort(),
  ).toEqual([
    '1.0.0 on 0.6',
    '1.1.0 on 0.6',
    '2.0.0 on 0.7',
    'hybrid-0.9 on 0.9',
    'singleton-0.6 on 0.6',
    'singleton-0.7 on 0.7',
    'singleton-0.8 on 0.8',
    'verifying-0.7 on 0.7',
    'verifying-0.9 on 0.9',
  ]);
  expect(connection).toMatchObject({
    chainId: 31337,
    entryPointVersion: '0.6',
    sponsoredContract: { method: 'increment()' },
    feeToken: { symbol: 'DUSD', decimals: 6 },
  });
});

test('a node of another chain than the manifests describe is told', async () => {
  const anvil = await startAnvil({ log: silentLogger, chainId: 99 });
  try {
    const running = await spawn({ environment: { CHAIN_RPC_URL: anvil.url } });
    await until('the operator starts', () => running.output().includes('Starting the operator'));
    expect(running.output()).toMatch(/^warning: the node is one of chain 99, the manifests describe 31337:/m);
  } finally {
    await anvil.stop();
  }
});

/** Text that is neither a key nor a database. */
function putInto(
  directory: string,
  name: string,
  content = 'neither a key nor a database. '.repeat(50),
): void {
  mkdirSync(directory, { recursive: true });
  writeFileSync(join(directory, name), content, { mode: 0o600 });
}

describe('a start that cannot work ends with one clear line and a non-zero exit', () => {
  type Case = { name: string; environment: Record<string, string>; expected: RegExp };
  test.each<Case>([
    {
      name: 'a port that is not a number',
      environment: { PORT: 'eighty' },
      expected: /error: PORT must be a whole number from 1 to 65535, got "eighty"/,
    },
    {
      name: 'a chain that does not answer',
      environment: { CHAIN_RPC_URL: 'http://127.0.0.1:9' },
      expected: /error: .*127\.0\.0\.1:9/,
    },
    {
      name: 'a manifest directory that does not exist',
      environment: { PAYMASTER_MANIFESTS: '/nowhere' },
      expected: /error: .*\/nowhere/,
    },
  ])('$name', async ({ environment, expected }) => {
    const running = await spawn({ environment });
    expect(await running.ended).toBe(1);
    const errors = running
      .output()
      .split('\n')
      .filter((line) => line.startsWith('error:'));
    expect(errors).toHaveLength(1);
    expect(errors[0]).toMatch(expected);
    expect(running.output()).not.toContain('    at ');
  });

  test.each([
    {
      name: 'a data directory that is a file',
      put: (path: string) => writeFileSync(path, ''),
      expected: /^error: the data directory .* cannot be used \(EEXIST.*PAYMASTER_DATA_DIR$/m,
    },
    {
      name: 'a master key that is not a key',
      put: (path: string) => putInto(path, 'master.key'),
      expected: /^error: .*master\.key must hold 64 hex digits/m,
    },
    {
      name: 'a master key that is not the one of the last start',
      put: (path: string) => {
        putInto(path, 'master.key', '11'.repeat(32));
        putInto(path, 'webhook-master.key', '22'.repeat(32));
        putInto(
          path,
          'keys-in-force.json',
          '{"apiKeys":["0123456789abcdef"],"webhook":["0123456789abcdef"]}',
        );
      },
      expected:
        /^error: .* does not hold the master keys of the last start: add the former key as master-previous\.key/m,
    },
  ])('$name', async ({ put, expected }) => {
    const dataDirectory = join(forget(newDataDirectory()), 'data');
    put(dataDirectory);
    const running = await spawn({ dataDirectory });
    expect(await running.ended).toBe(1);
    expect(running.output()).toMatch(expected);
    expect(running.output()).not.toContain('    at ');
  });

  test('a port that is in use', async () => {
    const port = Number(new URL(untouched.connection.dashboardUrl).port);
    const second = await spawn({ port });
    expect(await second.ended).toBe(1);
    expect(second.output()).toContain(`error: port ${port} of 127.0.0.1 is in use`);
    const third = await spawn({ environment: { CHAIN_PORT: String(port) } });
    expect(await third.ended).toBe(1);
    expect(third.output()).toMatch(
      new RegExp(`^error: port ${port} of 127.0.0.1 is in use: .*another with CHAIN_PORT`, 'm'),
    );
  });

  test('a data directory that another instance uses', async () => {
    const second = await spawnIn(untouched.dataDirectory);
    expect(await second.ended).toBe(1);
    expect(second.output()).toMatch(/is in use by another process \(\d+\): stop that one first/);
  });
});
