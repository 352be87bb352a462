import { describe, expect, test } from '@jest/globals';
import { compilePriceGuard } from '../../../core/policy/rules/price-guard/compile.js';
import {
  decideUnusedGas,
  unusedGasFee,
  unusedGasFeeCap,
} from '../../../core/policy/rules/price-guard/unused-gas.js';
import type { GasCaps } from '../../../core/policy/rules/price-guard/gas-caps.js';
import type { EntryPointVersion } from '../../../core/entry-point/version.js';

const gwei = 1_000_000_000n;
const milliCoin = 10n ** 15n;

/** callGasLimit, its price, and the paymaster's postOp limit. */
const question = (version: EntryPointVersion, callGasLimit: bigint, postOp = 50_000n) => ({
  op: { callGasLimit, maxFeePerGas: gwei },
  version,
  paymasterGas: { paymasterVerificationGasLimit: 50_000n, paymasterPostOpGasLimit: postOp },
});

describe('the fine that could be paid for unused gas', () => {
  test.each<{ version: EntryPointVersion; call: bigint; postOp: bigint; gas: bigint; why: string }>([
    { version: '0.6', call: 10_000_000n, postOp: 0n, gas: 0n, why: 'nothing is fined' },
    { version: '0.7', call: 1_000_000n, postOp: 50_000n, gas: 105_000n, why: 'a tenth of both' },
    { version: '0.7', call: 0n, postOp: 50_000n, gas: 5_000n, why: 'also without a call' },
    { version: '0.8', call: 1_000_000n, postOp: 50_000n, gas: 105_000n, why: 'a tenth of each' },
    { version: '0.8', call: 40_000n, postOp: 40_000n, gas: 0n, why: '40,000 of each are free' },
    { version: '0.8', call: 40_010n, postOp: 40_000n, gas: 4_001n, why: 'the gas above it is fined in full' },
    { version: '0.9', call: 40_010n, postOp: 40_000n, gas: 4_001n, why: 'as on 0.8' },
  ])('on $version of $call + $postOp: $gas ($why)', ({ version, call, postOp, gas }) => {
    expect(unusedGasFee(question(version, call, postOp))).toBe(gas * gwei);
  });
});

describe('what is risked without a simulation', () => {
  const quiet = { baseFeePerGas: 1n, priorityFeePerGas: 1n };
  const busy = { baseFeePerGas: 100n * gwei, priorityFeePerGas: 1n };
  test.each<{ name: string; chain?: GasCaps; paymaster?: GasCaps; network?: typeof quiet; cap: bigint }>([
    { name: '0.001 coins on a quiet chain', network: quiet, cap: milliCoin },
    { name: 'and without a head', cap: milliCoin },
    { name: 'the price of 150,000 gas on a busy one', network: busy, cap: 15n * milliCoin },
    { name: 'the figure of the chain', chain: { maxUnusedGasFee: '7' }, network: busy, cap: 7n },
    { name: 'a lower one of the paymaster', paymaster: { maxUnusedGasFee: '5' }, network: quiet, cap: 5n },
    {
      name: 'not a higher one of the paymaster',
      paymaster: { maxUnusedGasFee: '1000000000000000000' },
      network: quiet,
      cap: milliCoin,
    },
  ])('$name', ({ chain = {}, paymaster = {}, network, cap }) => {
    expect(unusedGasFeeCap(compilePriceGuard(paymaster, chain), network)).toBe(cap);
  });
});

test('of postOp what the caller asks for above our own limit counts', () => {
  const cap = 10_000n * gwei;
  const question07 = question('0.7', 150_000n);
  const fits = { neededGas: 100_000n, extraPostOp: 50_000n, cap };
  expect(decideUnusedGas(question07, fits)).toEqual({ pass: true });
  expect(decideUnusedGas(question07, { ...fits, extraPostOp: 50_010n })).toMatchObject({ pass: false });
});

test('limits close to what the call needs pass, others are refused with all figures', () => {
  const cap = 10_000n * gwei;
  expect(decideUnusedGas(question('0.7', 200_000n), { neededGas: 100_000n, extraPostOp: 0n, cap })).toEqual({
    pass: true,
  });
  expect(decideUnusedGas(question('0.7', 50_000n), { neededGas: 100_000n, extraPostOp: 0n, cap })).toEqual({
    pass: true,
  });
  expect(decideUnusedGas(question('0.7', 200_010n), { neededGas: 100_000n, extraPostOp: 0n, cap })).toEqual({
    pass: false,
    reason: 'GAS_LIMIT_TOO_HIGH',
    detail:
      'callGasLimit is 200010 gas, the call needs 100000: the fine for unused gas could be 0.000010001 coins, the cap is 0.00001',
  });
});
