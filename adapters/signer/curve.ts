import { randomBytes } from 'node:crypto';
import type { RecoverAddress } from '../../core/paymaster/signer.js';
import { keccak256 } from '../../core/crypto/keccak.js';
import { bytesToHex } from '../../core/units/hex.js';
import { parseAddress, type Address } from '../../core/units/address.js';
import type { Logger } from '../../core/log.js';

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
function writeRecovery(signature: Uint8Array, recoveryId: number): Uint8Array {
  if (recoveryId > 1) throw new Error(`recovery id ${recoveryId} cannot be written as v 27 or 28`);
  signature[64] = 27 + recoveryId;
  return signature;
}

/** The account of a public key x‖y: the last 20 bytes of its keccak. */
export function deriveAddress(publicKey: Uint8Array): Address {
  return parseAddress(bytesToHex(keccak256(publicKey).subarray(12)));
}

export function recoverWith(curve: Pick<Curve, 'recover'>): RecoverAddress {
  return (digest, signature, yParity) => {
    const publicKey = curve.recover(digest, signature, yParity);
    return publicKey && deriveAddress(publicKey);
  };
}

/**
 * The native library, or wasm where the platform has no native binary: never without a warning, because it costs most of a
 * replica's throughput.
 */
export async function loadCurve(log: Logger, loadNative = loadNativeCurve): Promise<Curve> {
  try {
    return await loadNative();
  } catch {
    log.warn('no native secp256k1 for this platform: signing with wasm, about 2.5 times slower', {
      platform: `${process.platform}-${process.arch}`,
    });
    return loadWasmCurve();
  }
}

/**
 * libsecp256k1 as a native addon, about 40 µs per signature. Rejects when no binary fits this platform; it never falls
 * back to another library.
 */
export async function loadNativeCurve(): Promise<Curve> {
  const { default: secp256k1 } = await import('secp256k1/bindings.js');
  // Blinds the library's internal multiplications against side channels.
  secp256k1.contextRandomize(randomBytes(32));
  return {
    name: 'native',
    isKey: (key) => secp256k1.privateKeyVerify(key),
    publicKey: (key) => secp256k1.publicKeyCreate(key, false).subarray(1),
    sign: (digest, key) => {
      const signature = new Uint8Array(65);
      const { recid } = secp256k1.ecdsaSign(digest, key, {}, signature.subarray(0, 64));
      return writeRecovery(signature, recid);
    },
    recover: (digest, signature, recoveryId) => {
      try {
        return secp256k1.ecdsaRecover(signature, recoveryId, digest, false).subarray(1);
      } catch {
        // The library throws when r is not a point of the curve, or the key would be at infinity.
        return undefined;
      }
    },
  };
}

/** libsecp256k1 as WebAssembly, about 110 µs per signature: for platforms without a native binary. */
export async function loadWasmCurve(): Promise<Curve> {
  const secp256k1 = await import('tiny-secp256k1');
  return {
    name: 'wasm',
    isKey: (key) => secp256k1.isPrivate(key),
    publicKey: (key) => {
      const point = secp256k1.pointFromScalar(key, false);
      if (point === null) throw new RangeError('the key has no public point');
      return point.subarray(1);
    },
    sign: (digest, key) => {
      const { signature, recoveryId } = secp256k1.signRecoverable(digest, key);
      const whole = new Uint8Array(65);
      whole.set(signature);
      return writeRecovery(whole, recoveryId);
    },
    recover: (digest, signature, recoveryId) => {
      // Checked first: when r is not a point of the curve, the library throws instead of answering null.
      if (!secp256k1.isXOnlyPoint(signature.subarray(0, 32))) return undefined;
      return secp256k1.recover(digest, signature, recoveryId, false)?.subarray(1);
    },
  };
}
