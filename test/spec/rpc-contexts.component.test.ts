import { beforeEach, describe, expect, test } from '@jest/globals';
import { entryPoints } from '../../core/entry-point/address.js';
import { addressOf, aLimitConfig } from '../build/configs.js';
import { aTokenChain, usdx } from '../build/fee-tokens.js';
import { anOperation } from '../build/operations.js';
import { verifySponsorship, verifyTokenPayment, type RpcAnswer } from '../build/rpc.js';
import { useRpc } from '../support/use-rpc.js';

// Contexts of other services' clients, in every form that has one.

const host = useRpc({ chain: aTokenChain() });
const found = { callGasLimit: 60_000n, verificationGasLimit: 100_000n, preVerificationGas: 50_000n };
let nonce = 0;
beforeEach(async () => {
  await host.put();
  host.world.estimate = () => Promise.resolve(found);
});

type Ask = (context: object) => Promise<RpcAnswer & { readonly operation: ReturnType<typeof anOperation> }>;
const asks: readonly { readonly form: string; readonly path: string; readonly ask: Ask }[] = [
  {
    form: 'pm_sponsorUserOperation',
    path: 'params[2]',
    ask: (context) => send('pm_sponsorUserOperation', [entryPoints['0.6'], context]),
  },
  ...['pm_getPaymasterStubData', 'pm_getPaymasterData'].map((method) => ({
    form: method,
    path: 'params[3]',
    ask: (context: object) => send(method, [entryPoints['0.6'], '0x7a69', context]),
  })),
];
const signing = asks.filter(({ form }) => form !== 'pm_getPaymasterStubData');

async function send(method: string, rest: readonly unknown[]) {
  nonce += 1;
  // Losses by unpaid tokens are bounded for each account.
  const operation = anOperation({ nonce, sender: addressOf(0xbee0000 + nonce) });
  return { operation, ...(await host.call(method, [operation, ...rest])) };
}
const aWebhook = {
  policyId: 'w-1',
  name: 'host',
  url: 'https://rules.example.com/check',
  method: 'POST',
  timeoutMs: 1_000,
  onError: 'Deny',
  keyGeneration: 1,
} as const;
const given = { callGasLimit: 100_000, verificationGasLimit: 200_000, preVerificationGas: 60_000 };

describe.each(signing)('$form, a token to pay in', ({ ask }) => {
  const token = usdx.address;

  test.each([
    ["Alchemy's erc20Context", { policyId: '7b9f…', erc20Context: { tokenAddress: token } }],
    ["Pimlico's token", { token }],
    ['tokenInfo without a mode', { tokenInfo: { feeTokenAddress: token } }],
  ])('%s chooses mode ERC20', async (_name, context) => {
    const { operation, body } = await ask(context);
    expect(verifyTokenPayment(operation, { ...given, ...body.result }).token).toBe(token.toLowerCase());
  });

  test('mode SPONSORED wins over it', async () => {
    const { operation, body } = await ask({ mode: 'SPONSORED', erc20Context: { tokenAddress: token } });
    expect(verifySponsorship(operation, { ...given, ...body.result }).paymaster).toBeDefined();
  });
});

describe.each(asks)('$form, the most that may be paid', ({ ask, path }) => {
  const pay = (member: object) => ask({ erc20Context: { tokenAddress: usdx.address, ...member } });

  test('is obeyed, as hex, decimal text or number', async () => {
    for (const maxTokenAmount of ['0x1', '1', 1])
      expect((await pay({ maxTokenAmount })).body.error).toMatchObject({
        code: -32501,
        message: expect.stringMatching(/the payment may take \d+ base units, the request allows 1/),
        data: { reason: 'TOKEN_AMOUNT_TOO_HIGH' },
      });
    expect((await pay({ maxTokenAmount: '0xffffffffff' })).body.error).toBeUndefined();
  });

  test.each([
    [{ maxTokenAmount: 'much' }, 'erc20Context.maxTokenAmount must be a quantity as 0x hex'],
    [{ tokenAddress: 'USDC' }, 'erc20Context.tokenAddress must be an address'],
    [
      { permit: { value: '1', deadline: '2' } },
      'erc20Context.permit must be left out: permits are not passed on',
    ],
  ])('%j is -32602', async (member, problem) => {
    const { body } = await pay(member);
    expect(body.error).toMatchObject({
      code: -32602,
      message: expect.stringContaining(`${path}.${problem}`),
    });
  });

  test.each([{ token: addressOf(0xabc) }, { tokenInfo: { feeTokenAddress: addressOf(0xabc) } }])(
    '%j beside another token in erc20Context is -32602',
    async (other) => {
      const { body } = await ask({ ...other, erc20Context: { tokenAddress: usdx.address } });
      expect(body.error).toMatchObject({
        code: -32602,
        message: expect.stringContaining(
          `${path}.erc20Context.tokenAddress must be ${addressOf(0xabc).toLowerCase()}`,
        ),
      });
    },
  );

  test('an erc20Context that is not an object is -32602', async () => {
    const { body } = await ask({ erc20Context: 'USDC' });
    expect(body.error?.message).toContain(`${path}.erc20Context must be an object`);
  });
});

describe.each(asks)('$form, a token in words that are not read', ({ ask, path }) => {
  test.each([
    [{ feeToken: usdx.address }, 'feeToken'],
    [{ gasToken: { address: usdx.address } }, 'gasToken'],
    [{ erc20: [usdx.address] }, 'erc20'],
    [{ paymentERC20: { token: usdx.address, symbol: 'USDX' } }, 'paymentERC20'],
  ])('%j is refused: nothing is sponsored by misreading', async (context, name) => {
    const { body } = await ask(context);
    expect(body.error).toMatchObject({
      code: -32602,
      message: expect.stringContaining(`${path}.${name} must be left out, since it is not read here`),
    });
  });

  test('with mode SPONSORED, and without an address, it is ignored', async () => {
    expect((await ask({ mode: 'SPONSORED', feeToken: usdx.address })).body.error).toBeUndefined();
    for (const context of [
      { feeToken: 'USDC' },
      { erc20: { a: { b: usdx.address } } },
      { owner: usdx.address },
    ])
      expect((await ask(context)).body.error).toBeUndefined();
  });
});

describe.each(asks)('$form, policyId', ({ ask }) => {
  const campaigns = () =>
    host.put({ limits: [aLimitConfig({ policyId: 'l-summer', campaign: 'summer' })], campaigns: ['summer'] });
  const reasonOf = async (context: object) => (await ask(context)).body.error?.data.reason;

  test('is the campaign where campaigns are used, as text or as a list', async () => {
    await campaigns();
    expect(await reasonOf({})).toBe('CAMPAIGN_REQUIRED');
    for (const policyId of ['summer', ['summer'], ['winter', 'summer']])
      expect(await reasonOf({ policyId })).toBeUndefined();
    for (const policyId of ['winter', ['winter'], ['winter', 'spring']])
      expect(await reasonOf({ policyId })).toBe('CAMPAIGN_NOT_ACTIVE');
    expect(await reasonOf({ policyId: 'winter', sponsorshipPolicyId: 'summer' })).toBeUndefined();
  });

  test('is ignored elsewhere, whatever it is', async () => {
    for (const policyId of ['summer', 7, [{}], null]) expect(await reasonOf({ policyId })).toBeUndefined();
  });
});

describe.each(signing)('$form, webhookData', ({ ask }) => {
  test('as text is what the host gets', async () => {
    await host.put({ webhooks: [aWebhook] });
    const seen: unknown[] = [];
    host.world.webhook = ({ data, policies }) => {
      seen.push(data);
      return Promise.resolve(policies.map(() => ({ verdict: 'verified' }) as const));
    };
    await ask({ webhookData: 'order 17' });
    expect(seen).toEqual(['order 17']);
  });
});

test('an address in another place does not name a token', async () => {
  const { body } = await send('pm_getPaymasterData', [
    entryPoints['0.6'],
    '0x7a69',
    { referrer: addressOf(9) },
  ]);
  expect(body.error).toBeUndefined();
});
