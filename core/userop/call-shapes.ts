import { AbiReader } from './abi-reader.js';
import { multiSendSelector, type AddedShape } from './account-functions.js';
import { type Call, type CallData, decodeCall, maxCalls, type Range, Undecodable } from './call.js';
import { addressKeyAt } from '../units/address.js';

/** Reads the calls in the arguments of an account function. Throws Undecodable. */
export type CallReader = (callData: CallData, args: Range, batchers?: ReadonlySet<string>) => readonly Call[];

export const callReaders: Readonly<Record<AddedShape | 'erc-7579', CallReader>> = {
  call: readCall,
  'call-struct': readCallStruct,
  'call-or-delegate-call': readCallOrDelegateCall,
  batch: readBatch,
  'batch-without-values': readBatchWithoutValues,
  'batch-of-structs': readStructs,
  'batch-of-structs-and-flag': readStructsAndFlag,
  'erc-7579': readErc7579,
};

function readCall(callData: CallData, args: Range): readonly Call[] {
  const reader = new AbiReader(callData, args, 3);
  const { start } = args;
  return [decodeCall(callData, reader.address(start), reader.uint256(start + 32), reader.bytes(start + 64))];
}

function readCallStruct(callData: CallData, args: Range): readonly Call[] {
  const { reader, start } = new AbiReader(callData, args, 1).struct(args.start, 3);
  return [readStruct(callData, reader, start)];
}

function readCallOrDelegateCall(
  callData: CallData,
  args: Range,
  batchers?: ReadonlySet<string>,
): readonly Call[] {
  const reader = new AbiReader(callData, args, 4);
  const { start } = args;
  const operation = reader.size(start + 96);
  const call = decodeCall(
    callData,
    reader.address(start),
    reader.uint256(start + 32),
    reader.bytes(start + 64),
  );
  if (operation > 1) throw new Undecodable(`operation ${operation} is neither call nor delegate call`);
  return operation === 0 ? [call] : readMultiSend(callData, call, batchers);
}

function readBatch(callData: CallData, args: Range): readonly Call[] {
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
      decodeCall(
        callData,
        reader.address(targets.start + 32 * index),
        values.length === 0 ? 0n : reader.uint256(values.start + 32 * index),
        datas.reader.bytes(datas.start + 32 * index),
      ),
    );
  return calls;
}

function readBatchWithoutValues(callData: CallData, args: Range): readonly Call[] {
  const reader = new AbiReader(callData, args, 2);
  const targets = reader.words(args.start, maxCalls);
  const datas = reader.elements(args.start + 32, maxCalls);
  if (datas.length !== targets.length)
    throw new Undecodable(`${targets.length} targets and ${datas.length} byte strings do not form a batch`);
  const calls: Call[] = [];
  for (let index = 0; index < targets.length; index += 1)
    calls.push(
      decodeCall(
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
 * try), 4 unused, mode selector 4, payload 22. Only the modes of this table are read, since others may change the meaning of
 * the rest; delegate calls and static calls (ff, fe) are refused.
 *
 * | mode, then zeros | executionCallData |
 * |---|---|
 * | 00 00, 00 01 | target 20 ++ value 32 ++ data |
 * | 01 00, 01 01 | abi.encode(calls) |
 * | 01 00 00000000 78210001 (ERC-7821) | abi.encode(calls), or abi.encode(calls, opData) |
 * | 01 00 00000000 78210002 (ERC-7821) | abi.encode(bytes[]), each as in the row above |
 *
 * Calls are `(address, uint256, bytes)[]`. OpData are for the account, and stay unread.
 */
function readErc7579(callData: CallData, args: Range): readonly Call[] {
  const reader = new AbiReader(callData, args, 2);
  const execution = reader.bytes(args.start + 32);
  const at = 2 + 2 * args.start;
  const mode = callData.hex.slice(at, at + 64);
  if (mode.startsWith('ff')) throw new Undecodable('the mode asks for a delegate call', 'DELEGATE_CALL');
  const read = modes.get(mode);
  if (read === undefined) throw new Undecodable(`mode 0x${mode} is not read`);
  return read(callData, execution);
}

/** By the whole mode. */
const modes: ReadonlyMap<string, CallReader> = new Map<string, CallReader>(
  (
    [
      ['0000', (callData, execution) => [readPacked(callData, execution)]],
      ['0001', (callData, execution) => [readPacked(callData, execution)]],
      ['0100', readStructs],
      ['0101', readStructs],
      ['01000000000078210001', readWithOpData],
      ['01000000000078210002', readBatches],
    ] satisfies readonly (readonly [string, CallReader])[]
  ).map(([mode, read]) => [mode.padEnd(64, '0'), read]),
);

/** The first of one word or two is where the calls are: with two, opData follow, which may make the account do more. */
function readWithOpData(callData: CallData, execution: Range): readonly Call[] {
  const calls = readStructs(callData, execution);
  const isAlone = new AbiReader(callData, execution, 1).size(execution.start) === 32;
  if (calls.length === 0 && !isAlone) throw new Undecodable('opData without a call');
  return calls;
}

function readBatches(callData: CallData, execution: Range): readonly Call[] {
  const batches = new AbiReader(callData, execution, 1).elements(execution.start, maxCalls);
  const calls: Call[] = [];
  for (let index = 0; index < batches.length; index += 1) {
    calls.push(...readWithOpData(callData, batches.reader.bytes(batches.start + 32 * index)));
    if (calls.length > maxCalls) throw new Undecodable(`more than ${maxCalls} calls in batches`);
  }
  if (calls.length === 0) throw new Undecodable('batches without a call');
  return calls;
}

function readPacked(callData: CallData, execution: Range): Call {
  const dataStart = execution.start + 52;
  if (dataStart > execution.end)
    throw new Undecodable('a single execution must hold a target of 20 bytes and a value of 32');
  const at = 2 + 2 * execution.start;
  return decodeCall(
    callData,
    addressKeyAt(callData.hex, execution.start),
    BigInt(`0x${callData.hex.slice(at + 40, at + 104)}`),
    { start: dataStart, end: execution.end },
  );
}

/** Calls in arguments of the type `((address target, uint256 value, bytes data)[])`. */
function readStructs(callData: CallData, args: Range): readonly Call[] {
  return structsAt(callData, new AbiReader(callData, args, 1), args.start);
}

/** Calls in arguments of the type `(((address target, uint256 value, bytes data)[] calls, bool revertOnFailure))`. */
export function readStructsAndFlag(callData: CallData, args: Range): readonly Call[] {
  const { reader, start } = new AbiReader(callData, args, 1).struct(args.start, 2);
  if (reader.size(start + 32) > 1) throw new Undecodable(`the word at byte ${start + 32} is not a bool`);
  return structsAt(callData, reader, start);
}

function structsAt(callData: CallData, outer: AbiReader, at: number): readonly Call[] {
  const elements = outer.elements(at, maxCalls);
  const calls: Call[] = [];
  for (let index = 0; index < elements.length; index += 1) {
    const { reader, start } = elements.reader.struct(elements.start + 32 * index, 3);
    calls.push(readStruct(callData, reader, start));
    elements.reader.passed(reader);
  }
  return calls;
}

function readStruct(callData: CallData, reader: AbiReader, start: number): Call {
  return decodeCall(callData, reader.address(start), reader.uint256(start + 32), reader.bytes(start + 64));
}

const headerSize = 1 + 20 + 32 + 32;

/**
 * Calls in a delegate call to one of the account's batching libraries. `multiSend(bytes)` holds, packed and repeated: operation 1 (0 call, 1
 * delegate call), target 20, value 32, length 32, data. Any other delegate call, and a delegate call inside, is
 * DELEGATE_CALL.
 */
function readMultiSend(
  callData: CallData,
  outer: Call,
  batchers: ReadonlySet<string> | undefined,
): readonly Call[] {
  if (batchers?.has(outer.target) !== true || outer.selector !== multiSendSelector)
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
  if (calls.length === 0) throw new Undecodable('multiSend without a call');
  return calls;
}

function readTransaction(callData: CallData, at: number, end: number): Call {
  if (at + headerSize > end) throw new Undecodable(`the transaction at byte ${at} of multiSend is cut off`);
  const operation = callData.hex.slice(2 + 2 * at, 4 + 2 * at);
  const words = new AbiReader(callData, { start: at + 21, end }, 2);
  const target = addressKeyAt(callData.hex, at + 1);
  if (operation === '01')
    throw new Undecodable(`delegate call to ${target} inside multiSend`, 'DELEGATE_CALL');
  if (operation !== '00') throw new Undecodable(`operation 0x${operation} inside multiSend`);
  const start = at + headerSize;
  const data = { start, end: start + words.size(at + 53) };
  if (data.end > end) throw new Undecodable(`the data at byte ${start} of multiSend is cut off`);
  return decodeCall(callData, target, words.uint256(at + 21), data);
}
