import { afterEach, expect, test } from '@jest/globals';
import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { aChainConfig } from '../build/configs.js';
import { startRpc, type RpcHost } from '../build/rpc.js';
import { repositoryRoot } from '../support/repository-root.js';

// What the pod of `helm test` runs, against a real server: an installation that cannot sign fails, and the log says why.

const script = readFileSync(join(repositoryRoot, 'charts/paymaster-operator/files/test.mjs'), 'utf8');

let host: RpcHost;
afterEach(() => host.stop());

function helmTest(): Promise<{ readonly code: number; readonly log: string }> {
  const environment = {
    RPC_URL: host.origin,
    RPC_CHECKS: host.opsOrigin.replace('http://', ''),
    PATIENCE_MS: '2000',
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
  expect(await helmTest()).toMatchObject({ code: 0, log: expect.stringContaining('ok    rpc can sign') });
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
  expect(log).toMatch(/FAIL {2}rpc can sign: check paymasters: no Paymaster is served\. Apply a Chain/);
});

test('one whose usage store is away fails, and says so', async () => {
  host = await startRpc({ opsPort: 0 });
  await host.usage.stop();
  const { code, log } = await helmTest();
  expect(code).toBe(1);
  expect(log).toMatch(/FAIL {2}rpc can sign: check usage-store: failed, see the log\. Check that the usage store answers/);
});
