import { afterEach, expect, test } from '@jest/globals';
import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { once } from 'node:events';
import { createServer, type AddressInfo, type Socket } from 'node:net';
import { aChainConfig, someChainId } from '../build/configs.js';
import { startRpc, type RpcHost } from '../build/rpc.js';
import { repositoryRoot } from '../support/repository-root.js';

// What the pod of `helm test` runs, against a real server: an installation that cannot sign fails, and the log says why.

const script = readFileSync(join(repositoryRoot, 'charts/paymaster-operator/files/test.mjs'), 'utf8');

let host: RpcHost;
afterEach(() => host.stop());

function helmTest(overrides: object = {}): Promise<{ readonly code: number; readonly log: string }> {
  const environment = {
    RPC_URL: host.origin,
    RPC_CHECKS: host.opsOrigin.replace('http://', ''),
    PATIENCE_MS: '5000',
    ...overrides,
  };
  return new Promise((resolve) => {
    execFile(
      process.execPath,
      ['--input-type=module', '--eval', script],
      { env: environment, encoding: 'utf8' },
      (error, log) => resolve({ code: error === null ? 0 : Number(error.code), log }),
    );
  });
}

test('an installation that can sign passes', async () => {
  host = await startRpc({ opsPort: 0 });
  expect(await helmTest({ PATIENCE_MS: '60000' })).toMatchObject({ code: 0, log: expect.stringContaining('ok    rpc can sign') });
});

test('one without a signing key fails, and is told which condition names the file', async () => {
  host = await startRpc({ opsPort: 0, chain: { profiles: [{ ...aChainConfig().profiles[0]!, signerFile: 'nobody-has-it' }] } });
  const { code, log } = await helmTest();
  expect(code).toBe(1);
  expect(log).toMatch(/FAIL {2}rpc can sign: check signers: .*Mount the signing key of every profile/);
});

test('one with nothing to sign for fails', async () => {
  host = await startRpc({ opsPort: 0 });
  await host.configs.deletePaymaster((await host.configs.listPaymasters())[0]!.config.paymasterId);
  const { code, log } = await helmTest();
  expect(code).toBe(1);
  expect(log).toMatch(/FAIL {2}rpc can sign: check paymasters: no Paymaster can be signed for\. Apply a Chain/);
});

test('one whose Paymasters have no Chain any longer fails', async () => {
  host = await startRpc({ opsPort: 0 });
  await host.configs.deleteChain(someChainId);
  const { code, log } = await helmTest();
  expect(code).toBe(1);
  expect(log).toMatch(/FAIL {2}rpc can sign: check paymasters: no Chain is served\. Apply a Chain/);
});

test.each<{ name: string; change: () => Promise<unknown> }>([
  { name: 'is on another Chain than those served', change: () => host.put({ chainId: 5 }) },
  { name: 'has a version that its Chain does not offer', change: () => host.put({ version: '9.9.9' }) },
  {
    name: 'waits for its funding',
    change: () => host.put({ notReady: { reason: 'FundingNotProven', message: 'Prove it.' } }),
  },
])('one whose only Paymaster $name fails', async ({ change }) => {
  host = await startRpc({ opsPort: 0 });
  await change();
  const { code, log } = await helmTest();
  expect(code).toBe(1);
  expect(log).toMatch(/FAIL {2}rpc can sign: check paymasters: no Paymaster can be signed for\./);
});

test('pods that do not answer are named, and a time-out is said in words', async () => {
  host = await startRpc({ opsPort: 0 });
  const silent = createServer((socket) => void sockets.push(socket));
  const sockets: Socket[] = [];
  silent.listen(0, '127.0.0.1');
  await once(silent, 'listening');
  const { port } = silent.address() as AddressInfo;
  try {
    const { code, log } = await helmTest({ RPC_CHECKS: `127.0.0.1:${port}` });
    expect(code).toBe(1);
    expect(log).toContain(`FAIL  rpc can sign: 127.0.0.1:${port} gave no answer in time`);
  } finally {
    sockets.forEach((socket) => socket.destroy());
    silent.close();
  }
});

test('one whose usage store is away fails, and says so', async () => {
  host = await startRpc({ opsPort: 0 });
  await host.usage.stop();
  const { code, log } = await helmTest();
  expect(code).toBe(1);
  expect(log).toMatch(/FAIL {2}rpc can sign: check usage-store: failed, see the log\. Check that the usage store answers/);
});
