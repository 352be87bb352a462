import { beforeEach, describe, expect, test } from '@jest/globals';
import type { PaymasterConfig } from '../../core/config/paymaster-config.js';
import { DomainError } from '../../core/errors.js';
import { entryPoints } from '../../core/entry-point/address.js';
import type { Estimate } from '../../core/userop/estimator.js';
import {
  addressOf,
  aLimitConfig,
  aPaymasterConfig,
  someFunding,
  someNow,
  someTarget,
  someVersions,
} from '../build/configs.js';
import {
  anOperation,
  anOperationWithoutLimits,
  execute,
  executeBatch,
  mintCall,
  sponsored,
  type WireOperation,
} from '../build/operations.js';
import { signerAddress, startRpc, verifySponsorship, type RpcAnswer, type RpcHost } from '../build/rpc.js';
import { useRpc } from '../support/use-rpc.js';

const anEstimate: Estimate = {
  callGasLimit: 61_001n,
  verificationGasLimit: 152_003n,
  preVerificationGas: 47_007n,
};

const host = useRpc();
let nonce = 0;
beforeEach(async () => {
  await host.put();
  await host.putChain();
  host.world.estimate = () => Promise.resolve(anEstimate);
});

/** A new operation: no two requests of this file share a reservation. */
function sponsor(overrides: WireOperation = {}, mode: WireOperation = sponsored): Promise<RpcAnswer> {
  nonce += 1;
  return host.call('pm_sponsorUserOperation', [anOperation({ nonce, ...overrides }), mode]);
}

describe('pm_sponsorUserOperation: computes the paymasterAndData field for the given request', () => {
  test('the answer holds MODE, paymasterAndData and the three limits, in the documented types', async () => {
    const operation = anOperation();
    const { status, body } = await host.call('pm_sponsorUserOperation', [operation, sponsored]);
    expect(status).toBe(200);
    expect(body.result).toEqual({
      mode: 'SPONSORED',
      MODE: 'SPONSORED',
      paymasterAndData: expect.stringMatching(/^0x[0-9a-f]{552}$/),
      preVerificationGas: '60000',
      verificationGasLimit: 200000,
      callGasLimit: 100000,
      validUntil: someNow / 1000 + 300,
    });
    expect(verifySponsorship(operation, body.result)).toEqual({
      signer: signerAddress,
      validUntil: someNow / 1000 + 300,
      validAfter: someNow / 1000 - 60,
      paymaster: expect.any(String),
      fundingAddress: someFunding.toLowerCase(),
    });
  });

  test.each(someVersions)(
    'version %s: the signature covers the operation with the answered limits',
    async (version) => {
      await host.put({ version });
      const operation = anOperation({ nonce: '0x70000000000000005', sender: addressOf(0xbeef) });
      const { body } = await host.call('pm_sponsorUserOperation', [operation, sponsored]);
      expect(verifySponsorship(operation, body.result, version).signer).toBe(signerAddress);
    },
  );

  test.each(someVersions.filter((version) => /0\.[78]|^2/.test(version)))(
    'version %s: the paymaster fields of EntryPoint 0.7+ are the parts of paymasterAndData',
    async (version) => {
      await host.put({ version });
      const { body } = await sponsor();
      const { result = {} } = body;
      const word = (value: unknown): string => Number(value).toString(16).padStart(32, '0');
      expect(
        `${String(result['paymaster'])}${word(result['paymasterVerificationGasLimit'])}` +
          `${word(result['paymasterPostOpGasLimit'])}${String(result['paymasterData']).slice(2)}`,
      ).toBe(result['paymasterAndData']);
    },
  );

  test.each([['SPONSORED'], ['SPONSORSHIP'], ['sponsored'], ['Sponsorship']])(
    'mode %s is sponsorship',
    async (mode) => {
      const { body } = await sponsor({}, { mode, calculateGasLimits: false });
      expect(body.result?.['MODE']).toBe('SPONSORED');
      expect(body.result?.['paymasterAndData']).not.toBe('0x');
    },
  );

  test('mode ERC20 is an error where the chain has no token contract for the version', async () => {
    const { status, body } = await sponsor(
      {},
      { mode: 'ERC20', tokenInfo: { feeTokenAddress: addressOf(1) } },
    );
    expect(status).toBe(400);
    expect(body.error).toMatchObject({
      code: -32602,
      data: { reason: 'MODE_NOT_AVAILABLE', retryable: false },
    });
    expect(body.error?.message).toContain('no contract for mode ERC20');
  });
});

describe('expiryDuration: seconds for which the generated data stays valid; default 300', () => {
  test.each<{ name: string; chain?: number; paymaster?: number; asked?: number; seconds: number }>([
    { name: 'the caller chooses up to 600', asked: 600, seconds: 600 },
    { name: 'a longer one is shortened', asked: 6000, seconds: 600 },
    { name: 'the longest that may be asked is shortened too', asked: 86_400, seconds: 600 },
    { name: 'a paymaster can shorten it further', paymaster: 120, asked: 600, seconds: 120 },
    { name: 'a paymaster cannot make it longer', paymaster: 7200, asked: 6000, seconds: 600 },
    { name: 'the chain can make it longer', chain: 7200, asked: 6000, seconds: 6000 },
    { name: 'and the paymaster shorten that', chain: 7200, paymaster: 900, asked: 6000, seconds: 900 },
    { name: 'a chain can make it shorter', chain: 60, asked: 600, seconds: 60 },
  ])('$name: $seconds s of $asked', async ({ chain, paymaster, asked, seconds }) => {
    if (chain !== undefined) await host.putChain({ maxExpirySeconds: chain });
    // A compiled paymaster names a figure always; the longest stands for one that sets none.
    await host.put({ maxExpirySeconds: paymaster ?? 86_400 });
    const operation = anOperation({ nonce: '0xe1' });
    const { body } = await host.call('pm_sponsorUserOperation', [
      operation,
      { ...sponsored, expiryDuration: asked },
    ]);
    const validUntil = someNow / 1000 + seconds;
    expect(verifySponsorship(operation, body.result).validUntil).toBe(validUntil);
    expect(body.result).toMatchObject({ validUntil });
    expect(body.result?.['expiryAsked']).toBe(asked === seconds ? undefined : asked);
    await host.putChain();
  });

  test('a paymaster with a lower bound than 300 shortens the default', async () => {
    await host.put({ maxExpirySeconds: 120 });
    const operation = anOperation({ nonce: '0xe2' });
    const { body } = await host.call('pm_sponsorUserOperation', [operation, sponsored]);
    expect(verifySponsorship(operation, body.result).validUntil).toBe(someNow / 1000 + 120);
    expect(body.result).not.toHaveProperty('expiryAsked');
  });

  test('validAfter is a minute before the chain where the chain is behind', async () => {
    const head = host.world.head;
    if (head === undefined) throw new Error('the world has no head');
    host.world.head = { ...head, timestamp: someNow / 1000 - 500 };
    const operation = anOperation({ nonce: '0xe3' });
    const { body } = await host.call('pm_sponsorUserOperation', [operation, sponsored]);
    host.world.head = head;
    expect(verifySponsorship(operation, body.result).validAfter).toBe(someNow / 1000 - 560);
  });

  test.each([[0], [-1], [1.5], [86_401], ['300s'], [true], [{}], [1e300]])(
    '%p is refused by name',
    async (expiryDuration) => {
      const { status, body } = await sponsor({}, { ...sponsored, expiryDuration });
      expect(status).toBe(400);
      expect(body.error?.code).toBe(-32602);
      expect(body.error?.message).toContain(
        'params[1].expiryDuration must be a whole number of seconds from 1 to 86400',
      );
    },
  );
});

describe('Sponsored mode: when it cannot be sponsored, paymasterAndData is 0x and the user pays the gas', () => {
  const other = addressOf(0xdead);
  const refusals: readonly {
    readonly name: string;
    readonly reason: string;
    readonly paymaster?: Partial<PaymasterConfig>;
    readonly operation?: WireOperation;
  }[] = [
    { name: 'a suspended paymaster', reason: 'SUSPENDED', paymaster: { suspended: true } },
    {
      name: 'a policy that was never valid',
      reason: 'POLICY_INVALID',
      paymaster: { invalidPolicies: ['Broken'] },
    },
    {
      name: 'no registered contract where the default is Deny',
      reason: 'OPEN_SPONSORSHIP_DENIED',
      paymaster: { contractsRegistered: false, contracts: [] },
    },
    {
      name: 'registered contracts that are all paused',
      reason: 'CONTRACT_NOT_REGISTERED',
      paymaster: { contracts: [] },
    },
    {
      name: 'a call to an address that is not registered',
      reason: 'CONTRACT_NOT_REGISTERED',
      operation: { callData: execute(other) },
    },
    {
      name: 'a method that is not whitelisted',
      reason: 'METHOD_NOT_WHITELISTED',
      operation: { callData: execute(someTarget, '0xdeadbeef') },
    },
    {
      name: 'a batch of which one call is not whitelisted',
      reason: 'CONTRACT_NOT_REGISTERED',
      operation: {
        callData: executeBatch([
          { target: someTarget, data: mintCall() },
          { target: other, data: mintCall() },
        ]),
      },
    },
    {
      name: 'a plain value transfer',
      reason: 'VALUE_TRANSFER',
      operation: { callData: execute(other, '0x', 1n) },
    },
    {
      name: 'callData of an unknown account',
      reason: 'ACCOUNT_UNKNOWN',
      operation: { callData: '0x12345678' },
    },
    {
      name: 'callData that does not decode',
      reason: 'CALLDATA_UNDECODABLE',
      operation: { callData: execute().slice(0, 150) },
    },
    {
      name: 'a deployment without a call',
      reason: 'DEPLOYMENT_NOT_ALLOWED',
      operation: { initCode: `0x${'11'.repeat(24)}`, callData: '0x' },
    },
    {
      name: 'fees far above those of the network',
      reason: 'FEE_TOO_HIGH',
      operation: { maxFeePerGas: 51_000_000_000, maxPriorityFeePerGas: 1 },
    },
    {
      name: 'a tip above maxFeePerGas',
      reason: 'PRIORITY_FEE_TOO_HIGH',
      operation: { maxFeePerGas: 10, maxPriorityFeePerGas: 11 },
    },
    {
      name: 'a gas limit above its cap',
      reason: 'GAS_LIMIT_TOO_HIGH',
      operation: { callGasLimit: 10_000_001 },
    },
    {
      name: 'less verification gas than the contract needs',
      reason: 'GAS_LIMIT_TOO_LOW',
      operation: { verificationGasLimit: 15_000 },
    },
    {
      name: 'a limit that is used up',
      reason: 'LIMIT_REACHED',
      paymaster: { limits: [aLimitConfig({ threshold: '0' })] },
    },
    {
      name: 'more gas than is left of a NATIVE_ASSET limit',
      reason: 'LIMIT_REACHED',
      paymaster: { limits: [aLimitConfig({ threshold: '0.0000001', thresholdType: 'NATIVE_ASSET' })] },
    },
  ];

  test.each(refusals)('$name is refused with $reason', async ({ reason, paymaster, operation }) => {
    await host.put(paymaster);
    const { status, headers, body } = await sponsor(operation);
    expect(status).toBe(200);
    expect(body.error).toBeUndefined();
    expect(body.result).toMatchObject({
      MODE: 'SPONSORED',
      mode: 'SPONSORED',
      paymasterAndData: '0x',
      reason,
    });
    expect(headers.get('x-sponsorship-reason')).toBe(reason);
    // Some flows have no other source of limits than this answer.
    expect(typeof body.result?.['preVerificationGas']).toBe('string');
    expect(Number(body.result?.['verificationGasLimit'])).toBeGreaterThan(0);
    expect(Number(body.result?.['callGasLimit'])).toBeGreaterThan(0);
  });

  describe('an account whose function is not built in', () => {
    const own = {
      signature: 'execFromEntryPoint(address,uint256,bytes)',
      shape: 'call',
      selector: '0x80c5c7d0',
    } as const;
    const called = (target = someTarget) => ({ callData: `${own.selector}${execute(target).slice(10)}` });

    test('is refused with the YAML to add', async () => {
      nonce += 1;
      const { body } = await host.call('pm_getPaymasterData', [
        anOperation({ nonce, ...called() }),
        entryPoints['0.6'],
        '0x7a69',
        {},
      ]);
      expect(body.error).toMatchObject({
        message: expect.stringContaining(
          'spec: {accountFunctions: [{signature: "execFromEntryPoint(address,uint256,bytes)", shape: call}]}',
        ),
        data: { reason: 'ACCOUNT_UNKNOWN' },
      });
    });

    test.each(['Paymaster', 'Chain'])('is read once the %s has a row for it', async (kind) => {
      if (kind === 'Chain') await host.putChain({ accountFunctions: [own] });
      await host.put(kind === 'Paymaster' ? { accountFunctions: [own] } : {});
      expect((await sponsor(called())).body.result?.['paymasterAndData']).not.toBe('0x');
      expect((await sponsor(called(other))).body.result?.['reason']).toBe('CONTRACT_NOT_REGISTERED');
    });
  });

  test.each([
    ['pm_sponsorUserOperation', { mode: 'SPONSORED' }],
    ['pm_getFeeQuoteOrData', { mode: 'SPONSORED' }],
  ])(
    '%s: an operation in the form of 0.6 that fails at a paymaster of 0.7 is told its EntryPoint',
    async (method, mode) => {
      await host.put({ version: '2.0.0' });
      host.world.estimate = () =>
        Promise.reject(new DomainError('ESTIMATION_FAILED', 'gas estimation failed: AA23 reverted'));
      nonce += 1;
      const { body } = await host.call(method, [anOperationWithoutLimits(), mode]);
      expect(body.error?.message).toContain(
        `AA23 reverted (the operation has the form of EntryPoint 0.6, and this paymaster is for 0.7, ${entryPoints['0.7']}: an account of another EntryPoint fails here)`,
      );
      const { initCode: _none, paymasterAndData: _data, ...own } = anOperationWithoutLimits();
      const later = await host.call(method, [own, mode]);
      expect(later.body.error?.message).not.toContain('EntryPoint 0.6');
    },
  );

  test('a suspended chain is refused with SUSPENDED', async () => {
    await host.putChain({ suspended: true });
    expect((await sponsor()).body.result?.['reason']).toBe('SUSPENDED');
  });

  test('a paymaster without a wallet where the profile has no default is refused with NOT_FUNDED', async () => {
    const { fundingAddress: _none, ...config } = aPaymasterConfig();
    await host.configs.putPaymaster(config);
    expect((await sponsor()).body.result).toMatchObject({ paymasterAndData: '0x', reason: 'NOT_FUNDED' });
  });

  test('a profile default pays for the organisations that it lists, and for no others', async () => {
    const { fundingAddress: _none, ...config } = aPaymasterConfig();
    await host.configs.putPaymaster(config);
    const [profile] = (await host.configs.getChain(config.chainId))?.config.profiles ?? [];
    if (profile === undefined) throw new Error('the chain has no profile');
    const served = { ...profile, defaultFunding: { address: someFunding, organisations: ['acme'] } };
    await host.putChain({ profiles: [served] });
    expect((await sponsor()).body.result?.['paymasterAndData']).not.toBe('0x');
    await host.putChain({
      profiles: [{ ...served, defaultFunding: { address: someFunding, organisations: ['b'] } }],
    });
    expect((await sponsor()).body.result?.['reason']).toBe('NOT_FUNDED');
  });

  test('a deposit that does not cover the operation is refused with DEPOSIT_TOO_LOW', async () => {
    const poor = await startRpc({ deposit: '0.00001' });
    try {
      const { body } = await poor.call('pm_sponsorUserOperation', [anOperation(), sponsored]);
      expect(body.result).toMatchObject({ paymasterAndData: '0x', reason: 'DEPOSIT_TOO_LOW' });
    } finally {
      await poor.stop();
    }
  });
});

describe('Contracts: the owner registers smart contracts whose methods the paymaster sponsors', () => {
  test('a batch is sponsored when every call hits a whitelisted method', async () => {
    const calls = [1, 2, 3].map((n) => ({ target: someTarget, data: mintCall(addressOf(n)) }));
    const { body } = await sponsor({ callData: executeBatch(calls) });
    expect(body.result?.['paymasterAndData']).not.toBe('0x');
  });

  test('with no contract registered and defaultContractAction Allow, any call is sponsored', async () => {
    await host.put({ contractsRegistered: false, contracts: [], defaultContractAction: 'Allow' });
    expect((await sponsor({ callData: '0x12345678' })).body.result?.['paymasterAndData']).not.toBe('0x');
  });

  test('WALLET_DEPLOYMENT permits a deployment without a call', async () => {
    await host.put({ walletDeployment: true });
    const { body } = await sponsor({ initCode: `0x${'11'.repeat(24)}`, callData: '0x' });
    expect(body.result?.['paymasterAndData']).not.toBe('0x');
  });

  test('a deployment with whitelisted calls needs no WALLET_DEPLOYMENT', async () => {
    expect((await sponsor({ initCode: `0x${'11'.repeat(24)}` })).body.result?.['paymasterAndData']).not.toBe(
      '0x',
    );
  });
});

describe('A spending limit is enforced per cycle', () => {
  test('COUNT: the operation that exceeds the threshold is refused', async () => {
    await host.put({
      limits: [aLimitConfig({ policyId: 'count', threshold: '2', startMs: host.clock.now() })],
    });
    const reasons = [];
    for (let i = 0; i < 3; i += 1) reasons.push((await sponsor()).body.result?.['reason']);
    expect(reasons).toEqual([undefined, undefined, 'LIMIT_REACHED']);
  });

  test('the next cycle starts anew', async () => {
    const own = await startRpc({
      paymaster: { limits: [aLimitConfig({ threshold: '1', durationMs: 600_000 })] },
    });
    try {
      const ask = (n: number) => own.call('pm_sponsorUserOperation', [anOperation({ nonce: n }), sponsored]);
      expect((await ask(1)).body.result?.['reason']).toBeUndefined();
      expect((await ask(2)).body.result?.['reason']).toBe('LIMIT_REACHED');
      own.clock.advance(600_000);
      expect((await ask(3)).body.result?.['reason']).toBeUndefined();
    } finally {
      await own.stop();
    }
  });

  test('SMART_ACCOUNT: each sender has a separate limit', async () => {
    await host.put({
      limits: [
        aLimitConfig({ policyId: 'each', threshold: '1', scope: 'SMART_ACCOUNT', startMs: host.clock.now() }),
      ],
    });
    const [a, b] = [addressOf(0xaaa), addressOf(0xbbb)];
    const reasons = [];
    for (const sender of [a, b, a]) reasons.push((await sponsor({ sender })).body.result?.['reason']);
    expect(reasons).toEqual([undefined, undefined, 'LIMIT_REACHED']);
  });

  test('asking again for the same operation counts once', async () => {
    await host.put({
      limits: [aLimitConfig({ policyId: 'once', threshold: '1', startMs: host.clock.now() })],
    });
    const same = { nonce: '0x5a5a' };
    expect((await sponsor(same)).body.result?.['reason']).toBeUndefined();
    expect((await sponsor(same)).body.result?.['reason']).toBeUndefined();
    expect((await sponsor()).body.result?.['reason']).toBe('LIMIT_REACHED');
  });

  test('concurrent requests never exceed a threshold', async () => {
    await host.put({
      limits: [aLimitConfig({ policyId: 'race', threshold: '7', startMs: host.clock.now() })],
    });
    const answers = await Promise.all(Array.from({ length: 40 }, () => sponsor()));
    const passed = answers.filter(({ body }) => body.result?.['paymasterAndData'] !== '0x');
    expect(passed).toHaveLength(7);
  });
});

describe('calculateGasLimits', () => {
  test('true: the limits are found by simulation, and the estimates are what is signed', async () => {
    const operation = anOperation({ nonce: '0xca1' });
    const { body } = await host.call('pm_sponsorUserOperation', [
      operation,
      { mode: 'SPONSORED', calculateGasLimits: true },
    ]);
    expect(body.result).toMatchObject({
      preVerificationGas: '47007',
      verificationGasLimit: 152003,
      callGasLimit: 61001,
    });
    expect(verifySponsorship(operation, body.result).signer).toBe(signerAddress);
  });

  test('the simulation sees paymaster data of the final length, signed by nobody', async () => {
    const seen: (string | undefined)[] = [];
    host.world.estimate = (request) => {
      seen.push(request.paymasterAndData);
      return Promise.resolve(anEstimate);
    };
    const { body } = await sponsor({}, { mode: 'SPONSORED', calculateGasLimits: true });
    expect(seen).toHaveLength(1);
    expect(seen[0]).toHaveLength(String(body.result?.['paymasterAndData']).length);
    expect(seen[0]).not.toBe(body.result?.['paymasterAndData']);
  });

  test('absent with all limits given: they are signed as they are, and nothing is simulated', async () => {
    host.world.estimate = () => Promise.reject(new Error('nothing is to be simulated'));
    const { body } = await sponsor({}, { mode: 'SPONSORED' });
    expect(body.result).toMatchObject({ callGasLimit: 100000, verificationGasLimit: 200000 });
    expect(body.result?.['paymasterAndData']).not.toBe('0x');
  });

  test.each([
    ['missing', anOperationWithoutLimits({ nonce: '0xca2' })],
    [
      '"0x"',
      anOperation({
        nonce: '0xca3',
        callGasLimit: '0x',
        verificationGasLimit: '0x',
        preVerificationGas: '0x',
      }),
    ],
    [
      'zero',
      anOperation({ nonce: '0xca4', callGasLimit: '0x0', verificationGasLimit: 0, preVerificationGas: '0' }),
    ],
  ])('absent with limits %s: they are calculated', async (_name, operation) => {
    const { body } = await host.call('pm_sponsorUserOperation', [operation, { mode: 'SPONSORED' }]);
    expect(body.result).toMatchObject({ callGasLimit: 61001, verificationGasLimit: 152003 });
  });

  test('false with a limit missing is an error that names it', async () => {
    const { status, body } = await host.call('pm_sponsorUserOperation', [
      anOperationWithoutLimits({ callGasLimit: 1 }),
      sponsored,
    ]);
    expect(status).toBe(400);
    expect(body.error?.code).toBe(-32602);
    expect(body.error?.message).toContain('params[0].verificationGasLimit');
    expect(body.error?.message).not.toContain('params[0].callGasLimit');
  });

  test('an operation that cannot be simulated is error -32004 with the reason of the EntryPoint', async () => {
    host.world.estimate = (await startedWorld()).estimate;
    const { status, body } = await sponsor({}, { mode: 'SPONSORED', calculateGasLimits: true });
    expect(status).toBe(400);
    expect(body.error).toMatchObject({ code: -32004, message: 'AA13 initCode failed or OOG' });
  });

  test('an operation whose call fails is refused with EXECUTION_REVERTS and its estimates', async () => {
    host.world.estimate = () => Promise.resolve({ ...anEstimate, reverted: 'ERC20: insufficient balance' });
    const { body } = await sponsor({}, { mode: 'SPONSORED', calculateGasLimits: true });
    expect(body.result).toMatchObject({
      paymasterAndData: '0x',
      reason: 'EXECUTION_REVERTS',
      callGasLimit: 61001,
    });
  });

  test('a refusal with missing limits simulates nothing and has fixed limits, never 0', async () => {
    await host.put({ suspended: true });
    const asked: unknown[] = [];
    host.world.estimate = (request) => {
      asked.push(request);
      return Promise.resolve(anEstimate);
    };
    const operation = anOperationWithoutLimits();
    const { status, body } = await host.call('pm_sponsorUserOperation', [operation, { mode: 'SPONSORED' }]);
    expect(asked).toEqual([]);
    expect(status).toBe(200);
    expect(body.result).toEqual({
      mode: 'SPONSORED',
      MODE: 'SPONSORED',
      paymasterAndData: '0x',
      preVerificationGas: expect.stringMatching(/^[1-9][0-9]+$/),
      verificationGasLimit: 200_000,
      callGasLimit: 500_000,
      reason: 'SUSPENDED',
    });
  });
});

describe('Values are accepted as clients send them', () => {
  test.each([
    ['hex', { nonce: '0x1f1', maxFeePerGas: '0x77359400', callGasLimit: '0x186a0' }],
    ['even-length hex', { nonce: '0x01f2', maxFeePerGas: '0x0077359400' }],
    ['decimal text', { nonce: '499', maxFeePerGas: '2000000000', maxPriorityFeePerGas: '0' }],
    ['numbers', { nonce: 500, maxFeePerGas: 2_000_000_000, callGasLimit: 100_000 }],
    ['an upper-case sender', { nonce: 501, sender: `0x${'AB'.repeat(20)}` }],
    ['a wrong checksum', { nonce: 502, sender: '0xfB6916095ca1df60bB79Ce92cE3Ea74c37c5d359' }],
    ['unknown fields', { nonce: 503, entryPoint: 'x', paymasterSignature: 1 }],
    ['a nonce of 192 + 64 bits', { nonce: `0x${'ff'.repeat(32)}` }],
  ])('%s', async (_name, overrides) => {
    const operation = anOperation(overrides);
    const { body } = await host.call('pm_sponsorUserOperation', [operation, sponsored]);
    expect(verifySponsorship(operation, body.result).signer).toBe(signerAddress);
  });

  test('EntryPoint 0.7: factory and factoryData are initCode', async () => {
    await host.put({ version: '2.0.0' });
    const { initCode: _none, ...rest } = anOperation({ nonce: 600 });
    const operation = { ...rest, factory: addressOf(0xfac), factoryData: '0x1234' };
    const { body } = await host.call('pm_sponsorUserOperation', [operation, sponsored]);
    expect(verifySponsorship(operation, body.result, '2.0.0').signer).toBe(signerAddress);
  });

  test('EntryPoint 0.7: packed operations are read as unpacked ones', async () => {
    await host.put({ version: '2.0.0' });
    const {
      callGasLimit: _c,
      verificationGasLimit: _v,
      maxFeePerGas: _m,
      maxPriorityFeePerGas: _p,
      ...rest
    } = anOperation({ nonce: 601 });
    const word = (high: number, low: number): string =>
      `0x${high.toString(16).padStart(32, '0')}${low.toString(16).padStart(32, '0')}`;
    const operation = {
      ...rest,
      accountGasLimits: word(200_000, 100_000),
      gasFees: word(1_000_000_000, 2_000_000_000),
    };
    const { body } = await host.call('pm_sponsorUserOperation', [operation, sponsored]);
    expect(body.result).toMatchObject({ verificationGasLimit: 200000, callGasLimit: 100000 });
    expect(verifySponsorship(operation, body.result, '2.0.0').signer).toBe(signerAddress);
  });
});

/** The estimator of a fresh world: nothing can be simulated. */
async function startedWorld(): Promise<RpcHost['world']> {
  const fresh = await startRpc();
  await fresh.stop();
  return fresh.world;
}
