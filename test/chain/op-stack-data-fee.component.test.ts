import { createHash } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { opStackOracle } from '../../adapters/data-fee/op-stack.js';
import {
  boundedPreVerificationGas,
  bundledPreVerificationGas,
  type DataFee,
} from '../../core/chain/data-fee/data-gas.js';
import { fastLzSize } from '../../core/chain/data-fee/op-stack/fast-lz.js';
import { opStackFormula } from '../../core/chain/data-fee/op-stack/op-stack.js';
import type { Chain } from '../../core/chain/chain.js';
import { parseUserOperation } from '../../core/userop/parse.js';
import { anOperation } from '../build/operations.js';
import { startDevChain, type DevChain } from './support/dev-chain.js';
import { installOpStack, quietLayer1, type OpStack } from './support/op-stack.js';

// The predeploys GasPriceOracle 1.3.0 and L1Block with the bytecode that Optimism published.

let devChain: DevChain;
let opStack: OpStack;
let chain: Chain;
beforeAll(async () => {
  devChain = await startDevChain();
  opStack = await installOpStack(devChain.url);
  chain = devChain.chain;
});
afterAll(() => devChain.stop());

/** Bytes the oracle adds for the signature of an unsigned transaction. */
const signatureBytes = 68;

/** Transactions of many sizes: noise, text of few letters, words as ABI pads them, and runs. */
function someTransactions(count: number): readonly Uint8Array[] {
  return Array.from({ length: count }, (_, index) => {
    const size = (index * 97) % 3_000;
    const noise = createHash('shake256', { outputLength: size }).update(String(index)).digest();
    const kinds = [
      noise,
      noise.map((byte) => byte % 3),
      noise.map((byte, at) => (at % 32 < 20 ? 0 : byte)),
      noise.map((byte, at) => (at % 300 < 280 ? 7 : byte)),
    ];
    return kinds[index % kinds.length] ?? noise;
  });
}

test('our fee is the one that the oracle computes, for 200 transactions', async () => {
  await opStack.setPrices({ ...quietLayer1, l1BaseFee: 31_234_567_891n });
  const price = await opStackOracle.read(chain);
  for (const transaction of someTransactions(200)) {
    const size = fastLzSize(transaction) + signatureBytes;
    const theirs = await opStack.l1Fee(transaction);
    // The oracle rounds down, we round up.
    expect(opStackFormula.fee(size, price) - theirs).toBeLessThanOrEqual(1n);
    expect(opStackFormula.fee(size, price)).toBeGreaterThanOrEqual(theirs);
  }
});

test('estimates and caps follow when the price of layer 1 triples', async () => {
  const op = parseUserOperation(anOperation(), '0.7');
  const bundled = { op, paymasterAndData: '0x', version: '0.7' } as const;
  const network = { baseFeePerGas: 1_000_000n, priorityFeePerGas: 1_000n };
  const figuresAt = async (times: bigint) => {
    const { l1BaseFee, blobBaseFee } = quietLayer1;
    await opStack.setPrices({
      ...quietLayer1,
      l1BaseFee: times * l1BaseFee,
      blobBaseFee: times * blobBaseFee,
    });
    const fee: DataFee = { spec: { kind: 'OpStack' }, price: await opStackOracle.read(chain), network };
    return [bundledPreVerificationGas(bundled, fee), boundedPreVerificationGas(bundled, fee)] as const;
  };
  const [free, quiet, busy] = [await figuresAt(0n), await figuresAt(1n), await figuresAt(3n)];
  for (const index of [0, 1] as const) {
    const added = Number(quiet[index] - free[index]);
    expect(added).toBeGreaterThan(10_000);
    expect(Number(busy[index] - free[index]) / added).toBeCloseTo(3, 2);
  }
});

describe('what is not an oracle that we know is not followed', () => {
  test('a chain without the predeploys', async () => {
    const other = await startDevChain();
    try {
      await expect(opStackOracle.read(other.chain)).rejects.toThrow('does not answer isFjord()');
      const ecotone = await installOpStack(other.url, { upgrades: ['Ecotone'] });
      await ecotone.setPrices(quietLayer1);
      await expect(opStackOracle.read(other.chain)).rejects.toThrow('older than Fjord');
    } finally {
      await other.stop();
    }
  });

  test('a base fee that no layer 1 has', async () => {
    await opStack.setPrices({ ...quietLayer1, blobBaseFee: 10n ** 15n + 1n });
    await expect(opStackOracle.read(chain)).rejects.toThrow('above 1000000000000000 wei');
    await opStack.setPrices(quietLayer1);
  });

  test('an oracle that computes another fee than its figures say', async () => {
    const lying: Pick<Chain, 'call' | 'words'> = {
      call: (request) => chain.call(request),
      words: async (calls, block) =>
        (await chain.words(calls, block)).map((word, at) =>
          at === 3 && word !== undefined ? 2n * word : word,
        ),
    };
    await expect(opStackOracle.read(lying)).rejects.toThrow('formula that this build does not know');
  });
});
