import type { Chain } from '../../core/chain/chain.js';
import { entryPoint09 } from '../../core/entry-point/v09.js';
import { DomainError, isDomainError } from '../../core/errors.js';
import { parseAddress, type Address } from '../../core/units/address.js';
import type { Hex } from '../../core/units/hex.js';
import { readMulticall3Code, readRuntimeCode } from './artifacts.js';

/** A contract of which only the runtime code is published, so that it cannot be deployed by a transaction. */
type RuntimeContract = { readonly name: string; readonly address: Address; readonly code: Hex };

/** The same address on most chains. */
export const multicall3 = parseAddress('0xcA11bde05977b3631167028862bE2a173976CA11');

/** Multicall3, EntryPoint 0.9 and the contract that it created in its constructor, without which it cannot deploy accounts. */
export function runtimeContracts(): readonly RuntimeContract[] {
  const contracts = [
    { name: 'EntryPoint 0.9', address: entryPoint09.address },
    { name: 'SenderCreator 0.9', address: parseAddress('0x0A630a99Df908A81115A3022927Be82f9299987e') },
  ];
  return [
    ...contracts.map((contract) => ({ ...contract, code: readRuntimeCode(contract.address) })),
    { name: 'Multicall3', address: multicall3, code: readMulticall3Code() },
  ];
}

/**
 * Sets the code unless the address has code; true if this call set it. Needs a dev node: DomainError UNAVAILABLE if the
 * node cannot set code.
 */
export async function setCodeOnce(
  chain: Pick<Chain, 'code' | 'request'>,
  { name, address, code }: RuntimeContract,
): Promise<boolean> {
  if ((await chain.code(address)) !== '0x') return false;
  for (const method of ['anvil_setCode', 'hardhat_setCode']) {
    try {
      await chain.request(method, [address, code]);
    } catch (error) {
      if (!isDomainError(error, 'UNAVAILABLE')) throw error;
    }
    if ((await chain.code(address)) === code) return true;
  }
  throw new DomainError(
    'UNAVAILABLE',
    `${name} is missing at ${address}, and the node cannot set code: use anvil, or a chain that has it`,
  );
}
