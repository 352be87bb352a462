import { execFileSync } from 'node:child_process';
import {
  copyFileSync,
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, test } from '@jest/globals';
import { silentLogger } from '../../core/log.js';
import { startAnvil } from '../../standalone/dev-chain/anvil.js';
import { parseStandaloneConfig } from '../../standalone/config.js';
import { repositoryRoot } from '../support/repository-root.js';
import { dashboard, freshUserOp, rpc } from './support/client.js';
import {
  newDataDirectory,
  removeDataDirectory,
  spawnStandalone,
  startStandalone,
  stopStandalone,
  type RunningStandalone,
  type StandaloneOptions,
} from './support/standalone.js';
import { until } from '../support/until.js';

// What a new user sees: the command itself, in a separate process.

const started: RunningStandalone[] = [];
const temporary: string[] = [];
afterEach(async () => {
  for (const each of started.splice(0)) {
    each.signal('SIGKILL');
    await each.ended;
    removeDataDirectory(each.dataDirectory);
  }
  for (const each of temporary.splice(0)) rmSync(each, { recursive: true, force: true });
});

/** For tests that change nothing of it. */
let untouched: RunningStandalone;
beforeAll(async () => {
  untouched = await startStandalone();
});
afterAll(async () => {
  untouched?.signal('SIGKILL');
  await untouched?.ended;
  if (untouched !== undefined) removeDataDirectory(untouched.dataDirectory);
});

async function start(options: StandaloneOptions = {}): Promise<RunningStandalone> {
  const running = await startStandalone(options);
  started.push(running);
  return running;
}

/** A private copy of the quickstart that a test may edit. */
function copyQuickstart(): string {
  const directory = mkdtempSync(join(tmpdir(), 'paymaster-manifests-'));
  temporary.push(directory);
  cpSync(join(repositoryRoot, 'examples/quickstart'), directory, { recursive: true });
  return directory;
}

/** Text that is neither a key nor a database. */
function putInto(
  directory: string,
  name: string,
  content = 'neither a key nor a database. '.repeat(50),
): void {
  mkdirSync(directory, { recursive: true });
  writeFileSync(join(directory, name), content, { mode: 0o600 });
}

/** Height of the chain after so many more blocks. */
async function mine(chainRpcUrl: string, blocks: number): Promise<number> {
  await rpc(chainRpcUrl, 'anvil_mine', [`0x${blocks.toString(16)}`]);
  return Number((await rpc(chainRpcUrl, 'eth_blockNumber', [])).result);
}

async function settledBlock(running: RunningStandalone): Promise<number> {
  const metrics = await fetch(new URL('/metrics', running.connection().dashboardUrl));
  const [, block] = /^paymaster_follower_block\{.*\} (\d+)$/m.exec(await metrics.text()) ?? [];
  return Number(block ?? -1);
}

/** With the facts of now, or with those given: connection.json names only what is sponsored. */
async function sponsors(running: RunningStandalone, connection = running.connection()): Promise<string> {
  const answer = await rpc(connection.rpcUrl, 'pm_sponsorUserOperation', [
    freshUserOp(connection),
    { mode: 'SPONSORED' },
  ]);
  if (answer.error) return `error ${answer.error.code}`;
  return answer.result?.['paymasterAndData'] === '0x' ? (answer.reason ?? 'no reason') : 'sponsored';
}

test('prints what runs where, the state of each resource, and a curl that works when pasted', async () => {
  const output = untouched.output();
  const connection = untouched.connection();
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
  const open = { HOST: '0.0.0.0' };
  const exposed = await start({ environment: open });
  expect(await makesLocalWebhook(exposed)).toMatchObject({
    statusCode: 400,
    message: expect.stringContaining('a public address'),
  });
  exposed.signal('SIGTERM');
  await exposed.ended;
  const allowed = await start({
    environment: { ...open, PAYMASTER_WEBHOOK_ALLOW_LOOPBACK: 'true' },
    dataDirectory: exposed.dataDirectory,
  });
  expect(await makesLocalWebhook(allowed)).toMatchObject({ statusCode: 200 });
  expect(parseStandaloneConfig({}, '/').allowLoopbackWebhooks).toBe(true);
  expect(parseStandaloneConfig({ HOST: '192.0.2.1' }, '/').allowLoopbackWebhooks).toBe(false);
});

test('starts with a damaged file of limits and records, and says where it was put', async () => {
  const dataDirectory = mkdtempSync(join(tmpdir(), 'paymaster-data-'));
  temporary.push(dataDirectory);
  putInto(dataDirectory, 'usage.sqlite');
  const running = await start({ dataDirectory });
  const file = join(dataDirectory, 'usage.sqlite');
  expect(running.output()).toContain(`warning: ${file} is damaged and was moved to ${file}.damaged`);
  expect(await sponsors(running)).toBe('sponsored');
});

async function makesLocalWebhook(running: RunningStandalone): Promise<unknown> {
  const { dashboardUrl, authToken, apiKey } = running.connection();
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
  const connection = untouched.connection();
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

test('Ctrl-C drains, stops the dev chain too, and exits with 0; the next start goes on with the same keys and data', async () => {
  const first = await start();
  const { rpcUrl, authToken, chainRpcUrl, paymasterId } = first.connection();
  await dashboard(first.connection(), 'POST', '/paymaster', {
    body: { name: 'kept', type: 'HYBRID', chainId: 31337, version: '1.1.0' },
  });
  // One Ctrl-C may arrive several times: from the terminal, and passed on by make or npm.
  for (const signal of ['SIGTERM', 'SIGINT', 'SIGTERM'] as const) first.signal(signal);
  expect(await stopStandalone(first)).toBe(0);
  expect(first.output()).toContain('drained');
  await expect(fetch(chainRpcUrl, { method: 'POST', body: '{}' })).rejects.toThrow();

  const second = await start({ dataDirectory: first.dataDirectory, port: first.port });
  expect(second.connection()).toMatchObject({ rpcUrl, authToken, paymasterId });
  const list = await dashboard(second.connection(), 'GET', '/paymaster');
  expect(list.body.data).toEqual(expect.arrayContaining([expect.objectContaining({ name: 'kept' })]));
  expect(await sponsors(second)).toBe('sponsored');
}, 240_000);

test('after a kill -9 the chain is fresh: contracts come back at the same addresses and operations are sponsored', async () => {
  const first = await start();
  const { versions } = first.connection();
  expect(await sponsors(first)).toBe('sponsored');
  first.signal('SIGKILL');
  await first.ended;
  const second = await start({ dataDirectory: first.dataDirectory });
  expect(second.connection().versions).toEqual(versions);
  expect(await sponsors(second)).toBe('sponsored');
}, 240_000);

test('a chain that was put back to an older state is followed from there', async () => {
  const dataDirectory = newDataDirectory();
  const [state, older] = ['chain-state.json', 'older.json'].map((name) => join(dataDirectory, name));
  expect(await stopStandalone(await start({ dataDirectory }))).toBe(0);
  copyFileSync(state!, older!);
  const second = await start({ dataDirectory });
  const height = await mine(second.connection().chainRpcUrl, 50);
  await until('the blocks are settled', async () => (await settledBlock(second)) >= height);
  expect(await stopStandalone(second)).toBe(0);
  copyFileSync(older!, state!);
  const third = await start({ dataDirectory });
  expect(await sponsors(third)).toBe('sponsored');
}, 600_000);

test('usage that is lost is told, and nothing is signed on it; a fresh chain begins anew', async () => {
  const dataDirectory = newDataDirectory();
  const first = await start({ dataDirectory });
  expect(await sponsors(first)).toBe('sponsored');
  expect(await stopStandalone(first)).toBe(0);
  const remove = (...names: string[]): void => {
    for (const name of names) rmSync(join(dataDirectory, name), { force: true });
  };
  remove('usage.sqlite', 'usage.sqlite-wal');

  const second = await start({ dataDirectory });
  const connection = second.connection();
  const answer = await rpc(connection.rpcUrl, 'pm_sponsorUserOperation', [
    freshUserOp(connection),
    { mode: 'SPONSORED' },
  ]);
  expect(answer.error).toMatchObject({ code: -32003, data: { reason: 'USAGE_STORE_LOST' } });
  expect(answer.error?.message).toContain('is lost or older than what was signed');
  const readiness = await fetch(new URL('/readyz', connection.rpcUrl));
  expect(readiness.status).toBe(200);
  expect(JSON.stringify(await readiness.json())).toContain('do not restore a backup');
  expect(second.output()).toContain('usage-data: Wait, and do not restore a backup');
  expect(second.output()).toMatch(/Checking the resources … 7 of 8 ready, 1 refused/);
  expect(second.output()).toContain('✗ Chain dev  The usage store has lost its data');
  expect(await stopStandalone(second)).toBe(0);

  remove('usage.sqlite', 'usage.sqlite-wal', 'chain-state.json');
  const third = await start({ dataDirectory });
  expect(await sponsors(third)).toBe('sponsored');
}, 300_000);

test('two instances run side by side', async () => {
  const [one, other] = [untouched, await start()];
  expect(one.connection().chainRpcUrl).not.toBe(other.connection().chainRpcUrl);
  expect([await sponsors(one), await sponsors(other)]).toEqual(['sponsored', 'sponsored']);
}, 240_000);

describe('manifests while it runs', () => {
  test('an edit takes effect without a restart; a broken file is reported by file, line, field and expectation, and the last good state keeps serving', async () => {
    const manifests = copyQuickstart();
    const running = await start({ environment: { PAYMASTER_MANIFESTS: manifests } });
    const connection = running.connection();
    expect(await sponsors(running)).toBe('sponsored');
    const contract = join(manifests, 'contract.yaml');
    const methods = readFileSync(contract, 'utf8');
    writeFileSync(contract, methods.replace('whitelistedMethods: [increment]', 'whitelistedMethods: [burn]'));
    await until(
      'the edit is served',
      async () => (await sponsors(running, connection)) === 'METHOD_NOT_WHITELISTED',
    );
    writeFileSync(contract, methods);
    await until('the old text is served', async () => (await sponsors(running, connection)) === 'sponsored');

    const policies = join(manifests, 'policies.yaml');
    const limits = readFileSync(policies, 'utf8');
    writeFileSync(policies, limits.replace('unit: day', 'unit: week'));
    await until('the broken file is named', () => running.output().includes('policies.yaml:'));
    expect(running.output()).toMatch(
      /policies\.yaml:\d+:\d+: spec\.spendingLimit\.cycleDuration\.unit must be .*"hour".*"day".*"week"/,
    );
    expect(await sponsors(running, connection)).toBe('sponsored');
    writeFileSync(policies, limits);
    await until('it says fixed', () => running.output().includes('fixed:'));
  }, 240_000);

  test('a manifest that is broken at the start is reported, and the others are applied', async () => {
    const manifests = copyQuickstart();
    writeFileSync(
      join(manifests, 'broken.yaml'),
      'apiVersion: paymasters.dev/v1alpha1\nkind: Paymaster\nmetadata: {name: x',
    );
    const running = await start({ environment: { PAYMASTER_MANIFESTS: manifests } });
    expect(running.output()).toContain('warning: ');
    expect(running.output()).toContain('broken.yaml');
    expect(await sponsors(running)).toBe('sponsored');
  }, 240_000);
});

test('paused and refused objects are not waited for; what is put right is told, and connection.json follows', async () => {
  const manifests = copyQuickstart();
  const contract = join(manifests, 'contract.yaml');
  const paymaster = join(manifests, 'paymaster.yaml');
  const policies = join(manifests, 'policies.yaml');
  const original = readFileSync(contract, 'utf8');
  writeFileSync(contract, original.replace('[increment]', '[incremnt]'));
  // It sorts before the one of the quickstart, and has no contract that the examples could call.
  writeFileSync(
    join(manifests, 'bare.yaml'),
    readFileSync(paymaster, 'utf8').replaceAll('name: shop', 'name: bare'),
  );
  writeFileSync(
    policies,
    readFileSync(policies, 'utf8').replace(
      'name: operations per day',
      'name: operations per day\n  active: false',
    ),
  );
  const running = await start({ environment: { PAYMASTER_MANIFESTS: manifests } });
  const refusal =
    '✗ SmartContract quickstart/shop-counter  spec.whitelistedMethods[0] must be a method of the ABI (burn, increment), got "incremnt".';
  expect(running.output()).toMatch(
    // Those that are waited for are waited for 15 s.
    /Checking the resources … 7 of 9 ready, 1 paused, 1 refused \((\d|1[0-4])\.\d s\)/,
  );
  expect(running.output()).toContain(refusal);
  expect(running.output()).toContain('⏸ PaymasterPolicy quickstart/shop-operations-per-day  paused');
  expect(running.connection().sponsoredContract).toBeUndefined();

  writeFileSync(contract, original);
  await until('it is told', () =>
    running.output().includes('✓ SmartContract quickstart/shop-counter  Ready'),
  );
  await until(
    'the contract is in connection.json',
    () => running.connection().sponsoredContract !== undefined,
  );
  const before = running.connection();
  writeFileSync(paymaster, `${readFileSync(paymaster, 'utf8')}  keyGeneration: 2\n`);
  await until('the new key is in connection.json', () => running.connection().apiKey !== before.apiKey);
  expect(await sponsors(running)).toBe('sponsored');

  const { authToken } = running.connection();
  await dashboard({ ...running.connection(), authToken }, 'POST', '/paymaster', {
    body: { name: 'by rest', type: 'HYBRID', chainId: 31337, version: '1.1.0' },
  });
  await until('what REST made is told', () =>
    /✓ Paymaster quickstart\/(?!shop |bare )\S+ {2}Ready/.test(running.output()),
  );
}, 240_000);

test('a node of another chain than the manifests describe is told', async () => {
  const anvil = await startAnvil({ log: silentLogger, chainId: 99 });
  try {
    const running = await spawnStandalone({ environment: { CHAIN_RPC_URL: anvil.url } });
    started.push(running);
    await until('the operator starts', () => running.output().includes('Starting the operator'));
    expect(running.output()).toMatch(/^warning: the node is one of chain 99, the manifests describe 31337:/m);
  } finally {
    await anvil.stop();
  }
});

describe('a start that cannot work ends with one clear line and a non-zero exit', () => {
  type Case = { name: string; environment: Record<string, string>; expected: RegExp };
  test.each<Case>([
    {
      name: 'a port that is not a number',
      environment: { PORT: 'eighty' },
      expected: /error: PORT must be a whole number from 1 to 65535, got "eighty"/,
    },
    {
      name: 'a port of the chain that is not a number',
      environment: { CHAIN_PORT: '85450000' },
      expected: /error: CHAIN_PORT must be a whole number from 1 to 65535, got "85450000"/,
    },
    {
      name: 'an unknown choice of a bundler',
      environment: { BUNDLER: 'yes' },
      expected: /error: BUNDLER must be one of 0, 1, installed, got "yes"/,
    },
    {
      name: 'an unknown log level',
      environment: { LOG_LEVEL: 'loud' },
      expected: /error: LOG_LEVEL must be one of.*"loud"/,
    },
    {
      name: 'a token that is too short',
      environment: { PAYMASTER_AUTH_TOKEN: 'short' },
      expected: /error: PAYMASTER_AUTH_TOKEN must be 16/,
    },
    {
      name: 'a chain URL that is not a URL',
      environment: { CHAIN_RPC_URL: 'anvil' },
      expected: /error: CHAIN_RPC_URL must be an http/,
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
    const running = await spawnStandalone({ environment });
    started.push(running);
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
    temporary.push(newDataDirectory());
    const dataDirectory = join(temporary.at(-1)!, 'data');
    put(dataDirectory);
    const running = await spawnStandalone({ dataDirectory });
    started.push(running);
    expect(await running.ended).toBe(1);
    expect(running.output()).toMatch(expected);
    expect(running.output()).not.toContain('    at ');
  });

  test('a port that is in use', async () => {
    const first = untouched;
    const second = await spawnStandalone({ port: first.port });
    started.push(second);
    expect(await second.ended).toBe(1);
    expect(second.output()).toContain(`error: port ${first.port} of 127.0.0.1 is in use`);
    const third = await spawnStandalone({ environment: { CHAIN_PORT: String(first.port) } });
    started.push(third);
    expect(await third.ended).toBe(1);
    expect(third.output()).toMatch(
      new RegExp(`^error: port ${first.port} of 127.0.0.1 is in use: .*another with CHAIN_PORT`, 'm'),
    );
  });

  test('a data directory that another instance uses', async () => {
    const second = await spawnStandalone({ dataDirectory: untouched.dataDirectory });
    started.push(second);
    expect(await second.ended).toBe(1);
    expect(second.output()).toMatch(/is in use by another process \(\d+\): stop that one first/);
  });
});

test('no key, token or signature is written to the log', async () => {
  const authToken = 'a-token-that-nobody-may-read-in-a-log';
  const dataDirectory = newDataDirectory();
  const running = await start({
    dataDirectory,
    environment: { PAYMASTER_AUTH_TOKEN: authToken, LOG_LEVEL: 'debug' },
  });
  const connection = running.connection();
  expect(await sponsors(running)).toBe('sponsored');
  await dashboard(connection, 'GET', '/paymaster-policy', { apiKey: connection.apiKey });
  await rpc(`${connection.rpcUrl}x`, 'pm_sponsorUserOperation', []);
  expect(await stopStandalone(running)).toBe(0);
  const log = readFileSync(join(dataDirectory, 'log.jsonl'), 'utf8');
  expect(existsSync(join(dataDirectory, 'auth-token'))).toBe(false);
  const secrets = [
    authToken,
    connection.apiKey,
    readFileSync(join(dataDirectory, 'signers/dev'), 'utf8').trim(),
  ];
  for (const name of ['master.key', 'webhook-master.key'])
    secrets.push(readFileSync(join(dataDirectory, name), 'utf8').trim());
  for (const secret of secrets) expect(log).not.toContain(secret.replace(/^0x/, ''));
}, 240_000);
