import { keccak256 } from '../../crypto/keccak.js';
import { userOperation07, userOperation07Values } from '../../entry-point/packed.js';
import type { FinalUserOperation } from '../../entry-point/user-operation.js';
import { writeAccountGasLimits, writeGasFees, writeIdentity } from '../../entry-point/words.js';
import { bytesToHex, type Hex } from '../../units/hex.js';
import { writeUint256, zeroed } from '../../units/words.js';
import { encodeCall } from '../abi.js';

/** The byte after the head of `paymasterAndData`. */
export const modes = { sponsored: 0, token: 1 } as const;

/**
 * `getHash` of both modes: keccak of ten words: sender, nonce, keccak(initCode), keccak(callData), accountGasLimits,
 * preVerificationGas, gasFees, keccak(`unsigned`), chainId, paymaster. `unsigned` is `paymasterAndData` up to the
 * signature.
 */
export function hashToSign(op: FinalUserOperation, unsigned: Buffer, chainId: number): Uint8Array {
  const words = zeroed(10 * 32);
  writeIdentity(words, op, 0);
  writeAccountGasLimits(words, op, 128);
  writeUint256(words, op.preVerificationGas, 160);
  writeGasFees(words, op, 192);
  words.set(keccak256(unsigned), 224);
  writeUint256(words, BigInt(chainId), 256);
  words.set(unsigned.subarray(0, 20), 288 + 12);
  return keccak256(words);
}

export function getHashCall(op: FinalUserOperation, unsigned: Buffer): Hex {
  return encodeCall(`function getHash(${userOperation07} userOp)`, [
    userOperation07Values(op, bytesToHex(unsigned)),
  ]);
}

/**
 * The EntryPoint's fine on postOp gas that was not used, which it takes after postOp: the contract charges it in full,
 * and none up to 40,000 gas.
 */
export function postOpFineGas(postOpGasLimit: bigint): bigint {
  return postOpGasLimit > 40_000n ? (postOpGasLimit + 9n) / 10n : 0n;
}
