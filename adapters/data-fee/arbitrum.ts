import { createHash } from 'node:crypto';
import { CallReverted, type Chain } from '../../core/chain/chain.js';
import { fitsArbitrum } from '../../core/chain/data-fee/arbitrum/arbitrum.js';
import { hexWord, bytesToHex, hexSize, type Hex } from '../../core/units/hex.js';
import { OracleUnsupported, type DataFeeOracle } from './oracle.js';

/** The precompile NodeInterface, which nodes answer without a contract. */
const address = '0x00000000000000000000000000000000000000C8';
/** gasEstimateL1Component(address,bool,bytes) */
const selector = '77d488a2';
/** Bytes of the transaction around the sample, which the precompile adds. */
const frameBytes = 110;
/** Wei for a unit of calldata gas; above it the answer is not one. */
const plausiblePrice = 10n ** 15n;
const sample = noise(512);
/** Selector 4 ‖ to ‖ false ‖ offset ‖ length ‖ bytes. `to` is any account. */
const question: Hex = `0x${selector}${hexWord(0xdead)}${hexWord(0)}${hexWord(96)}${hexWord(sample.length)}${bytesToHex(sample).slice(2)}`;

/** One call about a transaction whose data cannot be compressed. Its price counts; its gas is compared with our formula. */
export const arbitrumOracle: DataFeeOracle = {
  name: `NodeInterface ${address}`,
  async read(chain) {
    const answer = await ask(chain);
    if (hexSize(answer) < 96)
      throw new OracleUnsupported('does not answer gasEstimateL1Component: the node is not one of Arbitrum');
    const [gas, baseFee, l1BaseFee] = [wordAt(answer, 0), wordAt(answer, 1), wordAt(answer, 2)];
    if (l1BaseFee > plausiblePrice)
      throw new OracleUnsupported(`answers a price of layer 1 above ${plausiblePrice} wei`);
    if (!fitsArbitrum({ size: sample.length + frameBytes, gas, baseFee, l1BaseFee }))
      throw new OracleUnsupported('charges by a formula that this build does not know');
    return l1BaseFee;
  },
};

async function ask(chain: Pick<Chain, 'call'>): Promise<Hex> {
  try {
    return await chain.call({ to: address, data: question, block: 'latest' });
  } catch (error) {
    if (!(error instanceof CallReverted)) throw error;
    throw new OracleUnsupported('reverts gasEstimateL1Component');
  }
}

function wordAt(answer: Hex, index: number): bigint {
  return BigInt(`0x${answer.slice(2 + 64 * index, 66 + 64 * index)}`);
}

/** Bytes that no compression makes smaller, the same in every run. */
function noise(count: number): Uint8Array {
  const blocks = Array.from({ length: Math.ceil(count / 32) }, (_, index) =>
    createHash('sha256').update(`data fee ${index}`).digest(),
  );
  return Buffer.concat(blocks).subarray(0, count);
}
