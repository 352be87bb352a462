import { createHash } from 'node:crypto';
import { LRUCache } from 'lru-cache';
import type { ReadMethods } from '../core/config/compile-contracts.js';
import { readMethodsInParts, type ContractMethods } from '../core/resources/abi.js';

/** In characters of JSON: the methods of six hundred ABIs of the longest text, or of tens of thousands of ordinary ones. */
const keptCharacters = 64 * 1024 * 1024;

/**
 * `readMethodsInParts` with a memory by content, including errors: a reconcile of a contract that did not change parses
 * no ABI. The key is not uid and generation: a restored etcd gives those out a second time. It is a digest, and what was
 * read is kept as JSON: the texts themselves would be several times as long, and fewer contracts would fit.
 */
export function createMethodReader(read: ReadMethods = readMethodsInParts): ReadMethods {
  const known = new LRUCache<string, string>({
    maxSize: keptCharacters,
    sizeCalculation: (kept, digest) => kept.length + digest.length,
  });
  return function* (abi, whitelistedMethods) {
    // JSON, because a plain concatenation of the methods could be split in different ways.
    const whitelist = JSON.stringify(whitelistedMethods);
    const digest = createHash('sha256').update(whitelist).update(abi).digest('base64');
    const remembered = known.get(digest);
    if (remembered !== undefined) return JSON.parse(remembered) as ContractMethods;
    const methods = yield* read(abi, whitelistedMethods);
    known.set(digest, JSON.stringify(methods));
    return methods;
  };
}
