import { createHash } from 'node:crypto';

/**
 * Object names made from natural keys: two callers that create the same thing at once create the same name, so the
 * store accepts exactly one of them. All are DNS-1123 labels of at most 63 characters. The slug is for people; the
 * hash makes the name unique: 50 bits, within one namespace.
 */

/** Name of the Paymaster that the dashboard creates for a chain and DApp name, e.g. `31337-my-shop-k3v5q2m7xa`. */
export function paymasterObjectName(chainId: number, name: string): string {
  return join(String(chainId), slug(name, 30), hash(String(chainId), name));
}

/**
 * Name of a SmartContract: its Paymaster object and the address in lower case, so that the case of the input does not
 * matter.
 */
export function smartContractObjectName(paymasterObject: string, address: string): string {
  return join(slug(paymasterObject, 11), hash(paymasterObject), address.slice(2).toLowerCase());
}

/**
 * Name of a PaymasterPolicy: its Paymaster object and the name with which it is created. Policies can be renamed, so
 * an object with this name may already exist although its policy has another name now: then use the next `number`.
 */
export function policyObjectName(paymasterObject: string, firstName: string, number = 1): string {
  const suffix = number === 1 ? '' : String(number);
  return join(slug(paymasterObject, 20), slug(firstName, 20), hash(paymasterObject, firstName), suffix);
}

function join(...parts: readonly string[]): string {
  return parts.filter((part) => part !== '').join('-');
}

/** Lowercase ASCII letters and digits with single hyphens; empty when no character of the text can be kept. */
function slug(text: string, maxLength: number): string {
  return text
    .normalize('NFKD')
    .replaceAll(/\p{M}+/gu, '')
    .toLowerCase()
    .replaceAll(/[^a-z0-9]+/g, '-')
    .replace(/^-/, '')
    .slice(0, maxLength)
    .replace(/-$/, '');
}

const base32 = 'abcdefghijklmnopqrstuvwxyz234567';

/** First 50 bits of SHA-256 in base 32. NUL separates the parts, because no name contains it. */
function hash(...parts: readonly string[]): string {
  const bits = createHash('sha256').update(parts.join('\0')).digest().readBigUInt64BE(0) >> 14n;
  return Array.from(
    { length: 10 },
    (_, place) => base32[Number((bits >> BigInt(45 - 5 * place)) & 31n)],
  ).join('');
}
