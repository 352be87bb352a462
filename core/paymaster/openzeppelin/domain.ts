import { Interface } from 'ethers/abi';
import type { Address } from '../../units/address.js';
import type { Hex } from '../../units/hex.js';
import type { OpenZeppelinOptions } from './options.js';

const erc5267 = new Interface([
  'function eip712Domain() view returns (bytes1 fields, string name, string version, uint256 chainId, address verifyingContract, bytes32 salt, uint256[] extensions)',
]);
/** Name, version, chainId and verifyingContract; no salt. */
const usedFields = '0x0f';

type Domain = Pick<OpenZeppelinOptions, 'domainName' | 'domainVersion'> & {
  readonly chainId: number;
  readonly paymaster: Address;
};

/** Whether the answer of `eip712Domain()` (ERC-5267) is exactly this domain. False for bytes of another form. */
export function isDomain(result: Hex, { domainName, domainVersion, chainId, paymaster }: Domain): boolean {
  try {
    const answer = erc5267.decodeFunctionResult('eip712Domain', result);
    return (
      answer['fields'] === usedFields &&
      answer['name'] === domainName &&
      answer['version'] === domainVersion &&
      answer['chainId'] === BigInt(chainId) &&
      answer['verifyingContract'] === paymaster &&
      answer['extensions'].length === 0
    );
  } catch {
    return false;
  }
}
