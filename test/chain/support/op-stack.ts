import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { OpStackPrices } from '../../../core/chain/data-fee/op-stack/op-stack.js';
import { bytesToHex, hexQuantity, hexToBytes, type Hex } from '../../../core/units/hex.js';
import { repositoryRoot } from '../../support/repository-root.js';
import { until } from '../../support/until.js';

/** The real predeploys of the OP stack on a dev chain. */
export type OpStack = {
  /** What layer 1 costs from now on; base fees in wei, scalars with six decimals. */
  setPrices(prices: OpStackPrices): Promise<void>;
  /** `getL1Fee` of the predeploy for an unsigned transaction, in wei. */
  l1Fee(transaction: Uint8Array): Promise<bigint>;
};

/** Prices of a quiet hour, with the scalars of a large OP chain: an ordinary operation costs some 10^10 wei. */
export const quietLayer1: OpStackPrices = {
  l1BaseFee: 1_000_000_000n,
  blobBaseFee: 1_000_000n,
  baseFeeScalar: 5_227n,
  blobBaseFeeScalar: 1_014_213n,
};

/** The account that sets what the predeploys know about layer 1. */
const depositor = '0xDeaDDEaDDeAdDeAdDEAdDEaddeAddEAdDEAd0001';
const setEcotone = '0x22b90ab3';
const setFjord = '0x8e98b106';
const setL1BlockValuesEcotone = '440a5e20';
const getL1Fee = '49948e0e';

/** Sets both predeploys on an anvil, as they are after the upgrade Fjord. */
export async function installOpStack(
  url: string,
  { upgrades = ['Ecotone', 'Fjord'] }: { readonly upgrades?: readonly ('Ecotone' | 'Fjord')[] } = {},
): Promise<OpStack> {
  const [oracle, l1Block] = predeploys();
  for (const { address, code } of [oracle, l1Block]) await request(url, 'anvil_setCode', [address, code]);
  await request(url, 'anvil_setBalance', [depositor, hexQuantity(10n ** 20n)]);
  await request(url, 'anvil_impersonateAccount', [depositor]);
  const send = async (to: string, data: string): Promise<void> => {
    const hash = await request(url, 'eth_sendTransaction', [{ from: depositor, to, data, gas: '0x100000' }]);
    await request(url, 'evm_mine', []);
    let receipt: unknown = null;
    await until('the transaction is mined', async () => {
      receipt = await request(url, 'eth_getTransactionReceipt', [hash]);
      return receipt !== null;
    });
    if (field(receipt, 'status') !== '0x1') throw new Error(`${data.slice(0, 10)} of ${to} failed`);
  };
  if (upgrades.includes('Ecotone')) await send(oracle.address, setEcotone);
  if (upgrades.includes('Fjord')) await send(oracle.address, setFjord);
  const stack: OpStack = {
    setPrices: ({ l1BaseFee, blobBaseFee, baseFeeScalar, blobBaseFeeScalar }) =>
      send(
        l1Block.address,
        // Sequence number, time and number of the block and the two hashes are not part of the fee.
        `0x${setL1BlockValuesEcotone}${hex(baseFeeScalar, 4)}${hex(blobBaseFeeScalar, 4)}${hex(0n, 24)}${hex(l1BaseFee, 32)}${hex(blobBaseFee, 32)}${hex(0n, 64)}`,
      ),
    async l1Fee(transaction) {
      const bytes = bytesToHex(transaction).slice(2);
      const padded = bytes.padEnd(Math.ceil(bytes.length / 64) * 64, '0');
      const data = `0x${getL1Fee}${hex(32n, 32)}${hex(BigInt(transaction.length), 32)}${padded}`;
      return BigInt(String(await request(url, 'eth_call', [{ to: oracle.address, data }, 'latest'])));
    },
  };
  await stack.setPrices(quietLayer1);
  return stack;
}

type Predeploy = { readonly address: string; readonly code: Hex };

/** The bytecode of `test/vectors`, after its checksum was compared. */
function predeploys(): readonly [Predeploy, Predeploy] {
  const file = join(repositoryRoot, 'test/vectors/op-stack-predeploys.json');
  const { contracts } = JSON.parse(readFileSync(file, 'utf8')) as {
    readonly contracts: readonly (Predeploy & { readonly sha256: string })[];
  };
  for (const { address, code, sha256 } of contracts)
    if (createHash('sha256').update(hexToBytes(code)).digest('hex') !== sha256)
      throw new Error(`bytecode of ${address} in ${file} is not the one of its checksum`);
  const [oracle, l1Block] = contracts;
  if (oracle === undefined || l1Block === undefined) throw new Error(`${file} must have two contracts`);
  return [oracle, l1Block];
}

async function request(url: string, method: string, params: readonly unknown[]): Promise<unknown> {
  const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method, params });
  const response = await fetch(url, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body,
  });
  const answer: unknown = await response.json();
  const error = field(answer, 'error');
  if (error !== undefined) throw new Error(`${method}: ${JSON.stringify(error)}`);
  return field(answer, 'result');
}

function field(value: unknown, name: string): unknown {
  return typeof value === 'object' && value !== null ? new Map(Object.entries(value)).get(name) : undefined;
}

function hex(value: bigint, bytes: number): string {
  return value.toString(16).padStart(2 * bytes, '0');
}
