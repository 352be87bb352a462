import { keccak256 } from '../crypto/keccak.js';
import type { Hex } from './hex.js';

declare const brand: unique symbol;

/**
 * EIP-55 checksummed address: the form in which people, resources and API answers show it. Made by
 * {@link parseAddress} only.
 */
export type Address = `0x${string}` & { readonly [brand]: 'Address' };

/**
 * Lowercase address: the form in which addresses are compared and used as map keys on the sponsor path, where an
 * EIP-55 checksum per request would cost a keccak. Made by {@link toAddressKey}, {@link parseAddressKey} and
 * {@link addressKeyAt} only.
 */
export type AddressKey = `0x${string}` & { readonly [brand]: 'AddressKey' };

const addressPattern = /^0x[0-9a-fA-F]{40}$/;

export const zeroAddress = '0x0000000000000000000000000000000000000000' as Address;

export function isAddressText(value: unknown): value is `0x${string}` {
  return typeof value === 'string' && addressPattern.test(value);
}

/**
 * True for an address in mixed case that does not match its EIP-55 checksum: most likely a digit was mistyped. An
 * address in one case only claims no checksum.
 */
export function hasWrongChecksum(text: string): boolean {
  if (!isAddressText(text)) return false;
  const digits = text.slice(2);
  const isMixed = digits !== digits.toLowerCase() && digits !== digits.toUpperCase();
  return isMixed && checksummed(digits.toLowerCase()) !== text;
}

/**
 * Where the first wrong checksum of a list is; -1: nowhere. Found once per array, because the values of requests and resources never
 * change, and several parts of the way of a write ask.
 */
export function firstWrongChecksum(texts: readonly unknown[]): number {
  const known =
    firstWrong.get(texts) ?? texts.findIndex((text) => typeof text === 'string' && hasWrongChecksum(text));
  firstWrong.set(texts, known);
  return known;
}

const firstWrong = new WeakMap<readonly unknown[], number>();

/**
 * Completes "<field> must be …". It does not offer a corrected address: that would be a valid checksum for the
 * mistyped digits.
 */
export const checksumExpectation =
  'an address whose upper and lower case is its EIP-55 checksum: look for a typing mistake, or write it in lower case';

/** Parses an address in any case; clients send wrong checksums, so the checksum of the input is not judged. */
export function parseAddress(text: string): Address {
  if (!isAddressText(text)) throw new RangeError(`expected 0x and 40 hex digits, got "${text}"`);
  return checksummed(text.slice(2).toLowerCase()) as Address;
}

/**
 * EIP-55: a letter is a capital where its half byte of the keccak over the lowercase digits is 8 or more. Written here because a list
 * may have 5,000 addresses, for which the one of ethers takes 12 times as long.
 */
function checksummed(digits: string): string {
  const text = Buffer.from(`0x${digits}`, 'latin1');
  const hash = keccak256(text.subarray(2));
  for (let index = 0; index < 40; index += 1) {
    const half = (hash[index >> 1] ?? 0) >> (index % 2 === 0 ? 4 : 0);
    const code = text[index + 2] ?? 0;
    if (code >= 0x61 && (half & 8) !== 0) text[index + 2] = code - 0x20;
  }
  return text.toString('latin1');
}

/** The key of an address given in any case, without the keccak that {@link parseAddress} spends on the checksum. */
export function parseAddressKey(text: string): AddressKey {
  if (!isAddressText(text)) throw new RangeError(`expected 0x and 40 hex digits, got "${text}"`);
  return toAddressKey(text);
}

export function toAddressKey(address: Address | `0x${string}`): AddressKey {
  return address.toLowerCase() as AddressKey;
}

/**
 * The 20 bytes at byte `offset` of a lowercase hex text that is long enough. It does not convert the case, because on
 * the sponsor path that would cost more than the rest of the reading.
 */
export function addressKeyAt(hex: `0x${string}`, offset: number): AddressKey {
  return `0x${hex.slice(2 + 2 * offset, 42 + 2 * offset)}` as AddressKey;
}

/** A word of the ABI with this address: 64 hex digits, without 0x. */
export function addressWord(address: AddressKey): string {
  return address.slice(2).padStart(64, '0');
}

/** An address as an indexed topic of an event. */
export function addressTopic(address: AddressKey): Hex {
  return `0x${addressWord(address)}`;
}
