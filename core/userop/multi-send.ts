import { addressKeyAt, toAddressKey, zeroAddress } from '../units/address.js';
import type { DecodedHex } from '../units/hex.js';
import { AbiReader } from './abi-reader.js';
import { multiSendContracts, multiSendSelector } from './account-functions.js';
import { Undecodable, callOf, maxCalls, type Call } from './call.js';

const zeroKey = toAddressKey(zeroAddress);
const headerSize = 1 + 20 + 32 + 32;

/**
 * Calls in a Safe's delegate call to MultiSend. `multiSend(bytes)` holds, packed and repeated: operation 1 (0 call, 1
 * delegate call), target 20, value 32, length 32, data. Any other delegate call, and a delegate call inside, is
 * DELEGATE_CALL.
 */
export function readMultiSend(callData: DecodedHex, outer: Call): readonly Call[] {
  if (!multiSendContracts.has(outer.target) || outer.selector !== multiSendSelector)
    throw new Undecodable(`delegate call to ${outer.target}, ${outer.selector}`, 'DELEGATE_CALL', {
      target: outer.target,
      selector: outer.selector,
    });
  const args = { start: outer.data.start + 4, end: outer.data.end };
  const packed = new AbiReader(callData, args, 1).bytes(args.start);
  const calls: Call[] = [];
  for (let at = packed.start; at < packed.end;) {
    if (calls.length === maxCalls) throw new Undecodable(`more than ${maxCalls} calls in multiSend`);
    const call = readTransaction(callData, at, packed.end);
    calls.push(call);
    at = call.data.end;
  }
  return calls;
}

function readTransaction(callData: DecodedHex, at: number, end: number): Call {
  if (at + headerSize > end) throw new Undecodable(`the transaction at byte ${at} of multiSend is cut off`);
  const operation = callData.hex.slice(2 + 2 * at, 4 + 2 * at);
  const words = new AbiReader(callData, { start: at + 21, end }, 2);
  const target = addressKeyAt(callData.hex, at + 1);
  if (operation === '01')
    throw new Undecodable(`delegate call to ${target} inside multiSend`, 'DELEGATE_CALL');
  if (operation !== '00') throw new Undecodable(`operation 0x${operation} inside multiSend`);
  // From 1.5.0 on, MultiSend reads target 0 as the Safe itself.
  if (target === zeroKey) throw new Undecodable('target 0 inside multiSend');
  const start = at + headerSize;
  const data = { start, end: start + words.size(at + 53) };
  if (data.end > end) throw new Undecodable(`the data at byte ${start} of multiSend is cut off`);
  return callOf(callData, target, words.uint256(at + 21), data);
}
