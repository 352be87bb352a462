import { copyFileSync, existsSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, describe, expect, test } from '@jest/globals';
import { useBrowser } from '../console/support/browser.js';
import { dashboard, freshUserOp, rpc } from './support/client.js';
import {
  newDataDirectory,
  removeDataDirectory,
  startStandalone,
  stopStandalone,
  type RunningStandalone,
} from './support/standalone.js';
import { sponsors } from './support/starts.js';
import { until } from '../support/until.js';

// One data directory from start to start: each test goes on where the one before has ended.

const visit = useBrowser();
const dataDirectory = newDataDirectory();
const file = (name: string) => join(dataDirectory, name);
let running: RunningStandalone;
afterAll(async () => {
  running?.signal('SIGKILL');
  await running?.ended;
  removeDataDirectory(dataDirectory);
});

async function startAgain(environment: Readonly<Record<string, string>> = {}): Promise<void> {
  const port = running === undefined ? {} : { port: running.port };
  running = await startStandalone({ dataDirectory, environment, ...port });
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

test('no key, token or signature is written to the log, and a token that is given is written nowhere', async () => {
  const authToken = 'a-token-that-nobody-may-read-in-a-log';
  await startAgain({ PAYMASTER_AUTH_TOKEN: authToken, LOG_LEVEL: 'debug' });
  const connection = running.connection();
  expect(await sponsors(running)).toBe('sponsored');
  await dashboard(connection, 'GET', '/paymaster-policy', { apiKey: connection.apiKey });
  await rpc(`${connection.rpcUrl}x`, 'pm_sponsorUserOperation', []);
  expect(await stopStandalone(running)).toBe(0);
  const log = readFileSync(file('log.jsonl'), 'utf8');
  expect(log).not.toBe('');
  expect(existsSync(file('auth-token'))).toBe(false);
  const secrets = [authToken, connection.apiKey, readFileSync(file('signers/dev'), 'utf8').trim()];
  for (const name of ['master.key', 'webhook-master.key', 'session.key'])
    secrets.push(readFileSync(file(name), 'utf8').trim());
  for (const secret of secrets) expect(log).not.toContain(secret.replace(/^0x/, ''));
});

test('after a kill -9 the chain is fresh: contracts come back at the same addresses and operations are sponsored', async () => {
  await startAgain();
  const { versions } = running.connection();
  expect(await sponsors(running)).toBe('sponsored');
  running.signal('SIGKILL');
  await running.ended;
  await startAgain();
  expect(running.connection().versions).toEqual(versions);
  expect(await sponsors(running)).toBe('sponsored');
});

test('the printed link signs in to the console once, and its code leaves the address', async () => {
  const { dashboardUrl } = running.connection();
  const link = /http:\S+\/console\/#code=[\w-]+/.exec(running.output())?.[0] ?? '';
  const first = await visit(dashboardUrl);
  await first.page.goto(link);
  await first.page.getByRole('heading', { name: 'Overview' }).waitFor();
  expect(first.page.url()).toBe(`${dashboardUrl}/console/#/overview`);
  await first.close();
  const second = await visit(dashboardUrl);
  await second.page.goto(link);
  await second.page.getByRole('alert').waitFor();
  expect(await second.page.getByLabel('Token').isVisible()).toBe(true);
  await second.close();
});

test('Ctrl-C drains, stops the dev chain too, and exits with 0; the next start goes on with the same keys and data', async () => {
  const { rpcUrl, authToken, chainRpcUrl, paymasterId } = running.connection();
  await dashboard(running.connection(), 'POST', '/paymaster', {
    body: { name: 'kept', type: 'HYBRID', chainId: 31337, version: '1.1.0' },
  });
  // One Ctrl-C may arrive several times: from the terminal, and passed on by make or npm.
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGTERM'] as const) running.signal(signal);
  expect(await running.ended).toBe(0);
  expect(running.output()).toContain('drained');
  await expect(fetch(chainRpcUrl, { method: 'POST', body: '{}' })).rejects.toThrow();

  copyFileSync(file('chain-state.json'), file('older.json'));
  await startAgain();
  expect(running.connection()).toMatchObject({ rpcUrl, authToken, paymasterId });
  const list = await dashboard(running.connection(), 'GET', '/paymaster');
  expect(list.body.data).toEqual(expect.arrayContaining([expect.objectContaining({ name: 'kept' })]));
  expect(await sponsors(running)).toBe('sponsored');
});

test('a chain that was put back to an older state is followed from there', async () => {
  const height = await mine(running.connection().chainRpcUrl, 50);
  await until('the blocks are settled', async () => (await settledBlock(running)) >= height);
  expect(await stopStandalone(running)).toBe(0);
  copyFileSync(file('older.json'), file('chain-state.json'));
  await startAgain();
  expect(await sponsors(running)).toBe('sponsored');
  expect(await stopStandalone(running)).toBe(0);
});

describe('usage that is lost', () => {
  const remove = (...names: string[]): void => {
    for (const name of names) rmSync(file(name), { force: true });
  };

  test('is told, and nothing is signed on it', async () => {
    remove('usage.sqlite', 'usage.sqlite-wal');
    await startAgain();
    const connection = running.connection();
    const answer = await rpc(connection.rpcUrl, 'pm_sponsorUserOperation', [
      freshUserOp(connection),
      { mode: 'SPONSORED' },
    ]);
    expect(answer.error).toMatchObject({ code: -32003, data: { reason: 'USAGE_STORE_LOST' } });
    expect(answer.error?.message).toContain('has lost its data');
    const readiness = await fetch(new URL('/readyz', connection.rpcUrl));
    expect(readiness.status).toBe(200);
    expect(JSON.stringify(await readiness.json())).toContain('do not restore a backup');
    expect(running.output()).toContain('usage-data: Wait, and do not restore a backup');
    expect(running.output()).toMatch(/Checking the resources … 8 of 9 ready, 1 refused/);
    expect(running.output()).toContain('✗ Chain dev  The usage store has lost its data');
    expect(await stopStandalone(running)).toBe(0);
  });

  test('is forgotten with a fresh chain', async () => {
    remove('usage.sqlite', 'usage.sqlite-wal', 'chain-state.json');
    await startAgain();
    expect(await sponsors(running)).toBe('sponsored');
  });
});
