import { beforeEach, describe, expect, test } from '@jest/globals';
import type { WebhookConfig } from '../../core/policy/webhook/schema.js';
import type { HostOutcome, HostRequest } from '../../core/policy/policy-hosts.js';
import { entryPoints } from '../../core/entry-point/address.js';
import { aLimitConfig, someNow } from '../build/configs.js';
import { anOperation, anOperationWithoutLimits, sponsored } from '../build/operations.js';
import { type RpcAnswer } from '../build/rpc.js';
import { useRpc } from '../support/use-rpc.js';

const webhook: WebhookConfig = {
  policyId: 'w1',
  name: 'Rules',
  url: 'https://rules.example/check',
  method: 'POST',
  onError: 'Deny',
};

const host = useRpc();
let asked: HostRequest[] = [];
let nonce = 0;
beforeEach(async () => {
  await host.put({ webhooks: [webhook] });
  answerWith({ verdict: 'verified' });
});

function answerWith(outcome: HostOutcome): void {
  asked = [];
  host.world.webhook = (request) => {
    asked.push(request);
    return Promise.resolve(request.policies.map(() => outcome));
  };
}

function sponsor(sponsorshipInfo?: unknown, operation = {}): Promise<RpcAnswer> {
  nonce += 1;
  return host.call('pm_sponsorUserOperation', [
    anOperation({ nonce, ...operation }),
    { ...sponsored, ...(sponsorshipInfo === undefined ? {} : { sponsorshipInfo }) },
  ]);
}

describe('the reason that a host gives', () => {
  beforeEach(() => answerWith({ verdict: 'refused', reason: 'not a "member"' }));

  test('reaches the caller beside ours, as text', async () => {
    const { body } = await sponsor();
    expect(body.result).toMatchObject({ reason: 'WEBHOOK_REFUSED', webhookReason: 'not a "member"' });
  });

  test('is in the data of the error where a refusal is one', async () => {
    const { body } = await host.call('pm_getPaymasterData', [
      anOperation({ nonce: 77 }),
      entryPoints['0.6'],
      '0x7a69',
      null,
    ]);
    expect(body.error?.data).toMatchObject({ reason: 'WEBHOOK_REFUSED', webhookReason: 'not a "member"' });
  });

  test('is absent where a host gives none', async () => {
    answerWith({ verdict: 'refused' });
    expect((await sponsor()).body.result).not.toHaveProperty('webhookReason');
  });
});

describe('The webhook rule', () => {
  test('when a WEBHOOK policy applies, the webhookData of the request is forwarded to it, and the user operation', async () => {
    const webhookData = { userId: 7, tags: ['a', null], nested: { ok: true } };
    const { body, headers } = await sponsor({ webhookData });
    expect(body.result?.['paymasterAndData']).not.toBe('0x');
    expect(asked).toHaveLength(1);
    expect(asked[0]?.data).toEqual(webhookData);
    expect(asked[0]?.requestId).toBe(headers.get('x-request-id'));
    expect(asked[0]?.userOp).toMatchObject({
      nonce: `0x${nonce.toString(16)}`,
      initCode: '0x',
      callGasLimit: '0x186a0',
      verificationGasLimit: '0x30d40',
      preVerificationGas: '0xea60',
      maxFeePerGas: '0x77359400',
    });
  });

  test('the operation is shown as it will be signed, with the limits that were found', async () => {
    host.world.estimate = () =>
      Promise.resolve({ callGasLimit: 1001n, verificationGasLimit: 202_002n, preVerificationGas: 3003n });
    await host.call('pm_sponsorUserOperation', [
      anOperationWithoutLimits({ nonce: '0xf1' }),
      { mode: 'SPONSORED' },
    ]);
    expect(asked[0]?.userOp).toMatchObject({ callGasLimit: '0x3e9', verificationGasLimit: '0x31512' });
  });

  test('data is {} when the request has none', async () => {
    await sponsor();
    await sponsor({});
    expect(asked.map(({ data }) => data)).toEqual([{}, {}]);
  });

  test('arePoliciesVerified false means that the request is not sponsored', async () => {
    answerWith({ verdict: 'refused' });
    const { body, headers } = await sponsor();
    expect(body.result).toMatchObject({ paymasterAndData: '0x', reason: 'WEBHOOK_REFUSED' });
    expect(headers.get('x-sponsorship-reason')).toBe('WEBHOOK_REFUSED');
  });

  test('a failure refuses by default, and passes with onError Allow', async () => {
    answerWith({ verdict: 'failed', detail: 'HTTP 500' });
    expect((await sponsor()).body.result?.['reason']).toBe('WEBHOOK_FAILED');
    await host.put({ webhooks: [{ ...webhook, onError: 'Allow' }] });
    expect((await sponsor()).body.result?.['reason']).toBeUndefined();
  });

  test('it is not asked about what is refused already', async () => {
    await sponsor({}, { callData: '0x12345678' });
    await host.put({ webhooks: [webhook], limits: [aLimitConfig({ threshold: '0' })] });
    await sponsor();
    expect(asked).toEqual([]);
  });

  test.each([
    {
      name: 'a method that is taken off the whitelist',
      change: () => host.put({ webhooks: [webhook], contracts: [] }),
      reason: 'CONTRACT_NOT_REGISTERED',
    },
    {
      name: 'a paymaster that is suspended',
      change: () => host.put({ webhooks: [webhook], suspended: true }),
      reason: 'SUSPENDED',
    },
    {
      name: 'a chain that is suspended',
      change: () => host.putChain({ suspended: true }),
      reason: 'SUSPENDED',
    },
    {
      name: 'a limit that is lowered',
      change: () => host.put({ webhooks: [webhook], limits: [aLimitConfig({ threshold: '0' })] }),
      reason: 'LIMIT_REACHED',
    },
  ])('$name while a webhook is asked: nothing is signed', async ({ change, reason }) => {
    host.world.webhook = async ({ policies }) => {
      await change();
      return policies.map(() => ({ verdict: 'verified' }));
    };
    const { body } = await sponsor();
    await host.putChain();
    expect(body.result).toMatchObject({ paymasterAndData: '0x', reason });
  });

  test('a webhook that refuses uses nothing up', async () => {
    await host.put({
      webhooks: [webhook],
      limits: [aLimitConfig({ policyId: 'unused', threshold: '1', startMs: someNow })],
    });
    answerWith({ verdict: 'refused' });
    await sponsor();
    await sponsor();
    answerWith({ verdict: 'verified' });
    expect((await sponsor()).body.result?.['paymasterAndData']).not.toBe('0x');
  });

  test.each([
    ['a list', []],
    ['text', 'data'],
    ['a number', 7],
  ])('webhookData that is %s is an error that names it', async (_name, webhookData) => {
    const { status, body } = await sponsor({ webhookData });
    expect(status).toBe(400);
    expect(body.error?.message).toContain('params[1].sponsorshipInfo.webhookData must be an object');
  });

  test('webhookData nested too deep is an error', async () => {
    const deep = `${'{"deep":'.repeat(5000)}{}${'}'.repeat(5000)}`;
    const request = JSON.stringify({
      jsonrpc: '2.0',
      id: 1,
      method: 'pm_sponsorUserOperation',
      params: [anOperation(), { mode: 'SPONSORED', sponsorshipInfo: { webhookData: 'HERE' } }],
    });
    const { status, body } = await host.post(request.replace('"HERE"', deep));
    expect(status).toBe(400);
    expect(body.error?.message).toContain('nested at most');
  });
});
