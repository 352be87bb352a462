import { beforeEach, describe, expect, test } from '@jest/globals';
import { NothingSimulates } from '../../core/userop/estimator.js';
import { aLimitConfig, aProfileConfig, someVersions } from '../build/configs.js';
import { aTokenChain, usdx } from '../build/fee-tokens.js';
import { anOperation, type WireOperation } from '../build/operations.js';
import { signerAddress, verifySponsorship, verifyTokenPayment } from '../build/rpc.js';
import { useRpc } from '../support/use-rpc.js';

// `pm_sponsorUserOperation [operation, entryPoint, context]`, as Pimlico's clients send it.

const host = useRpc({ chain: aTokenChain() });
const found = { callGasLimit: 60_000n, verificationGasLimit: 100_000n, preVerificationGas: 50_000n };
let nonce = 0;
beforeEach(async () => {
  await host.put();
  host.world.estimate = () => Promise.resolve(found);
});

const entryPointOf = (version: string) => aProfileConfig(version).entryPoint;
const anOp = (limits: WireOperation = {}) => {
  nonce += 1;
  return anOperation({ nonce, ...limits });
};
const ask = (operation: WireOperation, version: string, ...context: readonly unknown[]) =>
  host.call('pm_sponsorUserOperation', [operation, entryPointOf(version), ...context]);

const limits = ['preVerificationGas', 'verificationGasLimit', 'callGasLimit'];
const fieldsOf = (version: string) =>
  /^1|0\.6/.test(version)
    ? ['paymasterAndData', ...limits]
    : ['paymaster', 'paymasterData', 'paymasterVerificationGasLimit', 'paymasterPostOpGasLimit', ...limits];

describe('the answer has fields of the operation alone, in hex', () => {
  test.each(someVersions)('version %s', async (version) => {
    await host.put({ version });
    const operation = anOp();
    const { status, body } = await ask(operation, version);
    expect(status).toBe(200);
    expect(Object.keys(body.result ?? {}).sort()).toEqual(fieldsOf(version).sort());
    for (const [name, value] of Object.entries(body.result ?? {}))
      expect([name, value]).toEqual([
        name,
        expect.stringMatching(
          /^(paymaster|paymasterData|paymasterAndData)$/.test(name)
            ? /^0x[0-9a-fA-F]+$/
            : /^0x(0|[1-9a-f][0-9a-f]*)$/,
        ),
      ]);
    expect(verifySponsorship(operation, body.result, version).signer).toBe(signerAddress);
  });

  test.each([[[]], [[{}]], [[null]], [[{ mode: 'SPONSORED' }]]])('with context %j', async (context) => {
    const { body } = await ask(anOp(), '1.1.0', ...context);
    expect(Object.keys(body.result ?? {}).sort()).toEqual(fieldsOf('1.1.0').sort());
  });

  test('in mode ERC20', async () => {
    const operation = anOp();
    const { body } = await ask(operation, '1.1.0', { token: usdx.address });
    expect(Object.keys(body.result ?? {}).sort()).toEqual(fieldsOf('1.1.0').sort());
    expect(verifyTokenPayment(operation, body.result).signer).toBe(signerAddress);
  });

  test('a refusal is an error under HTTP 200', async () => {
    await host.put({ suspended: true });
    const { status, body } = await ask(anOp(), '1.1.0');
    expect(status).toBe(200);
    expect(body.error).toMatchObject({ code: -32501, data: { reason: 'SUSPENDED' } });
  });

  test('without a registered contract is told in the header alone', async () => {
    await host.put({ contracts: [], contractsRegistered: false, defaultContractAction: 'Allow' });
    const { headers, body } = await ask(anOp(), '1.1.0');
    expect(headers.get('x-open-sponsorship')).toBe('true');
    expect(Object.keys(body.result ?? {}).sort()).toEqual(fieldsOf('1.1.0').sort());
  });
});

describe('limits of the caller are placeholders as often as estimates', () => {
  const signedOf = async (given: WireOperation, version = '2.0.0', ...context: readonly unknown[]) => {
    await host.put({ version });
    const operation = anOp(given);
    const { body } = await ask(operation, version, ...context);
    if (body.error !== undefined) return body.error.data.reason;
    expect(verifySponsorship(operation, body.result, version).signer).toBe(signerAddress);
    return Object.fromEntries(limits.map((name) => [name, Number(body.result?.[name])]));
  };
  const foundNumbers = { callGasLimit: 60_000, verificationGasLimit: 100_000, preVerificationGas: 50_000 };

  test('lower ones give way to those found', async () => {
    // 35,000 gas for a call that needs 60,000 would be mined, fail, and be paid by the sponsor.
    const placeholders = { callGasLimit: 35_000, verificationGasLimit: 70_000, preVerificationGas: 21_000 };
    expect(await signedOf(placeholders)).toEqual(foundNumbers);
  });

  test('larger ones are signed', async () => {
    const given = { callGasLimit: 90_000, verificationGasLimit: 150_000, preVerificationGas: 60_000 };
    expect(await signedOf(given)).toEqual(given);
  });

  test('a callGasLimit whose fine could be too high gives way to the one found, where there is a fine', async () => {
    const given = { callGasLimit: 9_000_000, maxFeePerGas: '3000000000', maxPriorityFeePerGas: '0' };
    expect(await signedOf(given)).toMatchObject({ callGasLimit: 60_000 });
    // EntryPoint 0.6 takes no fine.
    expect(await signedOf(given, '1.1.0')).toMatchObject({ callGasLimit: 9_000_000 });
  });

  test('those above the caps are shortened to them', async () => {
    expect(await signedOf({ verificationGasLimit: 9_000_000, initCode: '0x' })).toMatchObject({
      verificationGasLimit: 5_000_000,
    });
    expect(await signedOf({ callGasLimit: 90_000_000 }, '1.1.0')).toMatchObject({ callGasLimit: 10_000_000 });
  });

  test('calculateGasLimits: false says that they are final, and nothing is simulated', async () => {
    host.world.estimate = () => Promise.reject(new Error('nobody asked for a simulation'));
    const given = { callGasLimit: 35_000, verificationGasLimit: 70_000, preVerificationGas: 45_000 };
    expect(await signedOf(given, '2.0.0', { calculateGasLimits: false })).toEqual(given);
  });

  test('calculateGasLimits: true signs those found', async () => {
    const given = { callGasLimit: 90_000, verificationGasLimit: 150_000, preVerificationGas: 60_000 };
    expect(await signedOf(given, '2.0.0', { calculateGasLimits: true })).toEqual(foundNumbers);
  });

  test('a call that fails in the simulation is refused', async () => {
    host.world.estimate = () => Promise.resolve({ ...found, reverted: 'AlwaysFails()' });
    expect(await signedOf({})).toBe('EXECUTION_REVERTS');
  });

  describe('where nothing simulates', () => {
    beforeEach(() => {
      host.world.estimate = () =>
        Promise.reject(
          new NothingSimulates('ESTIMATION_FAILED', 'no state overrides', { reason: 'ESTIMATION_FAILED' }),
        );
    });

    test('they are signed as they are, under the checks of limits that are given', async () => {
      const given = { callGasLimit: 90_000, verificationGasLimit: 150_000, preVerificationGas: 60_000 };
      expect(await signedOf(given)).toEqual(given);
      expect(await signedOf({ callGasLimit: 90_000_000 }, '1.1.0')).toBe('GAS_LIMIT_TOO_HIGH');
    });

    test('those that need a simulation are refused: missing ones, and one whose fine could be too high', async () => {
      expect(await signedOf({ callGasLimit: '0x0' })).toBe('ESTIMATION_FAILED');
      const greedy = { callGasLimit: 9_000_000, maxFeePerGas: '3000000000', maxPriorityFeePerGas: '0' };
      expect(await signedOf(greedy)).toBe('ESTIMATION_FAILED');
    });
  });

  test('in mode ERC20 the larger ones count, too', async () => {
    const operation = anOp({ callGasLimit: 90_000, verificationGasLimit: 20_000 });
    const { body } = await ask(operation, '1.1.0', { token: usdx.address });
    expect(Number(body.result?.['callGasLimit'])).toBe(90_000);
    expect(Number(body.result?.['verificationGasLimit'])).toBeGreaterThanOrEqual(100_000);
    expect(verifyTokenPayment(operation, body.result).signer).toBe(signerAddress);
  });
});

describe('0x0 does not count as a limit', () => {
  const sign = (operation: WireOperation) =>
    host.call('pm_getPaymasterData', [operation, entryPointOf('1.1.0'), '0x7a69', {}]);

  test.each(['callGasLimit', 'verificationGasLimit'])(
    'pm_getPaymasterData with %s 0x0 is -32602, and uses up nothing',
    async (name) => {
      await host.put({
        limits: [aLimitConfig({ policyId: `once-${name}`, threshold: '1', thresholdType: 'COUNT' })],
      });
      const operation = anOp();
      const { body } = await sign({ ...operation, [name]: '0x0' });
      expect(body.error).toMatchObject({
        code: -32602,
        message: expect.stringContaining(
          `params[0].${name} must be above 0: send what an estimate with the stub found, or calculateGasLimits: true`,
        ),
      });
      expect((await sign(operation)).body.error).toBeUndefined();
    },
  );

  test("a preVerificationGas of 0x0 is signed: a bundler of one's own may ask for none", async () => {
    expect((await sign(anOp({ preVerificationGas: '0x0' }))).body.error).toBeUndefined();
  });

  test('a callGasLimit of 0x0 is right where no call is made', async () => {
    await host.put({ contracts: [], contractsRegistered: false, defaultContractAction: 'Allow' });
    const { body } = await sign(anOp({ callData: '0x', callGasLimit: '0x0' }));
    expect(body.error).toBeUndefined();
  });
});
