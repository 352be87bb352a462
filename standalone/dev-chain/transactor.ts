import { pause } from '../../adapters/timers.js';
import { getCreate2Address } from 'ethers/address';
import { keccak256 } from 'ethers/crypto';
import { Wallet } from 'ethers/wallet';
import type { Chain } from '../../core/chain/chain.js';
import { DomainError } from '../../core/errors.js';
import { parseAddress, type Address } from '../../core/units/address.js';
import { hexQuantity, type Hex } from '../../core/units/hex.js';

export type Call = { readonly to: Address; readonly data: Hex; readonly value?: bigint };

/** Sends transactions with one key, one after the other; each is mined before the next is sent. */
export type Transactor = Readonly<ReturnType<typeof createTransactor>>;

export const deterministicDeployer = parseAddress('0x4e59b44847b379578588920cA78FbF26c0B4956C');
export const zeroSalt: Hex = `0x${'00'.repeat(32)}`;

const receiptTimeoutMs = 30_000;
const pollMs = 5;
/** Transactions above this are refused since Osaka (EIP-7825). */
const maxGas = 16_777_216n;

export function createTransactor(chain: Chain, privateKey: string) {
  const wallet = new Wallet(privateKey);
  const address = parseAddress(wallet.address);
  let last: Promise<unknown> = Promise.resolve();

  return {
    address,
    /** Resolves with the transaction's hash once it is mined and successful; otherwise throws a DomainError UNAVAILABLE that names `what`. */
    send(what: string, call: Call): Promise<string> {
      // Concurrent calls queue up too: each transaction needs the nonce after the previous one.
      const sent = last.then(() => sendOne(what, call));
      last = sent.catch(() => {});
      return sent;
    },
  };

  async function sendOne(what: string, { to, data, value = 0n }: Call): Promise<string> {
    const [chainId, nonce, block, gas] = await Promise.all([
      chain.chainId(),
      chain.request('eth_getTransactionCount', [address, 'latest']),
      chain.block('latest'),
      // Of the block that is there: a node may count transactions that wait, too.
      chain.request('eth_estimateGas', [{ from: address, to, data, value: hexQuantity(value) }, 'latest']),
    ]);
    const margin = (BigInt(String(gas)) * 13n) / 10n;
    const tip = 1_000_000_000n;
    const raw = await wallet.signTransaction({
      type: 2,
      chainId,
      nonce: Number(nonce),
      to,
      data,
      value,
      gasLimit: margin < maxGas ? margin : maxGas,
      maxPriorityFeePerGas: tip,
      maxFeePerGas: (block?.baseFeePerGas ?? 0n) * 2n + tip,
    });
    await chain.request('eth_sendRawTransaction', [raw]);
    const hash = keccak256(raw);
    await mined(chain, what, hash);
    return hash;
  }
}

/** Address at which the deterministic deployer puts `initCode`: the same on every chain. */
export function create2Address(initCode: Hex, salt: Hex = zeroSalt): Address {
  return parseAddress(getCreate2Address(deterministicDeployer, salt, keccak256(initCode)));
}

/** Deploys through the deterministic deployer unless the address has code; true if this call deployed it. */
export async function deployOnce(
  chain: Chain,
  transactor: Transactor,
  contract: { readonly name: string; readonly address: Address; readonly initCode: Hex; readonly salt?: Hex },
): Promise<boolean> {
  if ((await chain.code(contract.address)) !== '0x') return false;
  const salt = contract.salt ?? zeroSalt;
  await transactor.send(`deployment of ${contract.name}`, {
    to: deterministicDeployer,
    data: `0x${salt.slice(2)}${contract.initCode.slice(2)}`,
  });
  if ((await chain.code(contract.address)) === '0x')
    throw new DomainError(
      'UNAVAILABLE',
      `${contract.name} was deployed, but ${contract.address} has no code`,
    );
  return true;
}

async function mined(chain: Chain, what: string, hash: string): Promise<void> {
  const deadline = performance.now() + receiptTimeoutMs;
  while (performance.now() < deadline) {
    const receipt = await chain.request('eth_getTransactionReceipt', [hash]);
    if (typeof receipt === 'object' && receipt !== null && 'status' in receipt && 'blockNumber' in receipt) {
      if (receipt.status !== '0x1') throw new DomainError('UNAVAILABLE', `${what} was reverted by the chain`);
      // A busy node shows a receipt before its newest state, by which the next transaction is estimated.
      const head = await chain.block('latest');
      if (head !== undefined && head.number >= Number(receipt.blockNumber)) return;
    }
    await pause(pollMs);
  }
  throw new DomainError('UNAVAILABLE', `${what} was not mined within ${receiptTimeoutMs} ms`);
}
