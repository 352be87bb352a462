import { keccak256 } from '../crypto/keccak.js';
import { bytesToHex, type Hex } from '../units/hex.js';
import { writeAddressWord, writeUint256, zeroed } from '../units/words.js';
import { is7702InitCode } from './eip-7702.js';
import { writePacked } from './packed.js';
import type { HashPlace, UserOpHasher } from './rules.js';
import type { FinalUserOperation } from './user-operation.js';
import { keccakOfHex } from './words.js';

type OperationWords = (op: FinalUserOperation, paymasterAndData: Hex) => Uint8Array;

/** keccak(keccak(operation words) ++ EntryPoint ++ chainId). */
export function plainHasher(wordsOf: OperationWords): (place: HashPlace) => UserOpHasher {
  return ({ entryPoint, chainId }) =>
    (op, paymasterAndData) => {
      const outer = zeroed(96);
      outer.set(keccak256(wordsOf(op, paymasterAndData)), 0);
      writeAddressWord(outer, entryPoint, 32);
      writeUint256(outer, BigInt(chainId), 64);
      return bytesToHex(keccak256(outer));
    };
}

/** The bytes of `paymasterAndData` that are hashed; undefined if the EntryPoint reverts instead of hashing them. */
type HashedBytes = (paymasterAndData: Hex) => Hex | undefined;

/**
 * EIP-712: keccak(0x1901 ++ domain separator ++ keccak(type hash ++ the eight packed words)). If initCode is the
 * EIP-7702 marker, the hash contains the delegate instead of the marker.
 */
export function typedDataHasher(hashedBytes: HashedBytes): (place: HashPlace) => UserOpHasher {
  return (place) => hasherAt(place, hashedBytes);
}

function hasherAt({ entryPoint, chainId }: HashPlace, hashedBytes: HashedBytes): UserOpHasher {
  const separator = domainSeparator(entryPoint, chainId);
  const operationType = keccakOfText(
    'PackedUserOperation(address sender,uint256 nonce,bytes initCode,bytes callData,bytes32 accountGasLimits,uint256 preVerificationGas,bytes32 gasFees,bytes paymasterAndData)',
  );
  return (op, paymasterAndData) => {
    const marked = is7702InitCode(op.initCode);
    if (marked && op.eip7702Auth === undefined) return undefined;
    const hashed = hashedBytes(paymasterAndData);
    if (hashed === undefined) return undefined;
    const words = zeroed(9 * 32);
    words.set(operationType, 0);
    writePacked(words, op, hashed, 32);
    if (marked && op.eip7702Auth !== undefined)
      words.set(keccakOfHex(`0x${op.eip7702Auth.address.slice(2)}${op.initCode.slice(42)}`), 96);
    const outer = zeroed(66);
    outer.writeUInt16BE(0x1901, 0);
    outer.set(separator, 2);
    outer.set(keccak256(words), 34);
    return bytesToHex(keccak256(outer));
  };
}

/** EIP-712, for the versions that hash typed data. */
export function domainSeparator(entryPoint: HashPlace['entryPoint'], chainId: number): Uint8Array {
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
