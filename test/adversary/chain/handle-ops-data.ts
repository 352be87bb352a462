import type { AddressKey } from '../../../core/units/address.js';
import type { Hex } from '../../../core/units/hex.js';
import type { EntryPointVersion } from '../../../core/entry-point/version.js';
import type { BundledOperation } from './operations.js';

const selectors: Readonly<Record<EntryPointVersion, string>> = {
  '0.6': '0x1fad948c',
  '0.7': '0x765e827f',
  '0.8': '0x765e827f',
  '0.9': '0x765e827f',
};

/** Call data of `handleOps`, as ABI encoders write them; written by hand, because a model chain encodes thousands a second. */
export function handleOpsData(
  version: EntryPointVersion,
  operations: readonly BundledOperation[],
  beneficiary: AddressKey,
): Hex {
  const tuples = operations.map((operation) => tupleOf(version, operation));
  let offset = 32 * tuples.length;
  const offsets = tuples.map((tuple) => {
    const at = offset;
    offset += tuple.length / 2;
    return word(BigInt(at));
  });
  const head = [word(64n), word(BigInt(beneficiary)), word(BigInt(tuples.length))];
  return `0x${selectors[version].slice(2)}${[...head, ...offsets, ...tuples].join('')}`;
}

/**
 * The same call with everything in front of the offset that points to it: the offsets of operations and of their byte strings are negative,
 * modulo 2^256. Solidity follows them.
 */
export function wrappedHandleOpsData(
  version: EntryPointVersion,
  operations: readonly BundledOperation[],
  beneficiary: AddressKey,
): Hex {
  const parts: string[] = [];
  let size = 64;
  const tuples = operations.map(({ op, paymasterAndData }) => {
    const bodies = textsOf({ op, paymasterAndData }).map(bodyOf);
    const begin = size + sizeOf(bodies.join(''));
    let at = size;
    const offsets = bodies.map((body) => {
      const offset = word(BigInt.asUintN(256, BigInt(at - begin)));
      at += sizeOf(body);
      return offset;
    });
    const tuple = headOf(version, op, offsets);
    parts.push(...bodies, tuple);
    size = begin + sizeOf(tuple);
    return begin;
  });
  // Offsets of operations count from behind the length of the list.
  const offsets = tuples.map((begin) => word(BigInt.asUintN(256, BigInt(begin - size - 32))));
  const head = [word(BigInt(size)), word(BigInt(beneficiary))];
  return `0x${selectors[version].slice(2)}${[...head, ...parts, word(BigInt(operations.length)), ...offsets].join('')}`;
}

function tupleOf(version: EntryPointVersion, { op, paymasterAndData }: BundledOperation): string {
  const bodies = textsOf({ op, paymasterAndData }).map(bodyOf);
  let offset = 32 * (version === '0.6' ? 11 : 9);
  const offsets = bodies.map((body) => {
    const at = offset;
    offset += sizeOf(body);
    return word(BigInt(at));
  });
  return [headOf(version, op, offsets), ...bodies].join('');
}

/** The words of an operation; `offsets` are those of its four byte strings. */
function headOf(
  version: EntryPointVersion,
  op: BundledOperation['op'],
  [initCode, callData, paymasterAndData, signature]: readonly string[],
): string {
  const pair = (high: bigint, low: bigint) => word((high << 128n) | low);
  const { callGasLimit, verificationGasLimit, preVerificationGas, maxFeePerGas, maxPriorityFeePerGas } = op;
  const gas =
    version === '0.6'
      ? [callGasLimit, verificationGasLimit, preVerificationGas, maxFeePerGas, maxPriorityFeePerGas].map(word)
      : [
          pair(verificationGasLimit, callGasLimit),
          word(preVerificationGas),
          pair(maxPriorityFeePerGas, maxFeePerGas),
        ];
  return [
    word(BigInt(op.sender)),
    word(op.nonce),
    initCode,
    callData,
    ...gas,
    paymasterAndData,
    signature,
  ].join('');
}

function textsOf({
  op,
  paymasterAndData,
}: Pick<BundledOperation, 'op' | 'paymasterAndData'>): readonly Hex[] {
  return [op.initCode, op.callData, paymasterAndData, op.signature];
}

/** Length and padded bytes. */
function bodyOf(text: Hex): string {
  const bytes = text.slice(2);
  return word(BigInt(bytes.length / 2)) + bytes.padEnd(Math.ceil(bytes.length / 64) * 64, '0');
}

/** Bytes of a text without 0x. */
function sizeOf(text: string): number {
  return text.length / 2;
}

function word(value: bigint): string {
  return value.toString(16).padStart(64, '0');
}
