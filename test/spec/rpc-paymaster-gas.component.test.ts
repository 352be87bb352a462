import { beforeEach, describe, expect, test } from '@jest/globals';
import { layouts } from '../../core/paymaster/layouts.js';
import { addressOf, aLimitConfig, aProfileConfig, someVersions } from '../build/configs.js';
import { aTokenChain, usdx } from '../build/fee-tokens.js';
import { anOperation, sponsored, type WireOperation } from '../build/operations.js';
import { signerAddress, verifySponsorship } from '../build/rpc.js';
import { useRpc } from '../support/use-rpc.js';

// Gas limits of the paymaster that a wallet has estimated or taken from elsewhere: never replaced without a word.

const host = useRpc({ chain: aTokenChain() });
const found = { callGasLimit: 60_000n, verificationGasLimit: 100_000n, preVerificationGas: 50_000n };
let nonce = 0;
beforeEach(() => {
  host.world.estimate = () => Promise.resolve(found);
});

const names = ['paymasterVerificationGasLimit', 'paymasterPostOpGasLimit'] as const;
type Name = (typeof names)[number];
const versions = someVersions.filter((version) => !/^1|0\.6/.test(version));

function figuresOf(version: string) {
  const { layout, options } = aProfileConfig(version);
  const { gas, minGas: leastGas } = layouts[layout].sponsorship;
  return { own: gas(options), least: leastGas(options) };
}

const anOp = (fields: WireOperation) => {
  nonce += 1;
  // Losses by unpaid tokens are bounded for each account.
  return anOperation({ nonce, sender: addressOf(0xcaf0000 + nonce), ...fields });
};
const forms = {
  vendor: (operation: WireOperation) => host.call('pm_sponsorUserOperation', [operation, sponsored]),
  pimlico: (operation: WireOperation, version: string) =>
    host.call('pm_sponsorUserOperation', [operation, aProfileConfig(version).entryPoint, {}]),
  'ERC-7677': (operation: WireOperation, version: string, context: object = {}) =>
    host.call('pm_getPaymasterData', [operation, aProfileConfig(version).entryPoint, '0x7a69', context]),
};

describe.each(versions)('version %s', (version) => {
  const { own, least } = figuresOf(version);
  beforeEach(() => host.put({ version }));

  const signed = async (form: keyof typeof forms, fields: WireOperation) => {
    const operation = anOp(fields);
    const { body } = await forms[form](operation, version);
    if (body.error !== undefined) return body.error.message;
    const { callGasLimit, verificationGasLimit, preVerificationGas } = operation;
    const limits = { callGasLimit, verificationGasLimit, preVerificationGas };
    expect(verifySponsorship(operation, { ...limits, ...body.result }, version).signer).toBe(signerAddress);
    return Object.fromEntries(names.map((name) => [name, BigInt(String(body.result?.[name]))]));
  };

  test.each(Object.keys(forms) as (keyof typeof forms)[])(
    '%s: from the least to our own and 100,000 more they are signed as given',
    async (form) => {
      for (const gas of [least, own, ...names.map((name) => ({ ...own, [name]: own[name] + 100_000n }))]) {
        const fields = Object.fromEntries(names.map((name) => [name, `0x${gas[name].toString(16)}`]));
        // 0 counts as left out.
        expect(await signed(form, fields)).toEqual(
          Object.fromEntries(names.map((name) => [name, gas[name] === 0n ? own[name] : gas[name]])),
        );
      }
    },
  );

  const outside = names.flatMap((name): readonly (readonly [Name, bigint])[] => [
    ...(least[name] > 1n ? ([[name, least[name] - 1n]] as const) : []),
    [name, own[name] + 100_001n],
  ]);

  test.each(outside)('%s of %d: ours is signed where the answer has it', async (name, value) => {
    for (const form of ['vendor', 'pimlico'] as const)
      expect(await signed(form, { [name]: String(value) })).toEqual(own);
  });

  test.each(outside)(
    '%s of %d: an error where the wallet keeps its own, with the figures',
    async (name, value) => {
      expect(await signed('ERC-7677', { [name]: String(value) })).toContain(
        `params[0].${name} must be from ${least[name]} to ${own[name] + 100_000n}, such as ${own[name]}, got ${value}`,
      );
    },
  );

  test('a stub has ours, whatever the wallet sends', async () => {
    const { body } = await host.call('pm_getPaymasterStubData', [
      anOp({ paymasterVerificationGasLimit: '0x1', paymasterPostOpGasLimit: '0xffffff' }),
      aProfileConfig(version).entryPoint,
      '0x7a69',
      {},
    ]);
    for (const name of names) expect(BigInt(String(body.result?.[name]))).toBe(own[name]);
  });

  test('a limit in coins counts the signed ones', async () => {
    // At 2 gwei 100,000 gas are 0.0002 coins.
    const fields = { maxFeePerGas: '2000000000', maxPriorityFeePerGas: '0', callGasLimit: '60000' };
    const gas =
      60_000n + 200_000n + 60_000n + own.paymasterVerificationGasLimit + own.paymasterPostOpGasLimit;
    const threshold = (Number(gas + 50_000n) * 2e-9).toFixed(9);
    await host.put({
      version,
      limits: [aLimitConfig({ policyId: `coins-${version}`, thresholdType: 'NATIVE_ASSET', threshold })],
    });
    const more = String(own.paymasterPostOpGasLimit + 100_000n);
    expect(await signed('ERC-7677', { ...fields, paymasterPostOpGasLimit: more })).toContain(
      'spending limit',
    );
    expect(await signed('ERC-7677', fields)).toEqual(own);
  });
});

describe('the fine for unused gas', () => {
  test('counts postOp gas that the caller asks for above ours', async () => {
    const version = 'verifying-0.7';
    const { own } = figuresOf(version);
    // A tenth of 100,000 gas at 2 gwei is 2e13 wei.
    await host.put({ version, gas: { maxUnusedGasFee: '15000000000000' } });
    const fields = { maxFeePerGas: '2000000000', maxPriorityFeePerGas: '0', callGasLimit: '60000' };
    const ask = (more: object) => forms.vendor(anOp({ ...fields, ...more }));
    expect((await ask({})).body.result?.['reason']).toBeUndefined();
    const paymasterPostOpGasLimit = String(own.paymasterPostOpGasLimit + 100_000n);
    expect((await ask({ paymasterPostOpGasLimit })).body.result?.['reason']).toBe('GAS_LIMIT_TOO_HIGH');
  });
});

describe('in mode ERC20', () => {
  const version = 'singleton-0.7';
  const context = { token: usdx.address };

  test('ours are signed, and others are an error where the wallet keeps its own', async () => {
    await host.put({ version });
    const { body } = await forms['ERC-7677'](anOp({}), version, context);
    const own = Object.fromEntries(names.map((name) => [name, body.result?.[name]]));
    expect((await forms['ERC-7677'](anOp(own), version, context)).body.error).toBeUndefined();
    const other = { ...own, paymasterPostOpGasLimit: '0x1' };
    const { error } = (await forms['ERC-7677'](anOp(other), version, context)).body;
    expect(error).toMatchObject({
      code: -32602,
      message: expect.stringContaining(
        `params[0].paymasterPostOpGasLimit must be ${BigInt(String(own['paymasterPostOpGasLimit']))}, as the stub has it, got 1`,
      ),
    });
  });
});
