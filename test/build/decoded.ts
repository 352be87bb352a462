import { parseAddressKey } from '../../core/units/address.js';
import type { DecodedHex, Hex } from '../../core/units/hex.js';
import { decodeCalls as decodeIn, type CallContext, type DecodedCalls } from '../../core/userop/call-data.js';

/** An account of which only the built-in rows are known, on EntryPoint 0.7 or later. */
export const plainContext: CallContext = {
  account: parseAddressKey('0xacc0000000000000000000000000000000000001'),
  passesWholeOperation: true,
  ofChain: undefined,
  ofPaymaster: undefined,
  modules: undefined,
};

export function decodeCalls(callData: Hex, known?: DecodedHex): DecodedCalls {
  return decodeIn(callData, plainContext, known);
}
