import { byBytes, type DataFeeFormula } from '../kind.js';
import { fastLzSize } from './fast-lz.js';
import { divideUp } from '../../../units/wei.js';

/**
 * The L1 fee of the OP stack since its upgrade Fjord. A regression estimates the size after Brotli from the size after
 * FastLZ: -42.5856 + 0.8365 × size, at least 100 bytes.
 */
const intercept = -42_585_600n;
const perByte = 836_500n;
const minSize = 100_000_000n;
/** Six decimals of the regression, and six of the scalars. */
const scale = 10n ** 12n;

/** `price` is {@link opStackPrice}. */
export const opStackFormula: DataFeeFormula = {
  size: fastLzSize,
  fee: (size, price) => {
    const estimated = intercept + perByte * BigInt(size);
    return divideUp((estimated > minSize ? estimated : minSize) * price, scale);
  },
};

export const opStack = byBytes(opStackFormula);

/** What the predeploys L1Block and GasPriceOracle know about layer 1; base fees in wei, scalars with six decimals. */
export type OpStackPrices = {
  readonly l1BaseFee: bigint;
  readonly blobBaseFee: bigint;
  readonly baseFeeScalar: bigint;
  readonly blobBaseFeeScalar: bigint;
};

/** The price of one byte, in 10^-6 wei: a byte is 16 gas of calldata, or one of a blob. */
export function opStackPrice(prices: OpStackPrices): bigint {
  const { l1BaseFee, blobBaseFee, baseFeeScalar, blobBaseFeeScalar } = prices;
  return 16n * baseFeeScalar * l1BaseFee + blobBaseFeeScalar * blobBaseFee;
}

/** Bytes that an unsigned transaction lacks, as the oracle counts them. */
const signatureBytes = 68;

/** `getL1FeeUpperBound(bytes)` of the oracle, which rounds down: compares what it computes with what we compute. */
export function opStackUpperBound(bytes: number, price: bigint): bigint {
  const signed = bytes + signatureBytes;
  const size = signed + Math.floor(signed / 255) + 16;
  const estimated = intercept + perByte * BigInt(size);
  return ((estimated > minSize ? estimated : minSize) * price) / scale;
}
