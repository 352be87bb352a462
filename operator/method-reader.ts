import { LRUCache } from 'lru-cache';
import type { ReadMethods } from '../core/config/compile-contracts.js';
import { readMethods } from '../core/resources/abi.js';
import type { ContractMethods } from '../core/resources/abi.js';

/** Characters of ABI and whitelist whose parsed form is kept: a paymaster of many contracts is compiled whole at each change. */
const keptCharacters = 64 * 1024 * 1024;

/**
 * `readMethods` that remembers by content, also what is wrong: a reconcile of a contract that did not change parses
 * nothing. Not by uid and generation, which a restored etcd gives out a second time.
 */
export function createMethodReader(read: ReadMethods = readMethods): ReadMethods {
  const known = new LRUCache<string, ContractMethods>({
    maxSize: keptCharacters,
    sizeCalculation: (_, text) => Math.max(1, text.length),
  });
  return (abi, whitelistedMethods) => {
    // JSON, because methods that are joined plainly could be split in another way.
    const text = `${JSON.stringify(whitelistedMethods)} ${abi}`;
    const remembered = known.get(text);
    if (remembered !== undefined) return remembered;
    const methods = read(abi, whitelistedMethods);
    known.set(text, methods);
    return methods;
  };
}
