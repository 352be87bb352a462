import { userOpHash } from '../../core/entry-point/user-op-hash.js';
import type { FinalUserOperation } from '../../core/entry-point/user-operation.js';
import { signatureToTail } from '../../core/paymaster/tail.js';
import type { Hex } from '../../core/units/hex.js';
import { hashPair } from '../../core/usage/operation-hashes.js';
import type { ReservationKey } from '../../core/usage/usage-store.js';
import { keyOf, type Promised } from './reservation.js';

/** Reservations whose last signatures are remembered. */
const most = 1_000;
/** Signatures of one reservation that wait for the next one. */
const mostOfOne = 8;

/** Hex digits of an operation that is kept until then; a larger one is hashed at once. */
const largest = 20_000;

type Noted = { readonly digest: Hex; readonly hashesOf: () => readonly Hex[] };

/**
 * The operation hashes of what this process has signed lately. A hash over a signature is not known when its promise is recorded, so
 * the next promise of the same reservation carries it. It is computed only then: most operations are promised once.
 */
export function createSignedHashes() {
  const noted = new Map<string, readonly Noted[]>();

  return {
    /** `paymasterAndData` was signed for a promise. */
    note(promised: Promised, paymasterAndData: Hex): void {
      const name = nameOf(keyOf(promised));
      const one = notedOf(promised, paymasterAndData);
      const former = noted.get(name) ?? [];
      // The newest last: the oldest are forgotten first.
      noted.delete(name);
      noted.set(name, [...former, one].slice(-mostOfOne));
      const [oldest] = noted.size > most ? noted.keys() : [];
      if (oldest !== undefined) noted.delete(oldest);
    },
    /** As `hashes` of the next promise; undefined when nothing is known. */
    of(promised: Promised): Hex | undefined {
      const pairs = (noted.get(nameOf(keyOf(promised))) ?? []).flatMap(({ digest, hashesOf }) =>
        hashesOf().map((hash) => hashPair(digest, hash)),
      );
      return pairs.length === 0 ? undefined : `0x${pairs.join('')}`;
    },
    /** They are recorded. */
    forget(promised: Promised): void {
      noted.delete(nameOf(keyOf(promised)));
    },
  };
}

export type SignedHashes = ReturnType<typeof createSignedHashes>;

function nameOf({ paymasterId, entryPoint, sender, nonce }: ReservationKey): string {
  return `${paymasterId}/${entryPoint}/${sender}/${nonce}`;
}

function notedOf({ promise, op, profile, paymaster }: Promised, paymasterAndData: Hex): Noted {
  const { entryPoint, entryPointVersion: version } = profile;
  // Anyone who mines it may move the signature to the tail.
  const forms = profile.readsTail
    ? [paymasterAndData, signatureToTail(paymasterAndData)]
    : [paymasterAndData];
  const hashesOf = (): readonly Hex[] =>
    forms.flatMap((data) => userOpHash(op, data, { version, entryPoint, chainId: paymaster.chainId }) ?? []);
  const known = sizeOf(op) > largest ? hashesOf() : undefined;
  return { digest: promise.digest, hashesOf: () => known ?? hashesOf() };
}

function sizeOf({ initCode, callData }: FinalUserOperation): number {
  return initCode.length + callData.length;
}
