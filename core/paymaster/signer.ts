import { keccak256, personalMessage } from '../crypto/keccak.js';
import { DomainError } from '../errors.js';
import type { Address } from '../units/address.js';

/**
 * Port: signs 32-byte digests with one secp256k1 key (low s). The digest is final: the EIP-191 prefix is already in it. A signer
 * gets all items of one event-loop turn together, so that a native one runs a tight loop. Each item ends by itself: one that fails
 * fails no other, and one that takes long delays no other. The key itself never leaves the implementation and is never printed.
 */
export type Signer = {
  readonly address: Address;
  /** For logs and metrics: `native`, `wasm`, or the kind of a remote one. */
  readonly implementation: string;
  /** Why it cannot sign now, for people; undefined, or absent: nothing is known against it. */
  trouble?(): string | undefined;
  /** How each item ended, in the same order. Synchronous if the key is in this process. */
  sign(items: readonly SigningItem[]): readonly (Signing | Promise<Signing>)[];
};

/**
 * The digest is the keccak of `preImage`, which a remote signer takes if it does not sign digests. `share` names who asks: a remote
 * signer gives one of them at most a part of its calls.
 */
export type SigningItem = {
  readonly digest: Uint8Array;
  readonly preImage: Uint8Array;
  readonly share?: string;
};

/** `unsigned`: certainly no signature exists. `unknown`: one may exist, for example when a remote signer did not answer in time. */
export type Signing =
  /** 65 bytes r‖s‖v, v 27 or 28. */
  | { readonly outcome: 'signed'; readonly signature: Uint8Array }
  | { readonly outcome: 'unsigned' | 'unknown'; readonly error: unknown };

export function signingItem(preImage: Uint8Array): SigningItem {
  return { digest: keccak256(preImage), preImage };
}

/** What a wallet signs for these 32 bytes (EIP-191). */
export function personalItem(hash: Uint8Array): SigningItem {
  return signingItem(personalMessage(hash));
}

/** Throws UNAVAILABLE without a signature. */
export async function signOne(signer: Signer, item: SigningItem): Promise<Uint8Array> {
  const [signed] = signer.sign([item]);
  return requireSignature(
    (await signed) ?? { outcome: 'unknown', error: new Error('the signer did not answer') },
  );
}

/** Throws UNAVAILABLE without a signature. */
export function requireSignature(signed: Signing): Uint8Array {
  if (signed.outcome === 'signed') return signed.signature;
  throw new DomainError('UNAVAILABLE', 'The signer did not answer: try again.', {
    reason: 'SIGNER_UNAVAILABLE',
    retryAfterSeconds: 1,
    cause: signed.error,
  });
}

/** The account that signed a 32-byte digest with r‖s (64 bytes); undefined when no account can have signed it. */
export type RecoverAddress = (
  digest: Uint8Array,
  signature: Uint8Array,
  yParity: 0 | 1,
) => Address | undefined;

/** `get` finds the signer of a profile by the key's file name; undefined when that key is missing. */
export type Signers = {
  get(file: string): Signer | undefined;
  /** What is wrong with the file of that name, for people; undefined when it is good or missing. */
  problem?(file: string): string | undefined;
  /** The place in which to put a missing key, for the text of a condition; absent: the signer directory. */
  readonly place?: string;
  /**
   * Recovers the account that signed, with the same library: callers can trigger this, and it costs forty times as
   * much in JavaScript.
   */
  readonly recover: RecoverAddress;
};
