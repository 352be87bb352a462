import type { Address } from '../units/address.js';

/**
 * Port: signs 32-byte digests with one secp256k1 key (RFC 6979, low s). The digest is final: EIP-191 prefixing has
 * happened. Signers are given all digests of an event-loop turn at once, so that a remote signer pays one round trip
 * and a native one runs a tight loop. The key itself never leaves the implementation and is never printed.
 */
export type Signer = {
  readonly address: Address;
  /** For logs and metrics: `native`, `wasm`, … */
  readonly implementation: string;
  /** 65 bytes r‖s‖v each, v 27 or 28, in the order of the digests. Synchronous where the key is local. */
  sign(digests: readonly Uint8Array[]): readonly Uint8Array[] | Promise<readonly Uint8Array[]>;
};

/** The account that signed a 32-byte digest by r‖s (64 bytes); undefined when nobody can have. */
export type RecoverAddress = (
  digest: Uint8Array,
  signature: Uint8Array,
  yParity: 0 | 1,
) => Address | undefined;

/** `get` finds the signer of a profile by the file name that it gives; undefined when there is no such key. */
export type Signers = {
  get(file: string): Signer | undefined;
  /** Where somebody puts a key that is missing, as a condition names it; absent: the signer directory. */
  readonly place?: string;
  /** Who signed, by the same library: a caller can have this computed, and it costs forty times as much in JavaScript. */
  readonly recover: RecoverAddress;
};
