import type { RecoverAddress } from '../../core/paymaster/signer.js';
import { keccak256 } from '../../core/crypto/keccak.js';
import { bytesToHex } from '../../core/units/hex.js';
import { parseAddress, type Address } from '../../core/units/address.js';

/** secp256k1 of one library. Deterministic (RFC 6979) with low s, so all libraries produce the same bytes. */
export type Curve = {
  /** For logs and metrics. */
  readonly name: 'native' | 'wasm';
  /** True for a key in 1…n-1. */
  isKey(key: Uint8Array): boolean;
  /** 64 bytes x‖y. */
  publicKey(key: Uint8Array): Uint8Array;
  /** 65 bytes r‖s‖v, v 27 or 28. */
  sign(digest: Uint8Array, key: Uint8Array): Uint8Array;
  /** 64 bytes x‖y of the key that signed by r‖s (64 bytes, each in 1…n-1); undefined when no key can have signed. */
  recover(digest: Uint8Array, signature: Uint8Array, recoveryId: 0 | 1): Uint8Array | undefined;
};

/**
 * Appends v to r‖s. Recovery ids 2 and 3 mean r above the order: no contract accepts them and no signer will ever see
 * them.
 */
export function writeRecovery(signature: Uint8Array, recoveryId: number): Uint8Array {
  if (recoveryId > 1) throw new Error(`recovery id ${recoveryId} cannot be written as v 27 or 28`);
  signature[64] = 27 + recoveryId;
  return signature;
}

/** The account of a public key x‖y: the last 20 bytes of its keccak. */
export function addressOf(publicKey: Uint8Array): Address {
  return parseAddress(bytesToHex(keccak256(publicKey).subarray(12)));
}

export function recoverWith(curve: Pick<Curve, 'recover'>): RecoverAddress {
  return (digest, signature, yParity) => {
    const publicKey = curve.recover(digest, signature, yParity);
    return publicKey && addressOf(publicKey);
  };
}
