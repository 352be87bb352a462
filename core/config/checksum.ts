import { quote } from '../errors.js';
import { finding } from '../meta/conditions.js';
import type { Finding } from '../meta/conditions.js';
import { checksumExpectation, hasWrongChecksum, isAddressText, parseAddress } from '../units/address.js';
import type { Address } from '../units/address.js';

/**
 * Judges the checksum of an address: undefined; `Accepted` False; or, where it is in use already, a warning beside what
 * goes on. Stores that judge checksums themselves never hold a wrong one that is new; the API server cannot.
 */
export function judgeChecksum(field: string, address: string, isInUse: boolean): Finding | undefined {
  if (!hasWrongChecksum(address)) return undefined;
  const message = `${field} must be ${checksumExpectation}, got ${quote(address)}.`;
  return isInUse ? finding('AddressChecksum', 'Wrong', message) : finding('Accepted', 'BadChecksum', message);
}

/**
 * Judges a list of addresses, of which those in use stay. `kept` are the others that are right, so that a refused one is not in
 * use the next time; `told` is the first that is refused, else the first that stays although its checksum is wrong.
 */
export function judgeAddresses(
  field: string,
  texts: readonly string[],
  inUse: readonly string[] = [],
): { readonly kept: readonly Address[]; readonly told: Finding | undefined } {
  const used = new Set(inUse.map((address) => address.toLowerCase()));
  const judged = texts
    .map((text, index) => ({
      text,
      found: judgeChecksum(`${field}[${index}]`, text, used.has(text.toLowerCase())),
    }))
    .filter(({ text }) => isAddressText(text));
  return {
    kept: judged.filter(({ found }) => !isRefusal(found)).map(({ text }) => parseAddress(text)),
    told: worstOf(judged.map(({ found }) => found)),
  };
}

/** The first that refuses, else the first warning. */
export function worstOf(findings: readonly (Finding | undefined)[]): Finding | undefined {
  return findings.find(isRefusal) ?? findings.find((found) => found !== undefined);
}

export function isRefusal(found: Finding | undefined): boolean {
  return found?.type === 'Accepted';
}
