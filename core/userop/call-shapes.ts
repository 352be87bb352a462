import type { DecodedHex } from '../units/hex.js';
import { AbiReader } from './abi-reader.js';
import { multiSendContracts, multiSendSelector, type CallShape } from './account-functions.js';
import { type Call, callOf, maxCalls, type Range, Undecodable } from './call.js';
import { addressKeyAt, toAddressKey, zeroAddress } from '../units/address.js';

/** Reads the calls in the arguments of an account function. Throws Undecodable. */
type CallReader = (callData: DecodedHex, args: Range) => readonly Call[];

export const callReaders: Readonly<Record<CallShape, CallReader>> = {
  call: readCall,
  'call-or-delegate-call': readCallOrDelegateCall,
  batch: readBatch,
  'batch-without-values': readBatchWithoutValues,
  'batch-of-structs': readStructs,
  'erc-7579': readErc7579,
};

function readCall(callData: DecodedHex, args: Range): readonly Call[] {
  const reader = new AbiReader(callData, args, 3);
  const { start } = args;
  return [callOf(callData, reader.address(start), reader.uint256(start + 32), reader.bytes(start + 64))];
}

function readCallOrDelegateCall(callData: DecodedHex, args: Range): readonly Call[] {
  const reader = new AbiReader(callData, args, 4);
  const { start } = args;
  const operation = reader.size(start + 96);
  const call = callOf(callData, reader.address(start), reader.uint256(start + 32), reader.bytes(start + 64));
  if (operation > 1) throw new Undecodable(`operation ${operation} is neither call nor delegate call`);
  return operation === 0 ? [call] : readMultiSend(callData, call);
}

function readBatch(callData: DecodedHex, args: Range): readonly Call[] {
  const reader = new AbiReader(callData, args, 3);
  const targets = reader.words(args.start, maxCalls);
  const values = reader.words(args.start + 32, maxCalls);
  const datas = reader.elements(args.start + 64, maxCalls);
  if (datas.length !== targets.length || (values.length !== 0 && values.length !== targets.length))
    throw new Undecodable(
      `${targets.length} targets, ${values.length} values and ${datas.length} byte strings do not form a batch`,
    );
  const calls: Call[] = [];
  for (let index = 0; index < targets.length; index += 1)
    calls.push(
      callOf(
        callData,
        reader.address(targets.start + 32 * index),
        values.length === 0 ? 0n : reader.uint256(values.start + 32 * index),
        datas.reader.bytes(datas.start + 32 * index),
      ),
    );
  return calls;
}

function readBatchWithoutValues(callData: DecodedHex, args: Range): readonly Call[] {
  const reader = new AbiReader(callData, args, 2);
  const targets = reader.words(args.start, maxCalls);
  const datas = reader.elements(args.start + 32, maxCalls);
  if (datas.length !== targets.length)
    throw new Undecodable(`${targets.length} targets and ${datas.length} byte strings do not form a batch`);
  const calls: Call[] = [];
  for (let index = 0; index < targets.length; index += 1)
    calls.push(
      callOf(
        callData,
        reader.address(targets.start + 32 * index),
        0n,
        datas.reader.bytes(datas.start + 32 * index),
      ),
    );
  return calls;
}

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
function readErc7579(callData: DecodedHex, args: Range): readonly Call[] {
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
function readStructs(callData: DecodedHex, args: Range): readonly Call[] {
  const elements = new AbiReader(callData, args, 1).elements(args.start, maxCalls);
  const calls: Call[] = [];
  for (let index = 0; index < elements.length; index += 1) {
    const { reader, start } = elements.reader.struct(elements.start + 32 * index, 3);
    calls.push(callOf(callData, reader.address(start), reader.uint256(start + 32), reader.bytes(start + 64)));
    elements.reader.passed(reader);
  }
  return calls;
}

const zeroKey = toAddressKey(zeroAddress);
const headerSize = 1 + 20 + 32 + 32;

/**
 * Calls in a Safe's delegate call to MultiSend. `multiSend(bytes)` holds, packed and repeated: operation 1 (0 call, 1
 * delegate call), target 20, value 32, length 32, data. Any other delegate call, and a delegate call inside, is
 * DELEGATE_CALL.
 */
function readMultiSend(callData: DecodedHex, outer: Call): readonly Call[] {
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
