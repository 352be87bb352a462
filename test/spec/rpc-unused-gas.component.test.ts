import { beforeEach, describe, expect, test } from '@jest/globals';
import { aProfileConfig, someToken } from '../build/configs.js';
import { aTokenChain, usdx } from '../build/fee-tokens.js';
import { anOperation, sponsored } from '../build/operations.js';
import type { RpcAnswer } from '../build/rpc.js';
import { useRpc } from '../support/use-rpc.js';

// Limits that a caller gives are signed unchanged, unless the fine for their unused gas could be too high.

// A large loss budget: it is not the subject here, and these operations are expensive.
const { profiles = [], ...chain } = aTokenChain();
const generous = profiles.map((profile) =>
  profile.token === undefined ? profile : { ...profile, tokenLossBudget: '100' },
);
const host = useRpc({ chain: { ...chain, profiles: generous } });
let simulated = 0;
let needed = 60_000n;
beforeEach(async () => {
  await host.put({ version: '2.0.0' });
  simulated = 0;
  needed = 60_000n;
  host.world.estimate = () => {
    simulated += 1;
    return Promise.resolve({
      callGasLimit: needed,
      verificationGasLimit: 100_000n,
      preVerificationGas: 50_000n,
    });
  };
});

const token = { mode: 'ERC20', tokenInfo: { feeTokenAddress: usdx.address } };
/** 10 M gas at 3 gwei: the fine could be 0.003 coins. */
const greedy = (nonce: number) =>
  anOperation({ nonce, callGasLimit: 10_000_000, maxFeePerGas: '3000000000', maxPriorityFeePerGas: '0' });
const honest = (nonce: number) => anOperation({ nonce, callGasLimit: 100_000 });

/** Why it was refused; undefined when data were signed. */
function refusalOf({ body }: RpcAnswer): unknown {
  if (body.error !== undefined) return body.error.data.reason;
  return body.result?.['paymasterAndData'] === '0x' ? body.result['reason'] : undefined;
}

const ways: readonly { name: string; ask: (operation: object) => Promise<RpcAnswer> }[] = [
  {
    name: 'pm_sponsorUserOperation',
    ask: (operation) => host.call('pm_sponsorUserOperation', [operation, sponsored]),
  },
  {
    name: 'pm_sponsorUserOperation in mode ERC20',
    ask: (operation) => host.call('pm_sponsorUserOperation', [operation, token]),
  },
  {
    name: 'pm_getFeeQuoteOrData in mode ERC20',
    ask: (operation) => host.call('pm_getFeeQuoteOrData', [operation, { mode: 'ERC20' }]),
  },
  {
    name: 'pm_getPaymasterData',
    ask: (operation) =>
      host.call('pm_getPaymasterData', [operation, aProfileConfig('2.0.0').entryPoint, '0x7a69', null]),
  },
];

describe.each(ways)('$name', ({ ask }) => {
  test('ordinary limits are signed without a simulation', async () => {
    expect(refusalOf(await ask(honest(1)))).toBeUndefined();
    expect(simulated).toBe(0);
  });

  test('limits that could cost much are simulated, and refused when the call needs little', async () => {
    expect(refusalOf(await ask(greedy(2)))).toBe('GAS_LIMIT_TOO_HIGH');
    expect(simulated).toBe(1);
  });

  test('they are signed as given when the call needs about as much', async () => {
    needed = 8_000_000n;
    const answer = await ask(greedy(3));
    expect(refusalOf(answer)).toBeUndefined();
    expect(simulated).toBe(1);
    expect(answer.body.result?.['callGasLimit'] ?? 10_000_000).toBe(10_000_000);
  });

  test('they are refused when the call fails: then all of it is unused', async () => {
    needed = 8_000_000n;
    const estimate = host.world.estimate;
    host.world.estimate = async (request) => ({ ...(await estimate(request)), reverted: 'sold out' });
    expect(refusalOf(await ask(greedy(4)))).toBe('EXECUTION_REVERTS');
  });

  test('what is above another cap is refused without a simulation', async () => {
    expect(refusalOf(await ask({ ...greedy(5), callGasLimit: 10_000_001 }))).toBe('GAS_LIMIT_TOO_HIGH');
    expect(simulated).toBe(0);
  });

  test('the chain decides what is risked', async () => {
    await host.putChain({ gas: { maxUnusedGasFee: '4000000000000000' } });
    expect(refusalOf(await ask(greedy(6)))).toBeUndefined();
    expect(simulated).toBe(0);
    await host.putChain();
  });
});

test('on EntryPoint 0.6 nothing is fined, and nothing simulated', async () => {
  await host.put({ version: '1.1.0' });
  expect(refusalOf(await host.call('pm_sponsorUserOperation', [greedy(7), sponsored]))).toBeUndefined();
  expect(simulated).toBe(0);
});

test.each([
  { name: 'SPONSORED', mode: sponsored },
  { name: 'ERC20', mode: token },
])('an explanation in mode $name shows the figures', async ({ mode }) => {
  const headers = { authToken: someToken };
  const { body } = await host.call('pm_explainSponsorship', [greedy(8), mode], { headers });
  expect(body.result).toMatchObject({
    sponsored: false,
    reason: 'GAS_LIMIT_TOO_HIGH',
    gas: { estimated: false, unusedGasFee: expect.stringMatching(/^0\.0030\d+$/), maxUnusedGasFee: '0.001' },
  });
  expect(JSON.stringify(body.result)).toContain('callGasLimit is 10000000 gas, the call needs 60000');
});
