import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { computeAddress } from 'ethers';
import { loadSigners, type LoadedSigners } from '../../adapters/signer/signers.js';
import { silentLogger } from '../../core/log.js';
import { aLimitConfig, someChainId } from '../build/configs.js';
import { anOperation, sponsored } from '../build/operations.js';
import { startRpc, type RpcHost } from '../build/rpc.js';
import type { FakeServer } from '../fakes/signers/fake-server.js';
import { publicKeyOf, startFakeWeb3signer } from '../fakes/signers/web3signer.js';
import { until } from '../support/until.js';

// What callers get, and what stays reserved, when the key is elsewhere. Two operations may be sponsored in all.

const key = `0x${'6b'.repeat(32)}`;
let fake: FakeServer;
let signers: LoadedSigners;
let host: RpcHost;

beforeEach(async () => {
  fake = await startFakeWeb3signer([key]);
});
afterEach(async () => {
  await host.stop();
  signers.stop();
  await fake.stop();
});

/** `deadlineMs`: patience with the signer, in the tests in which it must run out. */
const start = async (deadlineMs = 60_000): Promise<void> => {
  const text = `kind: web3signer\nurl: ${fake.origin}\npublicKey: ${publicKeyOf(key)}\naddress: ${computeAddress(key)}`;
  signers = await loadSigners({
    environment: { PAYMASTER_SIGNER_KEY_DEV_KEY: text },
    limits: { deadlineMs, calls: 100 },
    log: silentLogger,
  });
  host = await startRpc({
    signers: () => Promise.resolve(signers),
    paymaster: { limits: [aLimitConfig({ policyId: 'count', thresholdType: 'COUNT', threshold: '2' })] },
  });
};
const ask = (nonce: string) => host.call('pm_sponsorUserOperation', [anOperation({ nonce }), sponsored]);
const live = async () => (await host.usage.reservations(someChainId)).length;

describe('While a remote signer', () => {
  test('works, it is asked once for each operation, and never to warm up', async () => {
    await start();
    // To find out whether it can sign.
    expect(fake.asked.length).toBe(1);
    const { body } = await ask('0x1');
    expect(String(body.result?.['paymasterAndData']).length).toBeGreaterThan(100);
    expect(fake.asked.length).toBe(2);
  });

  test('refuses, callers get -32003 SIGNER_UNAVAILABLE, and nothing stays reserved', async () => {
    await start();
    fake.switches.revoked = true;
    for (const nonce of ['0x1', '0x2', '0x3']) {
      const { status, body, headers } = await ask(nonce);
      expect(status).toBe(400);
      expect(body.error).toMatchObject({
        code: -32003,
        data: { reason: 'SIGNER_UNAVAILABLE', retryable: true, retryAfterSeconds: 1 },
      });
      expect(headers.get('retry-after')).toBe('1');
      expect(await live()).toBe(0);
    }
    fake.calm();
    expect((await ask('0x4')).body.result?.['paymasterAndData']).not.toBe('0x');
  });

  test.each<[string, (fake: FakeServer) => void]>([
    ['never answers', ({ switches }) => (switches.silent = true)],
    ['tears its answers', ({ switches }) => (switches.torn = true)],
    ['signs with another key', ({ switches }) => (switches.wrongKey = true)],
  ])('%s, what it may have signed stays reserved: nobody gets more than the limit', async (_how, turn) => {
    await start(300);
    turn(fake);
    for (const nonce of ['0x1', '0x2'])
      expect((await ask(nonce)).body.error?.data.reason).toBe('SIGNER_UNAVAILABLE');
    expect(await live()).toBe(2);
    fake.calm();
    expect((await ask('0x3')).body.result?.['paymasterAndData']).toBe('0x');
  });

  test('is away when the server starts, the server starts, and signs once it is back', async () => {
    fake.switches.revoked = true;
    await start();
    const { body } = await ask('0x1');
    expect(body.error?.data.reason).toBe('SIGNER_UNAVAILABLE');
    fake.calm();
    expect((await ask('0x1')).body.result?.['paymasterAndData']).not.toBe('0x');
  });
});

describe('Someone who asks twice for the same data', () => {
  test('and makes one of the two signatures fail, does not free what the other one holds', async () => {
    await start();
    fake.switches.delayMs = 200;
    const before = fake.asked.length;
    const first = ask('0x1');
    await until('the signer is asked', () => fake.asked.length > before);
    // The digest is the same: the clock of this server stands still.
    fake.switches.revoked = true;
    const second = await ask('0x1');
    expect(second.body.error?.data.reason).toBe('SIGNER_UNAVAILABLE');
    expect(await live()).toBe(1);
    expect((await first).body.result?.['paymasterAndData']).not.toBe('0x');
    expect(await live()).toBe(1);
  });
});
