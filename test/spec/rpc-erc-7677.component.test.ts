import { beforeEach, describe, expect, test } from '@jest/globals';
import { encodeRlp } from 'ethers';
import { entryPoints } from '../../core/entry-point/address.js';
import {
  addressOf,
  aLimitConfig,
  aProfileConfig,
  mintSelector,
  someNow,
  someVersions,
} from '../build/configs.js';
import { anOperation, execute, type WireOperation } from '../build/operations.js';
import { rpcPath, signerAddress, verifySponsorship } from '../build/rpc.js';
import { useRpc } from '../support/use-rpc.js';

const host = useRpc();
beforeEach(() => host.put());

const limits = { callGasLimit: 100_000, verificationGasLimit: 200_000, preVerificationGas: 60_000 };

describe('ERC-7677', () => {
  test.each(someVersions)('version %s: stub and data have the same length and fields', async (version) => {
    await host.put({ version });
    const { entryPoint } = aProfileConfig(version);
    const params = (overrides: WireOperation): readonly unknown[] => [
      anOperation(overrides),
      entryPoint,
      '0x7a69',
      null,
    ];
    const stub = await host.call(
      'pm_getPaymasterStubData',
      params({ callGasLimit: '0x0', verificationGasLimit: '0x0', preVerificationGas: '0x0' }),
    );
    const data = await host.call('pm_getPaymasterData', params({}));
    const { isFinal, ...fields } = stub.body.result ?? {};
    expect(isFinal).toBe(false);
    const { validUntil, ...signed } = data.body.result ?? {};
    expect(validUntil).toBe(someNow / 1000 + 300);
    expect(Object.keys(fields).sort()).toEqual(Object.keys(signed).sort());
    for (const [name, value] of Object.entries(fields))
      expect(String(value)).toHaveLength(String(data.body.result?.[name]).length);
    const result = data.body.result ?? {};
    const word = (value: unknown): string => BigInt(String(value)).toString(16).padStart(32, '0');
    const paymasterAndData =
      result['paymasterAndData'] ??
      `${String(result['paymaster'])}${word(result['paymasterVerificationGasLimit'])}` +
        `${word(result['paymasterPostOpGasLimit'])}${String(result['paymasterData']).slice(2)}`;
    const verified = verifySponsorship(anOperation(), { ...limits, paymasterAndData }, version);
    expect(verified.signer).toBe(signerAddress);
  });

  test('signed data say who pays in the names that AbstractionKit reads, unless the user does', async () => {
    const icon = 'data:image/png;base64,iVBORw0KGgo=';
    await host.put({ sponsor: { name: 'My Shop', icon } });
    const params = [anOperation(), entryPoints['0.6'], '0x7a69'];
    const sponsored = await host.call('pm_getPaymasterData', [...params, {}]);
    expect(sponsored.body.result?.['sponsorMetadata']).toEqual({
      name: 'My Shop',
      description: '',
      url: '',
      icons: [icon],
    });
    await host.put({ sponsor: { name: 'My Shop' } });
    const without = await host.call('pm_getPaymasterData', [...params, {}]);
    expect(without.body.result?.['sponsorMetadata']).toMatchObject({ icons: [] });
    await host.put();
    const unnamed = await host.call('pm_getPaymasterData', [...params, {}]);
    expect(unnamed.body.result).not.toHaveProperty('sponsorMetadata');
  });

  test('the stub stage reserves nothing', async () => {
    await host.put({ limits: [aLimitConfig({ policyId: 'stub', threshold: '1' })] });
    const params = [anOperation({ nonce: 1 }), entryPoints['0.6'], '0x7a69', {}];
    for (let i = 0; i < 3; i += 1)
      expect((await host.call('pm_getPaymasterStubData', params)).body.result).toBeDefined();
    expect((await host.call('pm_getPaymasterData', params)).body.result).toBeDefined();
  });

  test.each([['pm_getPaymasterStubData'], ['pm_getPaymasterData']])(
    '%s: a refusal is error -32501 under HTTP 200, with its reason',
    async (method) => {
      const operation = anOperation({ callData: execute(addressOf(0xdead)) });
      const params = [operation, entryPoints['0.6'], '0x7a69', null];
      const { status, headers, body } = await host.call(method, params);
      expect(status).toBe(200);
      expect(body.error).toMatchObject({ code: -32501, data: { reason: 'CONTRACT_NOT_REGISTERED' } });
      expect(headers.get('x-sponsorship-reason')).toBe('CONTRACT_NOT_REGISTERED');
    },
  );

  test.each([
    ['another EntryPoint', entryPoints['0.7'], '0x7a69', 'params[1]'],
    ['no EntryPoint', null, '0x7a69', 'params[1]'],
    ['another chain', entryPoints['0.6'], '0x1', 'params[2]'],
    ['no chain', entryPoints['0.6'], null, 'params[2]'],
  ])('%s is -32602 under HTTP 200', async (_name, entryPoint, chain, field) => {
    const { status, body } = await host.call('pm_getPaymasterStubData', [
      anOperation(),
      entryPoint,
      chain,
      null,
    ]);
    expect(status).toBe(200);
    expect(body.error?.code).toBe(-32602);
    expect(body.error?.message).toContain(field);
  });
});

describe('whatever the error, a form that names an EntryPoint answers it under HTTP 200', () => {
  const forms = [
    { name: 'ERC-7677', method: 'pm_getPaymasterStubData', rest: [entryPoints['0.6'], '0x7a69', {}] },
    { name: 'permissionless', method: 'pm_sponsorUserOperation', rest: [entryPoints['0.6'], {}] },
  ];

  test.each(forms)('$name: an unknown key', async ({ method, rest }) => {
    const path = rpcPath('aaaaaaaaa.00000000-0000-4000-8000-000000000000');
    const { status, body } = await host.call(method, [anOperation(), ...rest], { path });
    expect(status).toBe(200);
    expect(body.error?.code).toBe(-32001);
  });

  test.each(forms)('$name: too many requests', async ({ method, rest }) => {
    await host.put({ rateLimit: { perKey: { requests: 1, perSeconds: 60 } } });
    const ask = () => host.call(method, [anOperation({ nonce: 77 }), ...rest]);
    await ask();
    const { status, headers, body } = await ask();
    expect(status).toBe(200);
    expect(headers.get('retry-after')).toMatch(/^[0-9]+$/);
    expect(body.error?.code).toBe(-32005);
  });
});

describe('a refusal names the call and the request', () => {
  const target = addressOf(0xdead);
  const refused = anOperation({ callData: execute(target) });
  const forms = [
    { name: 'pm_getPaymasterStubData', method: 'pm_getPaymasterStubData', rest: ['0x7a69', null] },
    { name: 'pm_getPaymasterData', method: 'pm_getPaymasterData', rest: ['0x7a69', null] },
    { name: 'permissionless', method: 'pm_sponsorUserOperation', rest: [] },
  ];

  test.each(forms)('$name: a contract that is not registered', async ({ method, rest }) => {
    const headers = { 'x-request-id': 'wallet-17' };
    const { body } = await host.call(method, [refused, entryPoints['0.6'], ...rest], { headers });
    expect(body.error?.data).toMatchObject({
      reason: 'CONTRACT_NOT_REGISTERED',
      requestId: 'wallet-17',
      call: { index: 0, target: target.toLowerCase(), selector: mintSelector },
    });
    expect(body.error?.message).toBe(
      `Smart contract data not found: a called address is not registered. (call 0 to ${target.toLowerCase()} with selector ${mintSelector}) Request wallet-17.`,
    );
  });

  test.each(forms)(
    '$name: a refusal that is about no call names the request alone',
    async ({ method, rest }) => {
      await host.put({ suspended: true });
      const headers = { 'x-request-id': 'wallet-18' };
      const { body } = await host.call(method, [anOperation(), entryPoints['0.6'], ...rest], { headers });
      expect(body.error?.message).toBe('The paymaster or its chain is suspended. Request wallet-18.');
      expect(body.error?.data).not.toHaveProperty('call');
    },
  );

  test.each(forms)(
    '$name: an authorization in factoryData is told where it belongs',
    async ({ method, rest }) => {
      const authorization = encodeRlp([
        '0x7a69',
        target,
        '0x',
        '0x01',
        `0x${'c1'.repeat(32)}`,
        `0x${'5d'.repeat(32)}`,
      ]);
      const operation = anOperation({ initCode: undefined, factory: target, factoryData: authorization });
      const { body } = await host.call(method, [operation, entryPoints['0.6'], ...rest]);
      expect(body.error?.code).toBe(-32602);
      expect(body.error?.message).toContain(
        'params[0].factoryData must be call data: an EIP-7702 authorization belongs in eip7702Auth',
      );
    },
  );
});

describe('pm_getPaymasterData signs the limits of the request', () => {
  const found = { callGasLimit: 90_001n, verificationGasLimit: 180_001n, preVerificationGas: 50_001n };
  const ask = (operation: WireOperation, context: unknown) =>
    host.call('pm_getPaymasterData', [operation, entryPoints['0.6'], '0x7a69', context]);
  const signedLimits = (result: Readonly<Record<string, unknown>> | undefined) =>
    Object.fromEntries(Object.keys(limits).map((name) => [name, Number(result?.[name])]));

  test('calculateGasLimits: true, limits given: they are signed and answered, and nothing is simulated', async () => {
    host.world.estimate = () => Promise.reject(new Error('nobody asked for an estimate'));
    const operation = anOperation({ nonce: 31 });
    const { body } = await ask(operation, { calculateGasLimits: true });
    expect(signedLimits(body.result)).toEqual(limits);
    expect(verifySponsorship(operation, { ...limits, ...body.result }).signer).toBe(signerAddress);
  });

  test.each([
    ['no limit', { callGasLimit: undefined, verificationGasLimit: undefined, preVerificationGas: undefined }],
    ['zeros', { callGasLimit: '0x0', verificationGasLimit: '0x0', preVerificationGas: '0x0' }],
  ])('calculateGasLimits: true, %s given: all are found, signed and answered', async (_name, given) => {
    host.world.estimate = () => Promise.resolve(found);
    const operation = anOperation({ nonce: 32, ...given });
    const { body } = await ask(operation, { calculateGasLimits: true });
    expect(signedLimits(body.result)).toEqual(
      Object.fromEntries(Object.entries(found).map(([name, value]) => [name, Number(value)])),
    );
    const final = { ...operation, ...signedLimits(body.result) };
    expect(verifySponsorship(final, { ...signedLimits(body.result), ...body.result }).signer).toBe(
      signerAddress,
    );
  });

  test('calculateGasLimits: true, one limit missing: the others are signed as given', async () => {
    host.world.estimate = () => Promise.resolve(found);
    const operation = anOperation({ nonce: 33, preVerificationGas: undefined });
    const { body } = await ask(operation, { calculateGasLimits: true });
    expect(signedLimits(body.result)).toEqual({ ...limits, preVerificationGas: 50_001 });
  });

  test('a limit that was given beside missing ones is bounded by the fine that it could cost', async () => {
    await host.put({ version: '2.0.0' });
    host.world.estimate = () => Promise.resolve(found);
    const given = { callGasLimit: '0x895440', preVerificationGas: undefined };
    const fees = { maxFeePerGas: '0xb2d05e00', maxPriorityFeePerGas: '0x3b9aca00' };
    const params = [
      anOperation({ nonce: 34, ...given, ...fees }),
      entryPoints['0.7'],
      '0x7a69',
      { calculateGasLimits: true },
    ];
    const { body } = await host.call('pm_getPaymasterData', params);
    expect(body.error?.data.reason).toBe('GAS_LIMIT_TOO_HIGH');
    expect(body.error?.message).toContain('A gas limit is above its cap');
  });

  test('without calculateGasLimits a missing limit is -32602, and no limits are in the answer', async () => {
    const missing = await ask(anOperation({ preVerificationGas: undefined }), {});
    expect(missing.body.error?.code).toBe(-32602);
    expect(missing.body.error?.message).toContain('params[0].preVerificationGas');
    const { body } = await ask(anOperation({ nonce: 35 }), {});
    expect(body.result).not.toHaveProperty('callGasLimit');
  });
});
