import type { EpochMs, EpochSeconds } from '../units/time.js';
import type { EntryCommit } from './held.js';
import { operationOf, type Entry } from './reservations.js';
import { commitMs, openCommitsPerSender, type ReservationKey, type ReserveRequest } from './usage-store.js';

type Committed = Entry & { commit: EntryCommit };

/** Commits of a chain, by sender. */
export class Commits {
  readonly #byParty = new Map<string, Committed[]>();

  /**
   * Adds the commit of an entry, and closes those that it replaces: of another nonce with the same key, and, when the
   * sender has too many, the one that {@link replacedFirst} names. Answers the entries whose commits it has closed.
   */
  open(entry: Entry, now: EpochMs): readonly Entry[] {
    const { key } = entry;
    const live = this.#of(key).filter((other) => other.commit.until > now && other !== entry);
    const closed = live.filter((other) => nonceKeyOf(other.key) === nonceKeyOf(key));
    const kept = live.filter((other) => !closed.includes(other));
    while (kept.length >= openCommitsPerSender) closed.push(...kept.splice(kept.indexOf(firstOf(kept)), 1));
    for (const { commit } of closed) commit.until = now;
    this.add(entry);
    return closed;
  }

  add(entry: Entry): void {
    if (!hasCommit(entry)) return;
    const others = this.#of(entry.key).filter((other) => other !== entry);
    this.#byParty.set(partyOf(entry.key), [...others, entry]);
  }

  remove(entry: Entry): void {
    const others = this.#of(entry.key).filter((other) => other !== entry);
    if (others.length === 0) this.#byParty.delete(partyOf(entry.key));
    else this.#byParty.set(partyOf(entry.key), others);
  }

  /** Entries whose commit is over. */
  *due(now: EpochMs): IterableIterator<Entry> {
    for (const entries of this.#byParty.values())
      for (const entry of entries) if (entry.commit.until <= now) yield entry;
  }

  #of(key: ReservationKey): readonly Committed[] {
    return this.#byParty.get(partyOf(key)) ?? [];
  }
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

/** The commit that gives way first: a signed one, since its promise stays, else the one that ends first. */
function firstOf(open: readonly Committed[]): Committed {
  return open.toSorted(replacedFirst)[0]!;
}

function replacedFirst(a: Committed, b: Committed): number {
  if (a.commit.isSigned !== b.commit.isSigned) return a.commit.isSigned ? -1 : 1;
  if (a.commit.until !== b.commit.until) return a.commit.until - b.commit.until;
  return a.key.nonce < b.key.nonce ? -1 : 1;
}

function hasCommit(entry: Entry): entry is Committed {
  return entry.commit !== undefined;
}

/** The upper 192 bits: nonces of one key are used one after the other. */
function nonceKeyOf({ nonce }: ReservationKey): bigint {
  return nonce >> 64n;
}

function partyOf({ paymasterId, ...key }: ReservationKey): string {
  return `${operationOf({ ...key, nonce: 0n })}/${paymasterId}`;
}
