import { keccak256 } from '../crypto/keccak.js';
import type { Address } from '../units/address.js';
import { bytesToHex } from '../units/hex.js';
import type { Hex } from '../units/hex.js';
import { is7702InitCode } from '../userop/eip-7702.js';
import type { EntryPointVersion, FinalUserOperation } from '../userop/user-operation.js';
import {
  keccakOfHex,
  writeAccountGasLimits,
  writeAddressWord,
  writeGasFees,
  writeGasFields,
  writeIdentity,
  writeUint256,
  zeroed,
} from './words.js';

export type HashTarget = {
  readonly version: EntryPointVersion;
  readonly entryPoint: Address;
  readonly chainId: number;
};

/**
 * The EntryPoint's `getUserOpHash` with this `paymasterAndData`. Undefined where only the chain knows it: an EntryPoint
 * 0.8 operation of an EIP-7702 account whose delegate is not in `eip7702Auth`. Use {@link userOpHasher} for many of one target.
 */
export function userOpHash(
  op: FinalUserOperation,
  paymasterAndData: Hex,
  target: HashTarget,
): Hex | undefined {
  return userOpHasher(target)(op, paymasterAndData);
}

/** {@link userOpHash} with everything that depends on the target computed once. */
export function userOpHasher(
  target: HashTarget,
): (op: FinalUserOperation, paymasterAndData: Hex) => Hex | undefined {
  if (target.version === '0.8') return typedDataHasher(target);
  const words = target.version === '0.6' ? operationWords06 : operationWords07;
  return (op, paymasterAndData) => {
    const outer = zeroed(96);
    outer.set(keccak256(words(op, paymasterAndData)), 0);
    writeAddressWord(outer, target.entryPoint, 32);
    writeUint256(outer, BigInt(target.chainId), 64);
    return bytesToHex(keccak256(outer));
  };
}

/** Ten words: identity, gas fields, keccak(paymasterAndData). */
function operationWords06(op: FinalUserOperation, paymasterAndData: Hex): Buffer {
  const words = zeroed(10 * 32);
  writeIdentity(words, op, 0);
  writeGasFields(words, op, 128);
  words.set(keccakOfHex(paymasterAndData), 288);
  return words;
}

/** Eight words: identity, accountGasLimits, preVerificationGas, gasFees, keccak(paymasterAndData). */
function operationWords07(op: FinalUserOperation, paymasterAndData: Hex): Buffer {
  const words = zeroed(8 * 32);
  writePacked(words, op, paymasterAndData, 0);
  return words;
}

function writePacked(words: Buffer, op: FinalUserOperation, paymasterAndData: Hex, offset: number): void {
  writeIdentity(words, op, offset);
  writeAccountGasLimits(words, op, offset + 128);
  writeUint256(words, op.preVerificationGas, offset + 160);
  writeGasFees(words, op, offset + 192);
  words.set(keccakOfHex(paymasterAndData), offset + 224);
}

// EIP-712: keccak(0x1901 ++ domain separator ++ keccak(type hash ++ the eight words)). Where initCode is the EIP-7702
// marker, the delegate takes its place in the hash.
function typedDataHasher({ entryPoint, chainId }: HashTarget) {
  const separator = domainSeparator(entryPoint, chainId);
  const operationType = keccakOfText(
    'PackedUserOperation(address sender,uint256 nonce,bytes initCode,bytes callData,bytes32 accountGasLimits,uint256 preVerificationGas,bytes32 gasFees,bytes paymasterAndData)',
  );
  return (op: FinalUserOperation, paymasterAndData: Hex): Hex | undefined => {
    const marked = is7702InitCode(op.initCode);
    if (marked && op.eip7702Auth === undefined) return undefined;
    const words = zeroed(9 * 32);
    words.set(operationType, 0);
    writePacked(words, op, paymasterAndData, 32);
    if (marked && op.eip7702Auth !== undefined)
      words.set(keccakOfHex(`0x${op.eip7702Auth.address.slice(2)}${op.initCode.slice(42)}`), 96);
    const outer = zeroed(66);
    outer.writeUInt16BE(0x1901, 0);
    outer.set(separator, 2);
    outer.set(keccak256(words), 34);
    return bytesToHex(keccak256(outer));
  };
}

function domainSeparator(entryPoint: Address, chainId: number): Uint8Array {
  const words = zeroed(5 * 32);
  words.set(
    keccakOfText('EIP712Domain(string name,string version,uint256 chainId,address verifyingContract)'),
    0,
  );
  words.set(keccakOfText('ERC4337'), 32);
  words.set(keccakOfText('1'), 64);
  writeUint256(words, BigInt(chainId), 96);
  writeAddressWord(words, entryPoint, 128);
  return keccak256(words);
}

function keccakOfText(text: string): Uint8Array {
  return keccak256(Buffer.from(text, 'latin1'));
}
