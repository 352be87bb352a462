import { keccak256 } from '../crypto/keccak.js';
import { operationWordsPacked } from '../entry-point/packed.js';
import { hashedPaymasterAndData } from '../entry-point/paymaster-signature.js';
import type { FinalUserOperation } from '../entry-point/user-operation.js';
import { bytesToHex, hexToBytes, type Hex } from '../units/hex.js';

/**
 * Identifies what a commit has decided about, as 32 bytes: the words that EntryPoint 0.9 hashes (so everything but the
 * signatures of account and paymaster), what the paymaster will sign, and the EIP-7702 authorization. EntryPoint and
 * chain are part of the reservation's key. `digest` is the 16 bytes of {@link digestOf}.
 */
export function computeCommitment(op: FinalUserOperation, paymasterAndData: Hex, digest: Hex): Hex {
  const hashed = hashedPaymasterAndData(paymasterAndData);
  if (hashed === undefined) throw new RangeError('the paymaster signature is longer than its data');
  const { eip7702Auth: auth } = op;
  const authorization =
    auth === undefined
      ? ''
      : [auth.address, auth.chainId, auth.nonce, auth.r, auth.s, auth.yParity].map(String).join(' ');
  return bytesToHex(
    keccak256(
      Buffer.concat([operationWordsPacked(op, hashed), hexToBytes(digest), Buffer.from(authorization)]),
    ),
  );
}
