import type { EpochMs } from '../units/time.js';
import type { Account, Accounts } from './accounts.js';
import { closeReplaced, commitUntil } from './commits.js';
import type { Counter, Counters } from './counters.js';
import type { RequestRows } from './decide.js';
import { findHeld, raiseRate, type Held, type HeldLimit } from './held.js';
import { joinPromises, withPromise } from './promises.js';
import {
  entryFrom,
  partFrom,
  partyName,
  reservationName,
  toReservation,
  type Entry,
} from './reservations.js';
import type { RowChanges, RowSource } from './rows.js';
import {
  ceilSeconds,
  lastMoment,
  amountsOfPromise,
  raiseSignedPart,
  signedPart,
  trim,
} from './signed-part.js';
import type { Taken } from './unit.js';
import type { Reservation, ReservationKey } from './reservation.js';
import type { ReserveRequest } from './reserve-request.js';

const nothingFolded: Entry['folded'] = [];
const noPromises: Entry['promises'] = [];
/** If the clock is set back by less than this, every counter is still there. */
export const graceMs = 600_000;

/**
 * The reservations of a turn. What they hold is always what counters and accounts have as reserved.
 *
 * `committed`: a commit and no promise. `promised`: promises and no commit. `both`: promises, and a commit whose promise was not made
 * yet. `finalized`: promises, that of the commit among them. What is not drawn is refused, or leaves the state as it is.
 *
 *     none      ── reserve, restore ───────────────────────► promised
 *     none      ── commit ─────────────────────────────────► committed
 *     committed ── finalize ───────────────────────────────► finalized
 *     committed ── reserve, restore ───────────────────────► both
 *     committed ── dropCommits, settle, release, forfeit ──► none
 *     promised  ── commit ─────────────────────────────────► both
 *     promised  ── takeBack, settle, release, forfeit ─────► none
 *     both      ── finalize ───────────────────────────────► finalized
 *     both      ── dropCommits ────────────────────────────► promised
 *     both      ── settle, release, forfeit ───────────────► none
 *     finalized ── commit ─────────────────────────────────► both
 *     finalized ── dropCommits ────────────────────────────► promised
 *     finalized ── settle, release, forfeit ───────────────► none
 *
 * `reserve`, `commit` and `finalize` are requests ({@link Entries.take}); a step of the follower settles, releases, forfeits and
 * restores (`apply-step.ts`). `takeBack` ends a reservation with its last promise, and `dropCommits` is for commits that are over,
 * by their time or by a newer commit of their sender (`closeReplaced`).
 */
export class Entries {
  readonly #rows: RowSource;
  readonly #counters: Counters;
  readonly #accounts: Accounts;
  readonly #lookup: { readonly counters: Counters; readonly accounts: Accounts };
  readonly #forgotten: (until: number) => void;
  readonly #entries = new Map<string, Entry | undefined>();

  /** `forgotten` is called with windows whose use is lost. */
  constructor(
    rows: RowSource,
    lookup: { readonly counters: Counters; readonly accounts: Accounts },
    forgotten: (until: number) => void,
  ) {
    this.#rows = rows;
    this.#lookup = lookup;
    this.#counters = lookup.counters;
    this.#accounts = lookup.accounts;
    this.#forgotten = forgotten;
  }

  find(key: ReservationKey): Entry | undefined {
    const name = reservationName(key);
    if (this.#entries.has(name)) {
      const known = this.#entries.get(name);
      return known?.isEnded === true ? undefined : known;
    }
    const row = this.#rows.reservation(key);
    const entry = row === undefined ? undefined : entryFrom(row, this.#lookup);
    this.#entries.set(name, entry);
    return entry;
  }

  /** Ends a reservation and frees what it held. */
  end(entry: Entry): void {
    for (const { of, amount } of entry.limits) this.#counters.unhold(of, amount);
    for (const { of, amount } of entry.holds) this.#counters.unhold(of, amount);
    for (const { of, amount } of entry.accounts) this.#accounts.unhold(of, amount);
    entry.isEnded = true;
    entry.isChanged = true;
  }

  /** Frees what these reservations' commits hold that are over, and answers how many of them were never finalized. */
  dropCommits(keys: readonly ReservationKey[], now: EpochMs): number {
    let unfinished = 0;
    for (const key of keys) {
      const entry = this.find(key);
      if (entry?.commit === undefined || entry.commit.until > now) continue;
      if (!entry.commit.isSigned) unfinished += 1;
      this.keepSigned(entry);
    }
    return unfinished;
  }

  /** Takes the commit from an entry. False: nothing was signed, and the entry has ended. */
  keepSigned(entry: Entry): boolean {
    const { commit } = entry;
    if (commit === undefined) return true;
    const { signed } = commit;
    if (signed === undefined) {
      this.end(entry);
      return false;
    }
    entry.commit = undefined;
    trim(entry.limits, signed.limits, this.#counters);
    trim(entry.holds, signed.holds, this.#counters);
    trim(entry.accounts, signed.accounts, this.#accounts);
    entry.validUntil = signed.validUntil;
    entry.isChanged = true;
    return true;
  }

  /** Makes a reservation live whatever the thresholds say, and joins it with the one that the operation already has. */
  restore(reservation: Reservation): void {
    const { key, promises, folded, validUntil } = reservation;
    const entry = this.find(key) ?? this.#keep(emptyEntry(key, validUntil));
    // Promises made since then are newer.
    Object.assign(entry, joinPromises({ promises, folded }, entry));
    entry.recordId = smaller(entry.recordId, reservation.recordId);
    for (const limit of reservation.limits) {
      const counter = this.#counters.of(limit);
      this.#counters.extend(counter, limit.until);
      this.#holdLimit(entry.limits, counter, limit);
    }
    for (const hold of reservation.holds) this.#hold(entry.holds, this.#counters.of(hold), hold.cost);
    for (const share of reservation.accounts) this.#need(entry, this.#accounts.of(share), share.need);
    if (entry.commit !== undefined)
      entry.commit.signed = raiseSignedPart(entry.commit.signed, partFrom(reservation, this.#lookup));
    if (reservation.commit !== undefined) {
      const { signed, ...commit } = reservation.commit;
      entry.commit = { ...commit, signed: signed === undefined ? undefined : partFrom(signed, this.#lookup) };
    }
    if (validUntil > entry.validUntil) entry.validUntil = validUntil;
    entry.isChanged = true;
  }

  /** Rows to store and keys to delete. */
  changed(): Pick<RowChanges, 'reservations' | 'ended'> {
    const changed = [...this.#entries.values()].filter((entry): entry is Entry => entry?.isChanged === true);
    return {
      reservations: changed.filter(({ isEnded }) => !isEnded).map(toReservation),
      ended: changed.filter(({ isEnded }) => isEnded).map(({ key }) => key),
    };
  }

  /** Makes the reservation of a request that was decided, or joins it with the one that the operation has. */
  take(request: ReserveRequest, former: Entry | undefined, found: RequestRows, now: EpochMs): Entry {
    const { promise, limits, holds, accounts, phase } = request;
    const ofSender = phase?.kind === 'commit' ? this.#committed(request.key) : [];
    for (let i = 0; i < limits.length; i++) {
      const { until, keptUntil = until } = limits[i]!.window;
      this.#counters.extend(found.limits[i]!, keptUntil);
    }
    if (former === undefined) return this.#add(request, found, ofSender, now);
    this.#dropEnded(former, now);
    if (phase?.kind === 'commit') {
      const signed = former.commit === undefined ? signedPart(former) : former.commit.signed;
      const until = commitUntil(now, promise.validUntil);
      former.commit = { commitment: phase.commitment, until, isSigned: false, signed };
    } else {
      Object.assign(former, withPromise(former, promise));
      if (former.commit !== undefined) {
        former.commit.signed = raiseSignedPart(former.commit.signed, amountsOfPromise(request, found));
        if (phase !== undefined) former.commit.isSigned = true;
      }
    }
    for (let i = 0; i < limits.length; i++) this.#holdLimit(former.limits, found.limits[i]!, limits[i]!);
    for (let i = 0; i < holds.length; i++) this.#hold(former.holds, found.holds[i]!, holds[i]!.cost);
    for (let i = 0; i < accounts.length; i++) this.#need(former, found.accounts[i]!, accounts[i]!.need);
    const last = lastMoment(request, former);
    if (last > former.validUntil) former.validUntil = last;
    former.isChanged = true;
    if (phase?.kind === 'commit') closeOthers(former, ofSender, now);
    return former;
  }

  #add(request: ReserveRequest, found: RequestRows, ofSender: readonly Entry[], now: EpochMs): Entry {
    const { key, promise, phase } = request;
    const commit =
      phase === undefined
        ? undefined
        : {
            commitment: phase.commitment,
            until: commitUntil(now, promise.validUntil),
            isSigned: false,
            signed: undefined,
          };
    const { validUntil, ...amounts } = amountsOfPromise(request, found);
    const entry: Entry = this.#keep({
      key,
      promises: phase === undefined ? [promise] : noPromises,
      folded: nothingFolded,
      validUntil: commit === undefined ? validUntil : ceilSeconds(commit.until),
      ...amounts,
      commit,
      recordId: undefined,
      isChanged: true,
      isEnded: false,
    });
    for (const { of, amount } of entry.limits) this.#counters.hold(of, amount);
    for (const { of, amount } of entry.holds) this.#counters.hold(of, amount);
    for (const { of, amount } of entry.accounts) this.#accounts.hold(of, amount);
    if (commit !== undefined) closeOthers(entry, ofSender, now);
    return entry;
  }

  /** Entries of a sender that have a commit, those of this turn included. */
  #committed(key: ReservationKey): readonly Entry[] {
    for (const row of this.#rows.committed(key)) this.find(row.key);
    const party = partyName(key);
    const live = [...this.#entries.values()].filter((entry) => entry !== undefined && !entry.isEnded);
    return live.filter(
      (entry): entry is Entry => entry?.commit !== undefined && partyName(entry.key) === party,
    );
  }

  /**
   * Removes limits whose windows are over, because nothing can be spent from those any longer. Otherwise an operation
   * that gets new promises for weeks would hold one more limit with every window.
   */
  #dropEnded({ limits, commit }: Entry, now: EpochMs): void {
    const before = now - graceMs;
    const ended = limits.filter(({ of }) => of.until <= before);
    if (ended.length === 0) return;
    this.#forgotten(before);
    limits.splice(0, limits.length, ...limits.filter(({ of }) => of.until > before));
    const { signed } = commit ?? {};
    if (signed !== undefined) signed.limits = signed.limits.filter(({ of }) => of.until > before);
    for (const { of, amount } of ended) this.#counters.unhold(of, amount);
  }

  /** Raises the held amount to the larger one, since the earlier signature stays valid. */
  #hold(held: Held<Counter>[], counter: Counter, cost: number): void {
    const known = findHeld(held, counter);
    if (known === undefined) {
      held.push({ of: counter, amount: cost });
      this.#counters.hold(counter, cost);
    } else if (cost > known.amount) {
      this.#counters.raise(counter, cost - known.amount);
      known.amount = cost;
    }
  }

  #holdLimit(held: HeldLimit[], counter: Counter, taken: Taken): void {
    this.#hold(held, counter, taken.cost);
    raiseRate(findHeld<Counter>(held, counter)!, taken.rate);
  }

  #need({ accounts }: Entry, account: Account, need: number): void {
    const known = findHeld(accounts, account);
    if (known === undefined) {
      accounts.push({ of: account, amount: need });
      this.#accounts.hold(account, need);
    } else if (need > known.amount) {
      this.#accounts.raise(account, need - known.amount);
      known.amount = need;
    }
  }

  #keep(entry: Entry): Entry {
    this.#entries.set(reservationName(entry.key), entry);
    return entry;
  }
}

function closeOthers(entry: Entry, ofSender: readonly Entry[], now: EpochMs): void {
  for (const closed of closeReplaced(entry, ofSender, now)) closed.isChanged = true;
}

function emptyEntry(key: ReservationKey, validUntil: Entry['validUntil']): Entry {
  const held = { limits: [], holds: [], accounts: [], commit: undefined, recordId: undefined };
  return {
    key,
    promises: [],
    folded: nothingFolded,
    validUntil,
    ...held,
    isChanged: false,
    isEnded: false,
  };
}

/** Ids are in the order of time. */
function smaller(a: string | undefined, b: string | undefined): string | undefined {
  if (a === undefined || b === undefined) return a ?? b;
  return a < b ? a : b;
}
