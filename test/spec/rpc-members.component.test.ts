import { beforeEach, describe, expect, test } from '@jest/globals';
import { entryPoints } from '../../core/entry-point/address.js';
import { addressOf, someToken } from '../build/configs.js';
import { anOperation } from '../build/operations.js';
import { type RpcAnswer } from '../build/rpc.js';
import { useRpc } from '../support/use-rpc.js';

// Members of the mode object and of contexts: clients send some that are for other services, and some that are wrong.

const host = useRpc();
beforeEach(async () => {
  await host.put();
  host.world.estimate = () =>
    Promise.resolve({ callGasLimit: 1n, verificationGasLimit: 1n, preVerificationGas: 1n });
});

type Send = (members: object) => Promise<RpcAnswer>;
const forms: readonly { readonly form: string; readonly path: string; readonly send: Send }[] = [
  ...['pm_sponsorUserOperation', 'pm_getFeeQuoteOrData', 'pm_explainSponsorship'].map((method) => ({
    form: `${method} with a mode object`,
    path: 'params[1]',
    send: (members: object) =>
      host.call(method, [anOperation(), { mode: 'SPONSORED', ...members }], {
        headers: { authToken: someToken },
      }),
  })),
  {
    form: 'pm_sponsorUserOperation with a context',
    path: 'params[2]',
    send: (members) => host.call('pm_sponsorUserOperation', [anOperation(), entryPoints['0.6'], members]),
  },
  ...['pm_getPaymasterData', 'pm_getPaymasterStubData'].map((method) => ({
    form: method,
    path: 'params[3]',
    send: (members: object) => host.call(method, [anOperation(), entryPoints['0.6'], '0x7a69', members]),
  })),
];

describe.each(forms)('$form', ({ path, send }) => {
  test('members that are not known refuse nothing, whatever they are', async () => {
    const { body } = await send({
      policyId: 7,
      sponsorshipPolicyId: 'sp_other',
      paymasterService: { url: [] },
      sponsorshipInfo: { webhook: 5, smartAccountInfo: { kind: null } },
      tokenInfo: { feeToken: false },
    });
    expect(body.error).toBeUndefined();
    expect(body.result).toBeDefined();
  });

  test.each<{ members: object; problem: string }>([
    { members: { mode: 5 }, problem: 'mode must be one of SPONSORED, ERC20, got 5' },
    {
      members: { calculateGasLimits: 'yes' },
      problem: 'calculateGasLimits must be true or false, got "yes"',
    },
    { members: { expiryDuration: {} }, problem: 'expiryDuration must be a whole number of seconds' },
    { members: { tokenInfo: 'USDC' }, problem: 'tokenInfo must be an object, got "USDC"' },
    { members: { tokenInfo: { tokenList: 'x' } }, problem: 'tokenInfo.tokenList must be an array, got "x"' },
    {
      members: { tokenInfo: { preferredToken: 1 } },
      problem: 'tokenInfo.preferredToken must be text, got 1',
    },
    { members: { tokenInfo: { feeTokenAddress: [] } }, problem: 'tokenInfo.feeTokenAddress must be text' },
    { members: { mode: 'SPONSORED', token: {} }, problem: 'token must be text, got {}' },
    { members: { sponsorshipInfo: [] }, problem: 'sponsorshipInfo must be an object, got []' },
    { members: { sponsorshipInfo: { webhookData: 1 } }, problem: 'webhookData must be an object, got 1' },
    {
      members: { sponsorshipInfo: { smartAccountInfo: 'BICONOMY' } },
      problem: 'sponsorshipInfo.smartAccountInfo must be an object, got "BICONOMY"',
    },
    {
      members: { sponsorshipInfo: { smartAccountInfo: { version: 2 } } },
      problem: 'sponsorshipInfo.smartAccountInfo.version must be text, got 2',
    },
    { members: { callWebhook: 1 }, problem: 'callWebhook must be true or false, got 1' },
  ])('$members is refused by name, in every mode', async ({ members, problem }) => {
    const { body } = await send(members);
    expect(body.error).toMatchObject({ code: -32602, data: { reason: 'INVALID_INPUT' } });
    expect(body.error?.message).toContain(`${path}.`);
    expect(body.error?.message).toContain(problem);
  });

  test('null and empty text mean that a member is missing', async () => {
    const { body } = await send({
      calculateGasLimits: null,
      tokenInfo: { feeTokenAddress: '', preferredToken: null, tokenList: '' },
      sponsorshipInfo: { webhookData: null, smartAccountInfo: { name: '', version: null } },
    });
    expect(body.error).toBeUndefined();
  });
});

test.each([
  ['pm_sponsorUserOperation', [{ mode: 'SPONSORED' }]],
  ['pm_getFeeQuoteOrData', [{ mode: 'SPONSORED' }]],
  ['pm_getPaymasterData', [entryPoints['0.6'], '0x7a69', {}]],
  ['pm_getPaymasterStubData', [entryPoints['0.6'], '0x7a69', {}]],
])(
  '%s never signs an operation in the form of EntryPoint 0.7 for a paymaster on 0.6',
  async (method, rest) => {
    const paymaster = { paymaster: addressOf(0xa), paymasterVerificationGasLimit: '0x1' };
    const { body } = await host.call(method, [anOperation(paymaster), ...rest]);
    expect(body.result).toBeUndefined();
    expect(body.error).toMatchObject({ code: -32602 });
    expect(body.error?.message).toContain('this paymaster signs for 0.6');
  },
);
