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

function tupleOf(version: EntryPointVersion, { op, paymasterAndData }: BundledOperation): string {
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
  const texts = [op.initCode, op.callData, paymasterAndData, op.signature].map((text) => text.slice(2));
  let offset = 32 * (2 + 4 + gas.length);
  const offsets = texts.map((text) => {
    const at = offset;
    offset += 32 + Math.ceil(text.length / 64) * 32;
    return word(BigInt(at));
  });
  const bodies = texts.map(
    (text) => word(BigInt(text.length / 2)) + text.padEnd(Math.ceil(text.length / 64) * 64, '0'),
  );
  return [
    word(BigInt(op.sender)),
    word(op.nonce),
    ...offsets.slice(0, 2),
    ...gas,
    ...offsets.slice(2),
    ...bodies,
  ].join('');
}

function word(value: bigint): string {
  return value.toString(16).padStart(64, '0');
}
