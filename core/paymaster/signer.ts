import type { Address } from '../units/address.js';

/**
 * Port: signs 32-byte digests with one secp256k1 key (RFC 6979, low s). The digest is final: the EIP-191 prefix is
 * already in it. A signer gets all digests of one event-loop turn together, so that a remote signer needs one round
 * trip and a native one runs a tight loop. The key itself never leaves the implementation and is never printed.
 */
export type Signer = {
  readonly address: Address;
  /** For logs and metrics: `native`, `wasm`, … */
  readonly implementation: string;
  /** One signature per digest, in the same order: 65 bytes r‖s‖v, v 27 or 28. Synchronous if the key is local. */
  sign(digests: readonly Uint8Array[]): readonly Uint8Array[] | Promise<readonly Uint8Array[]>;
};

/** The account that signed a 32-byte digest with r‖s (64 bytes); undefined when no account can have signed it. */
export type RecoverAddress = (
  digest: Uint8Array,
  signature: Uint8Array,
  yParity: 0 | 1,
) => Address | undefined;

/** `get` finds the signer of a profile by the key's file name; undefined when that key is missing. */
export type Signers = {
  get(file: string): Signer | undefined;
  /** The place in which to put a missing key, for the text of a condition; absent: the signer directory. */
  readonly place?: string;
  /**
   * Recovers the account that signed, with the same library: callers can trigger this, and it costs forty times as
   * much in JavaScript.
   */
  readonly recover: RecoverAddress;
};
