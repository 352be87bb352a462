import { Interface } from 'ethers';
import type { Address, AddressKey } from '../../../core/units/address.js';
import { encodeWith } from './account.js';
import type { DevChain } from './dev-chain.js';

const abi = new Interface([
  'function balanceOf(address account) view returns (uint256)',
  'function getBalance(address paymasterId) view returns (uint256)',
]);

/** The contract's deposit in its EntryPoint, or an account's balance of a token. */
export async function balanceOf(
  { chain }: DevChain,
  holder: Address,
  account: Address | AddressKey,
): Promise<bigint> {
  return BigInt(await chain.call({ to: holder, data: encodeWith(abi, 'balanceOf', [account]) }));
}

/** What a funding wallet holds inside a contract with a deposit per sponsor. */
export async function sponsorBalance(
  { chain }: DevChain,
  contract: Address,
  fundingAddress: Address | AddressKey,
): Promise<bigint> {
  return BigInt(await chain.call({ to: contract, data: encodeWith(abi, 'getBalance', [fundingAddress]) }));
}
