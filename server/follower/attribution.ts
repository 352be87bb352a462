import type { TokenCharge } from '../../core/paymaster/layout.js';
import type { TokensOwed } from '../../core/paymaster/token-charge.js';
import type { Reading } from '../../core/paymaster/recognise.js';
import { digestsBy } from '../../core/usage/operation-hashes.js';
import type { Mode, Reservation } from '../../core/usage/reservation.js';
import type { AddressKey } from '../../core/units/address.js';
import type { Hex } from '../../core/units/hex.js';
import type { MinedOperation } from './mined.js';

/** What the chain says about one mined operation besides its event, as far as we asked. */
export type Evidence = {
  readonly bytes: Bytes;
  /** Funding wallet that the contract's own event names as the payer. */
  readonly payer?: AddressKey;
  /** The mode that the contract's own event names. */
  readonly mode?: Mode;
  /** Whether the contract's own events say that it was charged in tokens; undefined if that is not known. */
  readonly tokenPaid?: boolean;
  /** The charge that the contract's own events show. */
  readonly charge?: TokenCharge;
  /** Tokens that the contract's own event says are owed. */
  readonly owed?: TokensOwed;
  /** Wei that the contract's own event says it took from the payer's balance. */
  readonly taken?: bigint;
};

/** What the operation's bytes say about the promise that it carries. */
export type Bytes =
  /** The bytes were not read, the call went through another contract, or the data have a form that we never write. */
  | { readonly outcome: 'unreadable' }
  /** The contract takes such data without a signature. */
  | { readonly outcome: 'unsigned' }
  /** Read by the contract's own layout: the operation carries one of these promises and no other. */
  | { readonly outcome: 'read'; readonly readings: readonly Reading[] }
  /**
   * Read by every known layout, since no profile names the contract any longer. `remembered`: read by the layout that a former
   * profile gave the contract, if this process has seen that profile.
   */
  | {
      readonly outcome: 'guessed';
      readonly readings: readonly Reading[];
      readonly remembered: readonly Reading[];
    };

/** The rules for bytes that cannot be read err on the safe side. */
export const unreadable: Bytes = { outcome: 'unreadable' };
export const nothingAsked: Evidence = { bytes: unreadable };

/** A promise that a mined operation may have carried. Without a digest it is a summary of several older promises of one mode. */
export type Candidate = {
  readonly reservation: Reservation;
  readonly mode: Mode;
  readonly prefundWei: bigint;
  readonly digest: Hex | undefined;
  /** The wallet that is charged, as far as it is known. */
  readonly wallet: AddressKey | undefined;
};

/** Every promise for this operation on the contract that paid for it. */
export function listCandidates(
  operation: MinedOperation,
  reservations: readonly Reservation[],
): readonly Candidate[] {
  return reservations.flatMap((reservation) => [
    ...reservation.promises
      .filter(({ contract }) => contract === operation.paymaster)
      .map(({ mode, prefundWei, digest, fundingAddress: wallet }) => ({
        reservation,
        mode,
        prefundWei,
        digest,
        wallet,
      })),
    ...reservation.folded
      .filter(({ contract }) => contract === operation.paymaster)
      .map(({ mode, prefundWei }) => ({
        reservation,
        mode,
        prefundWei,
        digest: undefined,
        wallet: undefined,
      })),
  ]);
}

/**
 * The promises that a mined operation may have come from: one if possible, none when nobody here has promised the operation.
 *
 * A single candidate is the promise, whatever its userOpHash is, since padding changes it. Among several candidates a hash that was
 * recorded proves one. Otherwise the digest of the operation's bytes decides: they are read as the EntryPoint and the contract read them.
 * Older promises have no digest; mode, wallet and the EntryPoint's prefund decide among those. When the bytes cannot be read, or may have
 * any layout, a promise whose prefund is below the cost is ruled out, and the contract's own events decide, as far as they are there.
 */
export function attribute(
  operation: MinedOperation,
  candidates: readonly Candidate[],
  evidence: Evidence,
): readonly Candidate[] {
  if (candidates.length < 2) return candidates;
  const hashed = hashedAs(operation, candidates);
  if (hashed.length > 0) return hashed;
  const { bytes } = evidence;
  const able = candidates.filter(({ prefundWei }) => prefundWei >= operation.actualGasCost);
  switch (bytes.outcome) {
    case 'unsigned':
      return [];
    case 'read':
      return preferred(provenBy(candidates, bytes), () => folded(able, bytes.readings));
    case 'guessed':
      return preferred(provenBy(candidates, bytes), () =>
        preferred(folded(able, bytes.remembered), () => byEvents(able, evidence)),
      );
    case 'unreadable':
      return byEvents(able, evidence);
  }
}

/** `exact`: the candidates that the operation's digest proves. `possible`: those that it may have come from, without that proof. */
export function attributeExactly(
  operation: MinedOperation,
  candidates: readonly Candidate[],
  bytes: Bytes,
): { readonly exact: readonly Candidate[]; readonly possible: readonly Candidate[] } {
  if (bytes.outcome === 'unsigned') return { exact: [], possible: [] };
  const hashed = hashedAs(operation, candidates);
  if (hashed.length > 0) return { exact: hashed, possible: [] };
  const able = candidates.filter(({ prefundWei }) => prefundWei >= operation.actualGasCost);
  const possible = bytes.outcome === 'read' ? folded(able, bytes.readings) : able;
  return { exact: provenBy(candidates, bytes), possible };
}

/** The candidates that the operation's hash proves, where one was recorded. A hash that matches nothing says nothing. */
export function hashedAs(
  { userOpHash }: Pick<MinedOperation, 'userOpHash'>,
  candidates: readonly Candidate[],
): readonly Candidate[] {
  return candidates.filter(
    ({ digest, reservation }) =>
      digest !== undefined && digestsBy(userOpHash, reservation.promises).includes(digest),
  );
}

/** The candidates that the operation's bytes prove: two paymasters may have signed the same. */
export function provenBy(candidates: readonly Candidate[], bytes: Bytes): readonly Candidate[] {
  return bytes.outcome === 'read' || bytes.outcome === 'guessed'
    ? withDigest(candidates, bytes.readings)
    : [];
}

function withDigest(candidates: readonly Candidate[], readings: readonly Reading[]): readonly Candidate[] {
  return candidates.filter(({ digest }) => readings.some((reading) => reading.digest === digest));
}

function folded(able: readonly Candidate[], readings: readonly Reading[]): readonly Candidate[] {
  return able.filter(
    ({ digest, mode, reservation }) =>
      digest === undefined &&
      readings.some(
        ({ mode: read, fundingAddress }) => read === mode && mayDrawOn(reservation, fundingAddress),
      ),
  );
}

/** Events are the contract's own statement, and some layouts emit none: events that match no candidate decide nothing. */
function byEvents(able: readonly Candidate[], { payer, mode, tokenPaid }: Evidence): readonly Candidate[] {
  const served = mode ?? (tokenPaid === true ? 'ERC20' : undefined);
  const inMode = preferred(
    able.filter((candidate) => candidate.mode === served),
    () => able,
  );
  if (payer === undefined) return inMode;
  const byPayer = inMode.filter(({ reservation, wallet }) =>
    wallet === undefined ? mayDrawOn(reservation, payer) : wallet === payer,
  );
  return preferred(byPayer, () => inMode);
}

function preferred(
  candidates: readonly Candidate[],
  others: () => readonly Candidate[],
): readonly Candidate[] {
  return candidates.length > 0 ? candidates : others();
}

function mayDrawOn({ accounts }: Reservation, wallet: AddressKey | undefined): boolean {
  return wallet === undefined || accounts.some(({ fundingAddress }) => fundingAddress === wallet);
}
