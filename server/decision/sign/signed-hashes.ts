import { userOpHasher } from '../../../core/entry-point/user-op-hash.js';
import { signatureToTail } from '../../../core/paymaster/tail.js';
import type { Hex } from '../../../core/units/hex.js';
import { hashPair } from '../../../core/usage/operation-hashes.js';
import type { ServedProfile } from '../../view/served-chain.js';
import type { Promised } from '../reservation.js';

/** So many reservations, and those before them up to as many, are remembered with their last signatures. */
const most = 500;
/** Signatures of one reservation that wait for the next one. */
const maxOfOne = 8;

type Noted = { readonly digest: Hex; readonly hashes: readonly Hex[] };

/**
 * The hashes of operations that this process has signed lately. A hash over a signature is not known when its promise is recorded, so
 * the next promise of the same reservation carries it. Most operations are promised once, and hashing is still cheaper than keeping
 * them: kept operations outlive the young generation, and the garbage collector took three times as long for them.
 */
export function createSignedHashes() {
  // Two maps, of which the older one is forgotten as a whole: to find the oldest name in one map takes longer with every deletion.
  let newer = new Map<string, readonly Noted[]>();
  let older = new Map<string, readonly Noted[]>();
  const find = (name: string): readonly Noted[] | undefined => newer.get(name) ?? older.get(name);

  function putNoted(name: string, noted: readonly Noted[]): void {
    newer.set(name, noted);
    if (newer.size < most) return;
    older = newer;
    newer = new Map();
  }

  function note(name: string, promised: Promised, paymasterAndData: Hex): void {
    const one = toNoted(promised, paymasterAndData);
    const former = find(name);
    putNoted(name, former === undefined ? [one] : [...former, one].slice(-maxOfOne));
  }

  function forget(name: string, recorded: readonly Noted[]): void {
    const left = (find(name) ?? []).filter((one) => !recorded.includes(one));
    if (left.length > 0) return putNoted(name, left);
    newer.delete(name);
    older.delete(name);
  }

  return {
    /** Those of the reservation that a promise will be part of. Asked for each signature: its name is made once. */
    of(promised: Promised): HashesOfReservation {
      const name = promiseKey(promised);
      const known = find(name);
      return {
        hashes: known && encodeHashes(known),
        recorded: () => known && forget(name, known),
        note: (paymasterAndData) => note(name, promised, paymasterAndData),
      };
    },
  };
}

export type SignedHashes = ReturnType<typeof createSignedHashes>;

type HashesOfReservation = {
  /** As `hashes` of its next promise; undefined when nothing is known. */
  readonly hashes: Hex | undefined;
  /** That promise is recorded, so `hashes` need not be recorded again. */
  recorded(): void;
  /** `paymasterAndData` was signed for that promise. */
  note(paymasterAndData: Hex): void;
};

/** What depends on the profile alone is hashed once. */
const hashers = new WeakMap<ServedProfile, ReturnType<typeof userOpHasher>>();

function ensureHasher(profile: ServedProfile, chainId: number): ReturnType<typeof userOpHasher> {
  const known = hashers.get(profile);
  if (known !== undefined) return known;
  const { entryPoint, entryPointVersion: version } = profile;
  const hasher = userOpHasher({ version, entryPoint, chainId });
  hashers.set(profile, hasher);
  return hasher;
}

function promiseKey({ paymaster, profile, op }: Promised): string {
  return `${op.nonce.toString(16)}/${op.sender}/${profile.entryPointKey}/${paymaster.paymasterId}`;
}

function encodeHashes(noted: readonly Noted[]): Hex | undefined {
  const pairs = noted.flatMap(({ digest, hashes }) => hashes.map((hash) => hashPair(digest, hash)));
  return pairs.length === 0 ? undefined : `0x${pairs.join('')}`;
}

function toNoted({ promise, op, profile, paymaster }: Promised, paymasterAndData: Hex): Noted {
  // Anyone who mines it may move the signature to the tail.
  const forms = profile.readsTail
    ? [paymasterAndData, signatureToTail(paymasterAndData)]
    : [paymasterAndData];
  const hash = ensureHasher(profile, paymaster.chainId);
  const hashes = forms.flatMap((data) => hash(op, data) ?? []);
  return { digest: promise.digest, hashes };
}
