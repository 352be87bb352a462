import { quote } from '../errors.js';
import { finding } from '../meta/conditions.js';
import type { Finding } from '../meta/conditions.js';
import { checksumExpectation, hasWrongChecksum } from '../units/address.js';

/**
 * Judges the checksum of an address: undefined; `Accepted` False; or, where it is in use already, a warning beside what
 * goes on. Stores that judge checksums themselves never hold a wrong one that is new; the API server cannot.
 */
export function judgeChecksum(field: string, address: string, isInUse: boolean): Finding | undefined {
  if (!hasWrongChecksum(address)) return undefined;
  const message = `${field} must be ${checksumExpectation}, got ${quote(address)}.`;
  return isInUse ? finding('AddressChecksum', 'Wrong', message) : finding('Accepted', 'BadChecksum', message);
}
