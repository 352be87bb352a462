import { createHash } from 'node:crypto';
import { describe, expect, test } from '@jest/globals';
import {
  boundedPreVerificationGas,
  bundlersGasPrice,
  dataGasOfMore,
  ordinaryDataFee,
  postedTransaction,
  bundledPreVerificationGas,
  type DataFee,
} from '../../../core/chain/data-fee/data-gas.js';
import { arbitrumFormula, fitsArbitrum } from '../../../core/chain/data-fee/arbitrum/arbitrum.js';
import { fastLzSize } from '../../../core/chain/data-fee/op-stack/fast-lz.js';
import { opStackFormula, opStackPrice } from '../../../core/chain/data-fee/op-stack/op-stack.js';
import type { DataFeeSpec } from '../../../core/chain/data-fee/spec.js';
import type { UserOperation } from '../../../core/entry-point/user-operation.js';
import { entryPointVersions } from '../../../core/entry-point/version.js';
import type { Hex } from '../../../core/units/hex.js';
import { parseUserOperation } from '../../../core/userop/parse.js';
import { preVerificationGas } from '../../../core/userop/pre-verification-gas.js';
import { anOperation } from '../../build/operations.js';

const gwei = 10n ** 9n;
const network = { baseFeePerGas: gwei / 100n, priorityFeePerGas: gwei / 1_000n };
const op: UserOperation = {
  ...parseUserOperation(anOperation({ signature: `0x${'1f'.repeat(65)}` }), '0.7'),
  maxFeePerGas: gwei / 10n,
  maxPriorityFeePerGas: gwei / 1_000n,
};
const data: Hex = `0x${'c0'.repeat(20)}${'11'.repeat(150)}`;
const bundled = { op, paymasterAndData: data, version: '0.7' } as const;
const feeOf = (spec: DataFeeSpec, price = 0n): DataFee => ({ spec, price, network });
/** 0.0000001 coins for an ordinary operation. */
const opStackFee = feeOf({ kind: 'OpStack' }, 267n * 10n ** 12n);
/** Bytes that no compression makes smaller. */
const noise = (outputLength: number): Uint8Array =>
  createHash('shake256', { outputLength }).update('noise').digest();
const ofBytes = (count: number): Hex => `0x${'ff'.repeat(count)}`;

describe('the size after FastLZ', () => {
  // Computed by the predeploy GasPriceOracle 1.3.0; op-stack-data-fee.component.test.ts asks it about random bytes.
  test.each([
    { name: 'nothing', bytes: Buffer.alloc(0), size: 0 },
    { name: 'too short to compress', bytes: Buffer.alloc(13), size: 14 },
    { name: 'zeros', bytes: Buffer.alloc(1_000), size: 21 },
    { name: 'two bytes in turn', bytes: Buffer.alloc(1_000, 'ab'), size: 21 },
    { name: 'no repetition', bytes: Buffer.from(Array.from({ length: 256 }, (_, i) => i)), size: 264 },
  ])('$name', ({ bytes, size }) => expect(fastLzSize(bytes)).toBe(size));

  test('without a repetition grows by a byte for 32', () => {
    for (let length = 1; length < 2_000; length += 37)
      expect(fastLzSize(noise(length))).toBe(length + Math.ceil(length / 32));
  });
});

describe('the formula of the OP stack', () => {
  const price = opStackPrice({
    l1BaseFee: 20n * gwei,
    blobBaseFee: 3n * gwei,
    baseFeeScalar: 5_227n,
    blobBaseFeeScalar: 1_014_213n,
  });

  test('a byte costs sixteen times the scaled base fee, and the scaled blob base fee', () => {
    expect(price).toBe(16n * 5_227n * 20n * gwei + 1_014_213n * 3n * gwei);
  });

  test.each([
    // 100 bytes at least.
    { size: 0, bytes: 100_000_000n },
    { size: 170, bytes: 100_000_000n },
    { size: 171, bytes: 836_500n * 171n - 42_585_600n },
    { size: 1_000, bytes: 793_914_400n },
  ])('$size bytes count as estimated by the regression, rounded up', ({ size, bytes }) => {
    const exact = bytes * price;
    const fee = opStackFormula.fee(size, price);
    expect(fee * 10n ** 12n).toBeGreaterThanOrEqual(exact);
    expect((fee - 1n) * 10n ** 12n).toBeLessThan(exact);
  });
});

describe('the formula of Arbitrum', () => {
  test('pads by 16 bytes, 1 percent of the units and 10 percent of the price', () => {
    // (16 × 0 + 256) × 1.01 = 258.56, so 259 units.
    expect(arbitrumFormula.fee(0, gwei)).toBe((259n * gwei * 11n) / 10n);
  });

  test('vectors', () => {
    expect(arbitrumFormula.fee(500, 3n)).toBe(27_519n);
    expect(arbitrumFormula.fee(1, 0n)).toBe(0n);
  });

  test('counts bytes after Brotli: zeros cost next to nothing', () => {
    expect(arbitrumFormula.size(Buffer.alloc(4_000))).toBeLessThan(100);
    expect(arbitrumFormula.size(noise(4_000))).toBeGreaterThanOrEqual(4_000);
  });

  test.each([
    { name: 'what the formula says', gas: 979n, fits: true },
    { name: 'a chain that compresses worse', gas: 1_500n, fits: true },
    { name: 'a chain that charges by another rule', gas: 100_000n, fits: false },
    { name: 'a chain that charges nothing at this price', gas: 0n, fits: false },
  ])('a sample is compared: $name', ({ gas, fits }) => {
    // 622 bytes: (9,952 + 256) × 1.01 × 1.1 = 11,342 units.
    const sample = { size: 622, gas, baseFee: 100_000_000n, l1BaseFee: 8_640_000n };
    expect(fitsArbitrum(sample)).toBe(fits);
  });
});

describe('the transaction that is posted', () => {
  test.each(entryPointVersions)('on %s has the length of a bundle with the operation alone', (version) => {
    const size = postedTransaction(op, data, version).length;
    // Struct of 9 or 11 words, four byte strings with their lengths, four words in front, selector, frame.
    const words = version === '0.6' ? 11 : 9;
    const strings = [op.initCode, op.callData, data, op.signature].map((hex) => (hex.length - 2) / 2);
    const tails = strings.reduce((sum, length) => sum + 32 + Math.ceil(length / 32) * 32, 0);
    expect(size).toBe(204 + 4 + 4 * 32 + words * 32 + tails);
  });

  test('a signature that is a placeholder counts like one that does not compress', () => {
    const placeholder = { ...op, signature: ofBytes(65) };
    const noSignature = { ...op, signature: '0x' as const };
    const size = (of: UserOperation): number => fastLzSize(postedTransaction(of, data, '0.7'));
    expect(size(placeholder)).toBeGreaterThan(size({ ...op, signature: '0x' }) - 10);
    expect(size(noSignature)).toBeGreaterThan(size({ ...op, signature: `0x${'00'.repeat(65)}` }) + 50);
  });

  test('is the same in every run', () => {
    expect(postedTransaction(op, data, '0.7')).toEqual(postedTransaction(op, data, '0.7'));
  });
});

describe('preVerificationGas', () => {
  test('None and Bundler add nothing', () => {
    for (const kind of ['None', 'Bundler'] as const)
      expect(bundledPreVerificationGas(bundled, feeOf({ kind }))).toBe(preVerificationGas(op, data));
  });

  test('Factor multiplies our own figure, rounded up', () => {
    const own = preVerificationGas(op, data);
    expect(bundledPreVerificationGas(bundled, feeOf({ kind: 'Factor', factor: '2.5' }))).toBe(
      (own * 5n + 1n) / 2n,
    );
    expect(bundledPreVerificationGas(bundled, feeOf({ kind: 'Factor', factor: '1' }))).toBe(own);
  });

  test.each(['OpStack', 'Arbitrum'] as const)('%s follows the price of layer 1', (kind) => {
    const own = preVerificationGas(op, data);
    const at = (price: bigint): bigint => bundledPreVerificationGas(bundled, feeOf({ kind }, price));
    const price = kind === 'OpStack' ? 10n ** 16n : 10n ** 9n;
    // The margin of a tenth is on both parts.
    const addedBy = (times: bigint): bigint => at(times * price) - (own * 11n + 9n) / 10n;
    expect(addedBy(1n)).toBeGreaterThan(own);
    const ratio = Number(addedBy(3n)) / Number(addedBy(1n));
    expect(ratio).toBeGreaterThan(2.99);
    expect(ratio).toBeLessThan(3.01);
    expect(at(0n)).toBe((own * 11n + 9n) / 10n);
  });

  test('bytes that are inserted later cost what they add', () => {
    const more = dataGasOfMore(bundled, opStackFee, 160, 5_000n);
    const price = bundlersGasPrice(op, network);
    const wei = opStackFormula.fee(1_160, opStackFee.price) - opStackFormula.fee(1_000, opStackFee.price);
    expect(more - wei / price).toBeLessThanOrEqual(1n);
    expect(more - wei / price).toBeGreaterThanOrEqual(-1n);
    expect(dataGasOfMore(bundled, feeOf({ kind: 'Factor', factor: '3' }), 160, 5_000n)).toBe(10_000n);
  });

  test('a report names what an ordinary operation of 500 bytes costs', () => {
    expect(ordinaryDataFee({ kind: 'OpStack' }, opStackFee.price)).toBe(
      opStackFormula.fee(500, opStackFee.price),
    );
    expect(ordinaryDataFee({ kind: 'None' }, 0n)).toBe(0n);
  });
});

describe('the price that bundlers count on', () => {
  test.each([
    { name: 'base fee and tip', maxFee: 100n, tip: 2n, want: 12n },
    { name: 'at most maxFeePerGas', maxFee: 11n, tip: 2n, want: 11n },
    { name: 'a tip above the network’s does not count', maxFee: 1_000n, tip: 900n, want: 12n },
    { name: 'a tip below the network’s does', maxFee: 100n, tip: 1n, want: 11n },
    { name: 'at least 1', maxFee: 0n, tip: 0n, want: 1n },
  ])('$name', ({ maxFee, tip, want }) => {
    const fees = { maxFeePerGas: maxFee, maxPriorityFeePerGas: tip };
    expect(bundlersGasPrice(fees, { baseFeePerGas: 10n, priorityFeePerGas: 2n })).toBe(want);
  });
});

describe('the figure for caps', () => {
  const dear = feeOf({ kind: 'OpStack' }, 10n ** 16n);
  const lying = feeOf({ kind: 'OpStack' }, 10n ** 30n);

  test('follows the price, without the margin of an estimate', () => {
    const followed = boundedPreVerificationGas(bundled, dear);
    expect(followed).toBeLessThan(bundledPreVerificationGas(bundled, dear));
    expect(2n * followed).toBeGreaterThan(bundledPreVerificationGas(bundled, dear));
  });

  test.each([
    { name: 'a price that a node invented', spec: lying.spec, coins: 10n ** 15n },
    {
      name: 'with the Chain’s own bound',
      spec: { kind: 'OpStack', maxFee: '0.00002' } as const,
      coins: 2n * 10n ** 13n,
    },
  ])('never costs more than maxFee: $name', ({ spec, coins }) => {
    const more = boundedPreVerificationGas(bundled, { ...lying, spec }) - preVerificationGas(op, data);
    expect(more * op.maxFeePerGas).toBeLessThanOrEqual(coins);
    expect((more + 1n) * op.maxFeePerGas).toBeGreaterThan(coins);
  });

  test('a factor is bounded too', () => {
    const spec: DataFeeSpec = { kind: 'Factor', factor: '1000', maxFee: '0.000001' };
    const more = boundedPreVerificationGas(bundled, feeOf(spec)) - preVerificationGas(op, data);
    expect(more).toBe(10n ** 12n / op.maxFeePerGas);
  });

  test('a tip does not raise what the data fee costs beyond maxFee', () => {
    const greedy = { ...op, maxFeePerGas: 50n * gwei, maxPriorityFeePerGas: 3n * gwei };
    const more =
      boundedPreVerificationGas({ ...bundled, op: greedy }, lying) - preVerificationGas(greedy, data);
    expect(more * greedy.maxFeePerGas).toBeLessThanOrEqual(10n ** 15n);
  });

  test('of a signature 2 KiB count, and an authorization does not', () => {
    const signed = (bytes: number) => ({ ...bundled, op: { ...op, signature: ofBytes(bytes) } });
    const at2KiB = boundedPreVerificationGas(signed(2_048), dear);
    expect(boundedPreVerificationGas(signed(20_000), dear)).toBe(at2KiB);
    const eip7702Auth = {
      address: op.sender,
      chainId: 1n,
      nonce: 0n,
      r: '0x01',
      s: '0x01',
      yParity: 0,
    } as const;
    expect(boundedPreVerificationGas({ ...bundled, op: { ...op, eip7702Auth } }, dear)).toBe(
      boundedPreVerificationGas(bundled, dear),
    );
  });
});
