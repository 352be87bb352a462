import { LRUCache } from 'lru-cache';
import type { ReadMethods } from '../core/config/compile-contracts.js';
import { readMethods, type ContractMethods } from '../core/resources/abi.js';

/**
 * Characters of ABI and whitelist whose parsed form is kept: a paymaster with many contracts is compiled as a whole at
 * each change.
 */
const keptCharacters = 64 * 1024 * 1024;

/**
 * `readMethods` with a memory by content, including errors: a reconcile of a contract that did not change parses
 * nothing. The key is not uid and generation: a restored etcd gives those out a second time.
 */
export function createMethodReader(read: ReadMethods = readMethods): ReadMethods {
  const known = new LRUCache<string, ContractMethods>({
    maxSize: keptCharacters,
    sizeCalculation: (_, text) => Math.max(1, text.length),
  });
  return (abi, whitelistedMethods) => {
    // JSON, because a plain concatenation of the methods could be split in different ways.
    const text = `${JSON.stringify(whitelistedMethods)} ${abi}`;
    const remembered = known.get(text);
    if (remembered !== undefined) return remembered;
    const methods = read(abi, whitelistedMethods);
    known.set(text, methods);
    return methods;
  };
}
