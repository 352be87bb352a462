import { createHash } from 'node:crypto';
import { firstWrongChecksum, isAddressText, toAddressKey, type AddressKey } from '../units/address.js';

/** Of one list, whether a policy or a Chain has it. */
export const maxAddresses = 5_000;

/**
 * A list of addresses as configs name it: by the hash of its content. It never changes, is stored once however many configs
 * name it, and is held once by each replica.
 */
export type AddressList = {
  /** SHA-256 of the sorted addresses, 64 lowercase hex digits. */
  readonly hash: string;
  /** Sorted, each once. */
  readonly addresses: readonly AddressKey[];
};

/**
 * The list of these texts, and where the first wrong checksum is (-1: nowhere). Made once per array, because resources never
 * change and a checksum costs a keccak: 5,000 of them would stall the operator at every visit.
 */
export function compileAddressList(texts: readonly string[]): {
  readonly list: AddressList;
  readonly wrongAt: number;
} {
  const known = made.get(texts) ?? { list: toAddressList(texts), wrongAt: firstWrongChecksum(texts) };
  made.set(texts, known);
  return known;
}

const made = new WeakMap<readonly string[], { readonly list: AddressList; readonly wrongAt: number }>();

function toAddressList(texts: readonly string[]): AddressList {
  const addresses = [...new Set(texts.filter(isAddressText).map(toAddressKey))].sort();
  return { hash: hashAddresses(addresses), addresses };
}

/** Whether nobody has changed the list since it was made. */
export function isWhole({ hash, addresses }: AddressList): boolean {
  return Array.isArray(addresses) && hashAddresses(addresses) === hash;
}

function hashAddresses(addresses: readonly string[]): string {
  return createHash('sha256').update(addresses.join('\n')).digest('hex');
}
