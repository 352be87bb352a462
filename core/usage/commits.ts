import type { EpochMs, EpochSeconds } from '../units/time.js';
import type { EntryCommit } from './held.js';
import type { Entry } from './reservations.js';
import { commitMs, openCommitsPerSender, type ReservationKey } from './reservation.js';
import type { ReserveRequest } from './reserve-request.js';

type Committed = Entry & { commit: EntryCommit };

/**
 * Closes the commits that the new one of `entry` replaces, among those of its sender: of another nonce with the same key,
 * and, when the sender has too many, the one that gives way first. Answers the entries whose commits it has closed.
 */
export function closeReplaced(entry: Entry, ofSender: readonly Entry[], now: EpochMs): readonly Entry[] {
  const live = ofSender.filter((other) => other !== entry).filter(hasCommit);
  const open = live.filter(({ commit }) => commit.until > now);
  const closed = open.filter((other) => toNonceKey(other.key) === toNonceKey(entry.key));
  const kept = open.filter((other) => !closed.includes(other)).toSorted(replacedFirst);
  while (kept.length >= openCommitsPerSender) closed.push(kept.shift()!);
  for (const { commit } of closed) commit.until = now;
  return closed;
}

/**
 * Whether a request has the commit that it needs. A finalize needs the last commit of its operation, in time, with the same
 * commitment; once that is signed, also the promise that was made for it.
 */
export function isFinalizable(
  { phase, promise }: ReserveRequest,
  former: Entry | undefined,
  now: EpochMs,
): boolean {
  if (phase?.kind !== 'finalize') return true;
  const { commit, promises = [] } = former ?? {};
  if (commit?.commitment !== phase.commitment || now >= commit.until) return false;
  return !commit.isSigned || promises.some(({ digest }) => digest === promise.digest);
}

/** The end of a commit that is made now. */
export function commitUntil(now: EpochMs, validUntil: EpochSeconds): EpochMs {
  return Math.min(now + commitMs, validUntil * 1000) as EpochMs;
}

/** A signed commit gives way first, since its promise stays; else the one that ends first. */
function replacedFirst(a: Committed, b: Committed): number {
  if (a.commit.isSigned !== b.commit.isSigned) return a.commit.isSigned ? -1 : 1;
  if (a.commit.until !== b.commit.until) return a.commit.until - b.commit.until;
  return a.key.nonce < b.key.nonce ? -1 : 1;
}

function hasCommit(entry: Entry): entry is Committed {
  return entry.commit !== undefined;
}

/** The upper 192 bits: nonces of one key are used one after the other. */
function toNonceKey({ nonce }: ReservationKey): bigint {
  return nonce >> 64n;
}
