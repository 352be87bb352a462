import type { DecodedHex } from '../units/hex.js';
import { AbiReader } from './abi-reader.js';
import type { CallShape } from './account-functions.js';
import { type Call, callOf, maxCalls, type Range, Undecodable } from './call.js';
import { readErc7579, readStructs } from './erc-7579.js';
import { readMultiSend } from './multi-send.js';

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
