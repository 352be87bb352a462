import { keccak256 } from '../crypto/keccak.js';
import { bytesToHex, hexToBytes, hexWord, type Hex } from '../units/hex.js';
import { entryPoints } from './address.js';
import { domainSeparator } from './hashers.js';
import type { EntryPointVersion } from './version.js';

/**
 * keccak-256 of the code of an EntryPoint, the same on every chain: from 0.8 on the code holds the id of the chain on which it was
 * deployed and the EIP-712 domain of that chain, which count as zero. A dev chain may have a copy of Ethereum's code.
 */
export function entryPointCodeHash(version: EntryPointVersion, code: Hex, chainId: number): Hex {
  let plain: string = code;
  for (const id of new Set([chainId, 1])) {
    const domain = bytesToHex(domainSeparator(entryPoints[version], id)).slice(2);
    if (!plain.includes(domain)) continue;
    plain = plain.replace(domain, zero).replace(`${push32}${hexWord(BigInt(id))}`, `${push32}${zero}`);
  }
  return bytesToHex(keccak256(hexToBytes(plain as Hex)));
}

const zero = '0'.repeat(64);
const push32 = '7f';
