import { isObject } from '../schema/json-value.js';
import { hexToBytes, isHexBytes } from '../units/hex.js';

/**
 * Whether a value sent as `factoryData` is an EIP-7702 authorization, which belongs in `eip7702Auth`: its tuple
 * (chainId, address, nonce, yParity, r, s) as JSON, in RLP, or as six ABI words, alone or in a list. Call data is never
 * taken for one: it has a selector in front of its words, and is not an RLP list of such items.
 */
export function isAuthorizationTuple(value: unknown): boolean {
  if (Array.isArray(value)) return value.length === members || value.some(hasDelegate);
  if (isObject(value)) return hasDelegate(value);
  if (typeof value !== 'string' || !isHexBytes(value) || value.length > maxText) return false;
  const bytes = hexToBytes(value);
  return isRlpTuple(bytes) || isAbiTuple(bytes);
}

/** Longer than any form of one authorization: 6 words and what a list puts around them. */
const maxText = 2 + 2 * 320;
const members = 6;
const word = 32;

/** viem has called the delegate `contractAddress` before it was `address`. */
function hasDelegate(value: unknown): boolean {
  return isObject(value) && ('address' in value || 'contractAddress' in value);
}

function isRlpTuple(bytes: Uint8Array): boolean {
  const items = rlpItems(bytes);
  if (items === undefined) return false;
  const [first, address] = items;
  if (items.length === 1 && first !== undefined) return isRlpTuple(first);
  const sizes = items.map(({ length }) => length);
  return items.length === members && address?.length === 20 && sizes.every((size) => size <= word);
}

/** Payloads of the items when the bytes are one RLP list of at most 64 KiB and nothing else; lists inside stay encoded. */
function rlpItems(bytes: Uint8Array): readonly Uint8Array[] | undefined {
  const list = rlpHead(bytes, 0);
  if (list === undefined || !list.isList || list.end !== bytes.length) return undefined;
  const items: Uint8Array[] = [];
  for (let at = list.start; at < list.end;) {
    const item = rlpHead(bytes, at);
    if (item === undefined || item.end > list.end) return undefined;
    items.push(bytes.subarray(item.isList ? at : item.start, item.end));
    at = item.end;
  }
  return items;
}

type RlpHead = { readonly isList: boolean; readonly start: number; readonly end: number };

function rlpHead(bytes: Uint8Array, at: number): RlpHead | undefined {
  const first = bytes[at];
  if (first === undefined) return undefined;
  if (first < 0x80) return { isList: false, start: at, end: at + 1 };
  const isList = first >= 0xc0;
  const size = first - (isList ? 0xc0 : 0x80);
  if (size < 56) return { isList, start: at + 1, end: at + 1 + size };
  const sizeBytes = size - 55;
  if (sizeBytes > 2) return undefined;
  let long = 0;
  for (let index = 1; index <= sizeBytes; index += 1) long = long * 256 + (bytes[at + index] ?? 0);
  return { isList, start: at + 1 + sizeBytes, end: at + 1 + sizeBytes + long };
}

/** Six words: two small numbers and an address first, then yParity or v, and the two halves of a signature. */
function isAbiTuple(bytes: Uint8Array): boolean {
  if (bytes.length !== members * word) return false;
  const sizes = Array.from({ length: members }, (_, index) =>
    significant(bytes.subarray(index * word, (index + 1) * word)),
  );
  const [head, tail] = [sizes.slice(0, 3), sizes.slice(3)];
  const isAddress = (size: number) => size > 16 && size <= 20;
  const isSmall = (size: number) => size <= 8;
  return (
    head.filter(isAddress).length === 1 &&
    head.filter(isSmall).length === 2 &&
    tail.filter((size) => size <= 1).length === 1 &&
    tail.filter((size) => size > 20).length === 2
  );
}

/** Number of bytes without leading zeros. */
function significant(bytes: Uint8Array): number {
  const first = bytes.findIndex((byte) => byte !== 0);
  return first === -1 ? 0 : bytes.length - first;
}
