import { afterAll, afterEach, beforeAll, describe, expect, test } from '@jest/globals';
import { getBytes } from 'ethers';
import { createTokenPaymentChecker } from '../../adapters/estimator/token-payment.js';
import type { PaymentGround, TokenPaymentChecker } from '../../core/paymaster/token-payment-checker.js';
import type { Verdict } from '../../core/refusal.js';
import { toAddressKey } from '../../core/units/address.js';
import { systemClock } from '../../core/units/time.js';
import { buildAccount } from './support/account.js';
import { startDevChain, type DevChain } from './support/dev-chain.js';
import { createNodes, tooManyArguments, type Reply } from './support/nodes.js';
import {
  approval,
  deployToken,
  mint,
  tokenCodecOf,
  tokenContract,
  tokenProfiles,
  tokenTerms,
  type Manners,
} from './support/tokens.js';
import { buildUserOp } from './support/user-op.js';

const plenty = 10n ** 12n;

let devChain: DevChain;
const nodes = createNodes(() => devChain.url);
beforeAll(async () => {
  devChain = await startDevChain();
});
afterEach(() => nodes.stop());
afterAll(() => devChain.stop());

describe.each(['1.1.0', 'singleton-0.7'] as const)('profile %s', (version) => {
  test('a node without state overrides cannot check a payment, and that is said', async () => {
    const refusing = await nodes.proxy((method, params) =>
      method === 'eth_call' && params.length > 2 ? tooManyArguments : 'pass',
    );
    await expect(checkOver(refusing, version)).rejects.toMatchObject({ code: 'ESTIMATION_FAILED' });
    await expect(checkOver(refusing, version)).rejects.toThrow('payments cannot be simulated');
  });

  test('a node that ignores state overrides silently never lets a payment pass', async () => {
    const ignoring = await nodes.proxy((method, params) =>
      method === 'eth_call' ? { params: params.slice(0, 2) } : 'pass',
    );
    await expect(checkOver(ignoring, version)).rejects.toMatchObject({ code: 'ESTIMATION_FAILED' });
  });

  test('a node without block overrides is enough', async () => {
    const node = await nodes.proxy((method, params) =>
      method === 'eth_call' && params.length > 3 ? tooManyArguments : 'pass',
    );
    expect(await checkOver(node, version)).toEqual({ pass: true });
  });

  test('a node whose eth_call knows no base fee is enough', async () => {
    const node = await nodes.proxy((method, params) => {
      const [call, block, overrides, time] = params;
      if (method !== 'eth_call' || overrides === undefined) return 'pass';
      return { params: [call, block, overrides, { ...Object(time), baseFee: '0x0' }] };
    });
    expect(await checkOver(node, version)).toEqual({ pass: true });
  });

  test('a node that gives eth_call too little gas says so', async () => {
    const node = await nodes.proxy((method, params) =>
      method === 'eth_call'
        ? { params: [{ ...Object(params[0]), gas: '0x30d40' }, ...params.slice(1)] }
        : 'pass',
    );
    await expect(checkOver(node, version)).rejects.toMatchObject({ code: 'ESTIMATION_FAILED' });
  });

  test('a node that is down is UNAVAILABLE', async () => {
    const node = await nodes.proxy(() => ({ error: { code: -32603, message: 'internal error' } }));
    await expect(checkOver(node, version)).rejects.toMatchObject({ code: 'UNAVAILABLE' });
  });
});

test.each(tokenProfiles)(
  'what the treasury receives from others meanwhile is not taken for the payment, profile %s',
  async (version) => {
    const token = await deployToken(devChain, 6, 'idle');
    const busy = await nodes.proxy(async (method): Promise<Reply> => {
      if (method === 'eth_call') await mint(devChain, token, devChain.deployments.treasury, plenty);
      return 'pass';
    });
    expect(await checkOver(busy, version, 'idle')).toMatchObject({
      pass: false,
      reason: 'TOKEN_PAYMENT_FAILS',
    });
  },
);

test.each(tokenProfiles)(
  'what was read while limits were estimated is not read again, profile %s',
  async (version) => {
    const profile = devChain.profile(version);
    const target = {
      paymasterId: 'pm-1',
      chainId: devChain.chainId,
      entryPoint: profile.entryPoint,
      entryPointVersion: profile.entryPointVersion,
      codec: tokenCodecOf(profile),
    };
    const readGround = () =>
      checkerOver(devChain.url).ground({ ...target, contract: tokenContract(profile) });
    const simulatesOnly = await nodes.proxy((method) =>
      method === 'eth_call' ? 'pass' : { error: { code: -32601, message: 'method not found' } },
    );
    expect(await checkOver(simulatesOnly, version, 'plain', readGround)).toEqual({ pass: true });
    await expect(checkOver(simulatesOnly, version)).rejects.toMatchObject({ code: 'UNAVAILABLE' });
  },
);

function checkerOver(url: string): TokenPaymentChecker {
  return createTokenPaymentChecker({
    chains: devChain.chains,
    endpoint: () => ({ rpc: { urls: [url] } }),
    clock: systemClock,
  });
}

/** Checks an operation that approves and would pay, were it not for the node or the token. */
async function checkOver(
  url: string,
  version: string,
  manners: Manners = 'plain',
  readGround?: () => Promise<PaymentGround>,
): Promise<Verdict> {
  const profile = devChain.profile(version);
  const token = await deployToken(devChain, 6, manners);
  const account = await buildAccount(devChain, profile.entryPointVersion);
  await mint(devChain, token, account.address, plenty);
  return checkerOver(url).check({
    paymasterId: 'pm-1',
    chainId: devChain.chainId,
    entryPoint: profile.entryPoint,
    entryPointVersion: profile.entryPointVersion,
    codec: tokenCodecOf(profile),
    op: await buildUserOp(account, [approval(token, profile, plenty)]),
    terms: await tokenTerms(devChain, profile, { token: toAddressKey(token) }),
    sign: async ({ digest }) => getBytes(devChain.sponsorSigner.signingKey.sign(digest).serialized),
    ...(readGround === undefined ? {} : { ground: readGround() }),
  });
}
