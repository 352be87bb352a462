import { beforeEach, describe, expect, test } from '@jest/globals';
import type { EpochMs } from '../../core/units/time.js';
import { passHeader, createPasses } from '../../core/config/pass.js';
import {
  addressOf,
  aLimitConfig,
  aPaymasterConfig,
  sha256,
  someNow,
  someTarget,
  someToken,
} from '../build/configs.js';
import { anOperation, execute, executeBatch, mintCall, sponsored } from '../build/operations.js';
import { masterKeys } from '../build/operator.js';
import { type RpcAnswer } from '../build/rpc.js';
import { useRpc } from '../support/use-rpc.js';

const host = useRpc();
beforeEach(() => host.put());

function explain(operation = {}, mode = {}, token: string | undefined = someToken): Promise<RpcAnswer> {
  return host.call('pm_explainSponsorship', [anOperation(operation), { ...sponsored, ...mode }], {
    headers: token === undefined ? {} : { authToken: token },
  });
}

describe('pm_explainSponsorship needs an authToken of the organisation, since an API key is public', () => {
  test.each([['missing'], ['wrong']])('a %s one is 401', async (which) => {
    const { status, body } = await host.call('pm_explainSponsorship', [anOperation(), sponsored], {
      headers: which === 'missing' ? {} : { authToken: 'another-token-0123456789' },
    });
    expect(status).toBe(401);
    expect(body.error).toMatchObject({ code: -32001, data: { reason: 'AUTH_TOKEN_REQUIRED' } });
  });

  test('a pass of the dashboard, which has checked its caller, is enough for the paymaster that it names', async () => {
    const passes = createPasses({ masterKeys, clock: host.clock });
    const explainWith = (pass: string) =>
      host.call('pm_explainSponsorship', [anOperation(), sponsored], { headers: { [passHeader]: pass } });
    const { paymasterId } = aPaymasterConfig();
    expect((await explainWith(passes.issue(paymasterId))).body.result).toMatchObject({ sponsored: true });
    for (const pass of [passes.issue('another'), 'x', '']) expect((await explainWith(pass)).status).toBe(401);
  });

  test('an expired one is 401', async () => {
    await host.put({ tokens: [{ sha256: sha256(someToken), validUntil: someNow as EpochMs }] });
    expect((await explain()).status).toBe(401);
  });
});

describe('pm_explainSponsorship shows why', () => {
  test('an operation that would be sponsored passes every step', async () => {
    await host.put({ limits: [aLimitConfig({ threshold: '5' })] });
    const { body } = await explain();
    expect(body.result).toMatchObject({
      sponsored: true,
      account: 'execute(address,uint256,bytes)',
      calls: [{ target: someTarget.toLowerCase(), value: '0', contract: 'Coin', verdict: { pass: true } }],
      gas: { estimated: false, callGasLimit: '100000', maxCost: '0.00152' },
      limits: [
        {
          name: 'Daily',
          threshold: '5 operations',
          used: '0 operations',
          left: '5 operations',
          needed: '1 operation',
        },
      ],
    });
    expect(body.result?.['reason']).toBeUndefined();
    expect(body.result?.['deposits']).toHaveLength(2);
  });

  test('every obstacle is shown at once, each with what would make it pass', async () => {
    await host.put({ suspended: true, limits: [aLimitConfig({ threshold: '0' })] });
    const callData = executeBatch([
      { target: someTarget, data: mintCall() },
      { target: someTarget, data: '0xdeadbeef' },
      { target: addressOf(0xdead), data: mintCall() },
    ]);
    const { body } = await explain({ callData, callGasLimit: 99_000_000 });
    expect(body.result).toMatchObject({ sponsored: false, reason: 'SUSPENDED' });
    const steps = body.result?.['steps'];
    expect(steps).toEqual(
      expect.arrayContaining(
        ['SUSPENDED', 'METHOD_NOT_WHITELISTED', 'GAS_LIMIT_TOO_HIGH', 'LIMIT_REACHED'].map((reason) =>
          expect.objectContaining({
            reason,
            verdict: 'refuse',
            detail: expect.any(String),
            remedy: expect.any(String),
          }),
        ),
      ),
    );
    expect(body.result?.['calls']).toMatchObject([
      { verdict: { pass: true } },
      { verdict: { reason: 'METHOD_NOT_WHITELISTED' } },
      { verdict: { reason: 'CONTRACT_NOT_REGISTERED' } },
    ]);
  });

  test.each([
    ['an unknown method', { callData: execute(someTarget, '0xdeadbeef') }],
    ['a gas limit above its cap', { callGasLimit: 10_000_001 }],
    ['a fee above its cap', { maxFeePerGas: 51_000_000_000 }],
    ['nothing', {}],
  ])('the reason for %s is the one that a sponsorship request is given', async (_name, operation) => {
    const explained = await explain({ nonce: 77, ...operation });
    const asked = await host.call('pm_sponsorUserOperation', [
      anOperation({ nonce: 77, ...operation }),
      sponsored,
    ]);
    expect(explained.body.result?.['reason']).toBe(asked.body.result?.['reason']);
    expect(explained.body.result?.['sponsored']).toBe(asked.body.result?.['paymasterAndData'] !== '0x');
  });

  test('members that are not known are listed, each with the one that was perhaps meant, and refuse nothing', async () => {
    const { body } = await explain(
      {},
      {
        expiryDuraton: 60,
        sponsorshipInfo: { webhokData: { a: 1 }, smartAccountInfo: { name: 'x', versoin: '1' } },
        colour: 'blue',
      },
    );
    expect(body.result).toMatchObject({
      sponsored: true,
      ignored: [
        'params[1].expiryDuraton: not known, ignored: did you mean params[1].expiryDuration?',
        'params[1].sponsorshipInfo.webhokData: not known, ignored: did you mean params[1].sponsorshipInfo.webhookData?',
        'params[1].sponsorshipInfo.smartAccountInfo.versoin: not known, ignored: did you mean params[1].sponsorshipInfo.smartAccountInfo.version?',
        'params[1].colour: not known, ignored',
      ],
    });
    expect((await explain()).body.result).not.toHaveProperty('ignored');
  });

  test('an operation in the form of EntryPoint 0.7 is told that the paymaster signs for 0.6', async () => {
    const { body } = await explain({ initCode: undefined, factory: addressOf(0xfac), factoryData: '0x12' });
    expect(body.error).toMatchObject({ code: -32602, data: { reason: 'INVALID_INPUT' } });
    expect(body.error?.message).toContain(
      'params[0].factory must be left out: the operation is in the form of EntryPoint 0.7 or later, and this paymaster signs for 0.6',
    );
  });

  test('it reserves nothing and signs nothing', async () => {
    await host.put({ limits: [aLimitConfig({ policyId: 'explained', threshold: '1' })] });
    for (let i = 0; i < 3; i += 1)
      expect((await explain({ nonce: i })).body.result?.['sponsored']).toBe(true);
    const { text } = await explain();
    expect(text).not.toContain('paymasterAndData');
    const { body } = await host.call('pm_sponsorUserOperation', [anOperation({ nonce: 900 }), sponsored]);
    expect(body.result?.['paymasterAndData']).not.toBe('0x');
  });

  test('webhooks are asked only when told to', async () => {
    await host.put({
      webhooks: [
        { policyId: 'w', name: 'Rules', url: 'https://rules.example', method: 'POST', onError: 'Deny' },
      ],
    });
    let calls = 0;
    host.world.webhook = ({ policies }) => {
      calls += 1;
      return Promise.resolve(policies.map(() => ({ verdict: 'refused', reason: 'not a member' }) as const));
    };
    const without = await explain();
    expect(calls).toBe(0);
    expect(without.body.result).toMatchObject({
      sponsored: null,
      undecided: ['Rules'],
      webhooks: [{ name: 'Rules', verdict: 'not asked' }],
    });
    const withThem = await explain({}, { callWebhook: true });
    expect(calls).toBe(1);
    expect(withThem.body.result).toMatchObject({
      sponsored: false,
      reason: 'WEBHOOK_REFUSED',
      webhooks: [{ name: 'Rules', verdict: 'refused', reason: 'not a member' }],
    });
    expect(withThem.body.result).not.toHaveProperty('undecided');
    // What is refused anyway is not undecided.
    const refused = await explain({ callData: '0x' });
    expect(refused.body.result).toMatchObject({ sponsored: false });
  });

  test('callWebhook that is not a boolean is an error', async () => {
    const { status, body } = await explain({}, { callWebhook: 'yes' });
    expect(status).toBe(400);
    expect(body.error?.message).toContain('params[1].callWebhook must be true or false');
  });

  test('an operation that cannot be simulated is shown, not thrown', async () => {
    const { status, body } = await explain({}, { calculateGasLimits: true });
    expect(status).toBe(200);
    expect(body.result).toMatchObject({
      sponsored: false,
      steps: expect.arrayContaining([
        {
          step: 'gas',
          verdict: 'error',
          reason: 'ESTIMATION_FAILED',
          detail: 'AA13 initCode failed or OOG',
        },
      ]),
    });
  });

  test('an operation whose call fails is shown with what to do about it', async () => {
    const givenLimits = { callGasLimit: 1n, verificationGasLimit: 1n, preVerificationGas: 1n };
    const reverted = 'ERC20InsufficientAllowance(spender=0x1, allowance=0, needed=5)';
    host.world.estimate = () =>
      Promise.resolve({ ...givenLimits, reverted, remedy: 'Approve the spender for the amount.' });
    const { body } = await explain({}, { calculateGasLimits: true });
    expect(body.result).toMatchObject({
      sponsored: false,
      steps: expect.arrayContaining([
        {
          step: 'gas',
          verdict: 'refuse',
          reason: 'EXECUTION_REVERTS',
          detail: reverted,
          remedy: 'Approve the spender for the amount.',
        },
      ]),
    });
  });
});
