import { addressKeyAt } from '../units/address.js';
import type { DecodedHex } from '../units/hex.js';
import { AbiReader } from './abi-reader.js';
import { type Call, callOf, maxCalls, type Range, Undecodable } from './call.js';

/**
 * Calls of ERC-7579 `execute(bytes32 mode, bytes executionCallData)`. Mode: call type 1, exec type 1 (00 revert, 01
 * try), 4 unused, mode selector 4, payload 22. Only the default selector and payload (zeros) are read, since others
 * change the meaning of the rest (ERC-7821, for example, reads target 0 as the account itself).
 *
 * | call type | executionCallData |
 * |---|---|
 * | 00 single, fe static | target 20 ++ value 32 ++ data |
 * | 01 batch | abi.encode((address, uint256, bytes)[]) |
 * | ff delegate | refused |
 */
export function readErc7579(callData: DecodedHex, args: Range): readonly Call[] {
  const reader = new AbiReader(callData, args, 2);
  const execution = reader.bytes(args.start + 32);
  const mode = 2 + 2 * args.start;
  const { hex } = callData;
  const callType = hex.slice(mode, mode + 2);
  if (callType === 'ff') throw new Undecodable('the mode asks for a delegate call', 'DELEGATE_CALL');
  if (!defaultModes.has(hex.slice(mode + 2, mode + 64)))
    throw new Undecodable(`mode 0x${hex.slice(mode, mode + 64)} is not read`);
  if (callType === '01') return readStructs(callData, execution);
  if (callType === '00' || callType === 'fe') return [readPacked(callData, execution)];
  throw new Undecodable(`call type 0x${callType} is not known`);
}

/** Exec type 00 or 01, then zeros. */
const defaultModes: ReadonlySet<string> = new Set([`00${'0'.repeat(60)}`, `01${'0'.repeat(60)}`]);

function readPacked(callData: DecodedHex, execution: Range): Call {
  const dataStart = execution.start + 52;
  if (dataStart > execution.end)
    throw new Undecodable('a single execution must hold a target of 20 bytes and a value of 32');
  const at = 2 + 2 * execution.start;
  return callOf(
    callData,
    addressKeyAt(callData.hex, execution.start),
    BigInt(`0x${callData.hex.slice(at + 40, at + 104)}`),
    { start: dataStart, end: execution.end },
  );
}

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
