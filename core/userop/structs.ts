import type { DecodedHex } from '../units/hex.js';
import { AbiReader } from './abi-reader.js';
import { callOf, maxCalls, type Call, type Range } from './call.js';

/** Calls in arguments of the type `((address target, uint256 value, bytes data)[])`. */
export function readStructs(callData: DecodedHex, args: Range): readonly Call[] {
  const elements = new AbiReader(callData, args, 1).elements(args.start, maxCalls);
  const calls: Call[] = [];
  for (let index = 0; index < elements.length; index += 1) {
    const { reader, start } = elements.reader.struct(elements.start + 32 * index, 3);
    calls.push(callOf(callData, reader.address(start), reader.uint256(start + 32), reader.bytes(start + 64)));
    elements.reader.passed(reader);
  }
  return calls;
}
