import { quote } from '../errors.js';
import { finding, type Finding } from '../meta/conditions.js';
import {
  checksumExpectation,
  hasWrongChecksum,
  isAddressText,
  parseAddress,
  type Address,
} from '../units/address.js';

/**
 * Judges the checksum of an address. Answers undefined when it is right, else `Accepted` False, or only a warning
 * when the address is already in use. Stores that check checksums themselves never accept a new wrong one; the API
 * server cannot check them.
 */
export function checksumFinding(field: string, address: string, isInUse: boolean): Finding | undefined {
  if (!hasWrongChecksum(address)) return undefined;
  const message = `${field} must be ${checksumExpectation}, got ${quote(address)}.`;
  return isInUse ? finding('AddressChecksum', 'Wrong', message) : finding('Accepted', 'BadChecksum', message);
}

/**
 * Judges the checksums of a list of addresses. An address that is already in use stays. `kept`: the addresses that
 * are not refused; a refused one is left out, so that it does not count as in use next time. `told`: the first
 * refusal, else the first warning about an address that stays although its checksum is wrong.
 */
export function checkAddresses(
  field: string,
  texts: readonly string[],
  inUse: readonly string[] = [],
): { readonly kept: readonly Address[]; readonly told: Finding | undefined } {
  const used = new Set(inUse.map((address) => address.toLowerCase()));
  const judged = texts
    .map((text, index) => ({
      text,
      found: checksumFinding(`${field}[${index}]`, text, used.has(text.toLowerCase())),
    }))
    .filter(({ text }) => isAddressText(text));
  return {
    kept: judged.filter(({ found }) => !isRefusal(found)).map(({ text }) => parseAddress(text)),
    told: worstOf(judged.map(({ found }) => found)),
  };
}

/** The first refusal, else the first warning. */
export function worstOf(findings: readonly (Finding | undefined)[]): Finding | undefined {
  return findings.find(isRefusal) ?? findings.find((found) => found !== undefined);
}

export function isRefusal(found: Finding | undefined): boolean {
  return found?.type === 'Accepted';
}
