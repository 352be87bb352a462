import { LRUCache } from 'lru-cache';
import { parseAbi } from '../core/resources/abi.js';
import type { ParsedAbi } from '../core/resources/abi.js';

/** Characters of ABI text whose parsed form is kept: a paymaster of many contracts is compiled whole at each change. */
const keptCharacters = 64 * 1024 * 1024;

/** `parseAbi` that remembers: parsing a large ABI takes longer than everything else of a compilation. */
export function createAbiReader(): (text: string) => ParsedAbi {
  const parsed = new LRUCache<string, ParsedAbi>({
    maxSize: keptCharacters,
    sizeCalculation: (_, text) => Math.max(1, text.length),
  });
  return (text) => {
    const known = parsed.get(text);
    if (known !== undefined) return known;
    const abi = parseAbi(text);
    parsed.set(text, abi);
    return abi;
  };
}
