import { brotliCompressSync, constants } from 'node:zlib';
import { byBytes, type DataFeeFormula } from '../kind.js';
import { divideUp } from '../../../units/wei.js';

const unitsPerByte = 16n;
/** As `gasEstimateL1Component` pads its estimates: 16 bytes and 1 percent in units, 10 percent in the price. */
const paddingUnits = 16n * unitsPerByte;
const padding = { units: 101n, price: 110n, one: 100n };

/**
 * What ArbOS charges for posting, as the precompile NodeInterface estimates it. `price` is its `l1BaseFeeEstimate`: wei
 * for a unit, of which a byte after Brotli has 16.
 */
export const arbitrumFormula: DataFeeFormula = {
  size: brotliSize,
  fee: (size, price) => {
    const units = divideUp((unitsPerByte * BigInt(size) + paddingUnits) * padding.units, padding.one);
    return divideUp(units * price * padding.price, padding.one);
  },
};

export const arbitrum = byBytes(arbitrumFormula);

/** At the lowest quality, with which chains compress: higher ones make fewer bytes, never more. */
function brotliSize(bytes: Uint8Array): number {
  const { BROTLI_PARAM_QUALITY: quality, BROTLI_PARAM_SIZE_HINT: sizeHint } = constants;
  return brotliCompressSync(bytes, { params: { [quality]: 0, [sizeHint]: bytes.length } }).length;
}

/** A reading of the precompile for a transaction of `size` bytes that cannot be compressed. */
type ArbitrumSample = {
  readonly size: number;
  /** Gas of layer 2. */
  readonly gas: bigint;
  readonly baseFee: bigint;
  readonly l1BaseFee: bigint;
};

/**
 * Whether the sample's gas is what the formula says, within a factor of two: chains may compress and pad a little
 * differently, but no chain that we know charges by another rule.
 */
export function fitsArbitrum({ size, gas, baseFee, l1BaseFee }: ArbitrumSample): boolean {
  const answered = gas * baseFee;
  const expected = arbitrumFormula.fee(size, l1BaseFee);
  // The answer is cut off to whole gas.
  return answered <= 2n * expected && 2n * (answered + baseFee) >= expected;
}
