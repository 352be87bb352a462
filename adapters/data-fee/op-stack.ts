import { opStackPrice, opStackUpperBound } from '../../core/chain/data-fee/op-stack/op-stack.js';
import { hexWord, type Hex } from '../../core/units/hex.js';
import { OracleUnsupported, type DataFeeOracle } from './oracle.js';

/** The predeploy GasPriceOracle, which reads L1Block. */
const address = '0x420000000000000000000000000000000000000F';
const sampleBytes = 1_000;
const calls: readonly Hex[] = [
  // isFjord(), l1BaseFee(), blobBaseFee(), baseFeeScalar(), blobBaseFeeScalar(), getL1FeeUpperBound(sampleBytes)
  '0x960e3a23',
  '0x519b4bd3',
  '0xf8206140',
  '0xc5985918',
  '0x68d5dca6',
  `0xf1c7a58b${hexWord(sampleBytes)}`,
];
/** Wei. No base fee has come near; above it the answer is not one. */
const plausibleBaseFee = 10n ** 15n;

/**
 * The four figures of the fee, in one request. In the same request the oracle computes the fee of a sample: a chain that
 * charges by another formula than ours is noticed, and not followed.
 */
export const opStackOracle: DataFeeOracle = {
  name: `GasPriceOracle ${address}`,
  async read(chain) {
    const [isFjord, ...figures] = await chain.words(
      calls.map((data) => ({ to: address, data })),
      'latest',
    );
    if (isFjord === undefined)
      throw new OracleUnsupported('does not answer isFjord(): it is not deployed, or older than Fjord');
    if (isFjord !== 1n) throw new OracleUnsupported('says that the chain is older than Fjord');
    const [l1BaseFee, blobBaseFee, baseFeeScalar, blobBaseFeeScalar, bound] = figures;
    if (
      l1BaseFee === undefined ||
      blobBaseFee === undefined ||
      baseFeeScalar === undefined ||
      blobBaseFeeScalar === undefined
    )
      throw new OracleUnsupported('does not answer the base fees and scalars of layer 1');
    if (l1BaseFee > plausibleBaseFee || blobBaseFee > plausibleBaseFee)
      throw new OracleUnsupported(`answers a base fee of layer 1 above ${plausibleBaseFee} wei`);
    const price = opStackPrice({ l1BaseFee, blobBaseFee, baseFeeScalar, blobBaseFeeScalar });
    if (bound !== opStackUpperBound(sampleBytes, price))
      throw new OracleUnsupported('computes the L1 fee by a formula that this build does not know');
    return price;
  },
};
