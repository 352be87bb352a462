import type { EpochMs } from '../units/time.js';
import { Accounts, balanceOf, type Account } from './accounts.js';
import { closeReplaced, commitUntil } from './commits.js';
import { Counters, type Counter } from './counters.js';
import { decide, decideFences, decideShares, explained, type Found } from './decide.js';
import { Fences } from './fences.js';
import { heldOf, raiseRate, type Held, type HeldLimit } from './held.js';
import { orderOf } from './order.js';
import { isOnly, joined, withPromise } from './promises.js';
import {
  entryFrom,
  partFrom,
  partyName,
  reservationName,
  reservationOf,
  type Entry,
} from './reservations.js';
import type { Taken } from './unit.js';
import type { ChainRow, RowChanges, RowSource, StepChange } from './rows.js';
import { settle } from './settle.js';
import { itemsOf, itemsPerPart, partOf, type StepProgress } from './step-parts.js';
import { ceilSeconds, lastMoment, partOf as takenBy, raised, signedPart, trim } from './signed-part.js';
import type {
  AccountBalance,
  AccountId,
  AddedRecord,
  CounterId,
  Cursor,
  EndedReservation,
  Fence,
  FollowerStep,
  PeekResult,
  Reservation,
  ReservationKey,
  ReserveRequest,
  ReserveResult,
  StepRecord,
  StepResult,
  TakeBackResult,
  UnsignedPromise,
} from './usage-store.js';

const nothingFolded: Entry['folded'] = [];
const noPromises: Entry['promises'] = [];
/** If the clock is set back by less than this, every counter is still there. */
export const graceMs = 600_000;

/** `progress`: of the step, when parts of it are left. */
export type PartResult =
  | { readonly isTaken: false }
  | (Extract<StepResult, { readonly isTaken: true }> & {
      readonly isDone: boolean;
      readonly progress: StepProgress | undefined;
    });

/**
 * One turn of a chain: decides requests and steps over the rows of a store, and answers the rows that have changed. It
 * does no I/O, reads no clock and changes no row that it was given. Amounts are gwei or counts.
 *
 * - `reserved` and `holders` of counters and accounts are always the sums over the reservations.
 * - What throws has changed nothing: every row is looked up before the first one changes.
 */
export class Turn {
  readonly chainId: number;
  readonly counters: Counters;
  readonly accounts: Accounts;
  readonly fences: Fences;
  readonly #rows: RowSource;
  readonly #entries = new Map<string, Entry | undefined>();
  readonly #records: AddedRecord[] = [];
  readonly #steps: StepChange[] = [];
  #begun: FollowerStep | undefined;
  #chain: ChainRow;
  /** Of the next decision or step, among those of one write. */
  #place: number;
  /** Result of the look-ups for the last request; reused, so that a request allocates no new lists. */
  readonly #found: Found = { limits: [], holds: [], accounts: [] };

  constructor(chainId: number, rows: RowSource) {
    this.chainId = chainId;
    this.#rows = rows;
    this.#chain = rows.chain;
    this.#place = rows.place;
    this.counters = new Counters(rows);
    this.accounts = new Accounts(rows);
    this.fences = new Fences(rows);
  }

  get since(): number {
    return this.#chain.since;
  }

  get forgottenUntil(): number {
    return this.#chain.forgottenUntil;
  }

  get cursor(): Cursor | undefined {
    return this.#chain.cursor;
  }

  get place(): number {
    return this.#place;
  }

  /**
   * Decides a request and applies the decision. Throws UNAVAILABLE (DEPOSIT_UNKNOWN) without changing a reservation.
   */
  reserve(request: ReserveRequest, now: EpochMs): ReserveResult {
    const result = this.#reserve(request, now);
    return request.ordered ? { ...result, order: this.#nextOrder() } : result;
  }

  #reserve(request: ReserveRequest, now: EpochMs): ReserveResult {
    const former = this.find(request.key);
    const found = this.#found;
    const fenced = decideFences(this, request, now);
    if (fenced !== undefined) return fenced;
    // Newer generations are remembered even if something else refuses the request.
    this.noteGenerations(request.fences, now);
    const result = decideShares(this, request, former, now, found);
    if (result.outcome !== 'reserved') return result;
    // Finalized before: the same promise is there and holds its amounts.
    if (request.phase?.kind === 'finalize' && former?.commit?.isSigned === true) return result;
    this.#take(withOver(request, result.over), former, found, now);
    return result;
  }

  /** Used and reserved of one limit of the last reserved request. */
  taken(index: number): number {
    const counter = this.#found.limits[index];
    return counter === undefined ? 0 : counter.used + counter.reserved;
  }

  peek(request: ReserveRequest, now: EpochMs): PeekResult {
    const former = this.find(request.key);
    const found: Found = { limits: [], holds: [], accounts: [] };
    const decided = decide(this, request, former, now, found);
    const result = request.ordered ? { ...decided, order: this.#nextOrder() } : decided;
    return { result, ...explained(this, request, former, found) };
  }

  noteGenerations(fences: readonly Fence[], now: EpochMs): void {
    for (const fence of fences) this.fences.note(fence, now);
  }

  setSuspended(id: string, isSuspended: boolean, now: EpochMs): void {
    this.fences.suspend(id, isSuspended, now);
  }

  /**
   * Carries out a step, or the next part of a long one; `from`: an open step that it continues. Not taken: the chain is elsewhere.
   * `isDone` is false when parts are left.
   */
  advance(step: FollowerStep, from?: StepProgress): PartResult {
    const { cursor, open } = this.#chain;
    const isNext = open?.sequence === from?.sequence && open?.done === from?.done;
    if (!isNext || !isSameCursor(cursor, step.expected)) return { isTaken: false };
    const done = from?.done ?? 0;
    const ended = settle(this, partOf(step, done));
    const isDone = done + itemsPerPart >= itemsOf(step);
    const sequence = from?.sequence ?? this.#rows.sequence;
    if (isDone) this.#chain = { ...this.#chain, cursor: step.next, open: undefined };
    else this.#chain = { ...this.#chain, open: { sequence, done: done + itemsPerPart } };
    if (!isDone && from === undefined) this.#begun = step;
    this.#keepStep(step, ended, { isContinued: from !== undefined, isDone });
    const result = { isTaken: true, isDone, progress: this.#chain.open } as const;
    const reservations = ended.map(({ reservation }) => reservation);
    if (!step.ordered) return { ...result, ended: reservations };
    const order = this.#nextOrder();
    return { ...result, ended: reservations, orders: { restored: order, ended: ended.map(() => order) } };
  }

  #keepStep(
    step: FollowerStep,
    ended: readonly EndedReservation[],
    { isContinued, isDone }: { readonly isContinued: boolean; readonly isDone: boolean },
  ): void {
    const { expected: from, next, takesBackAfter } = step;
    if (takesBackAfter !== undefined) {
      if (!isContinued) this.#steps.push({ takesBackAfter });
      return;
    }
    // All of them with the first part, so that a step whose later parts ended nothing has them too.
    const charges = isContinued ? [] : step.charges;
    const isWhole = isDone && !isContinued;
    if (isWhole && isSameCursor(from, next) && ended.length === 0 && charges.length === 0) return;
    const kept = { from, next, ended, charges };
    this.#steps.push(isContinued ? { ...kept, isContinued } : kept);
  }

  setBalance(id: AccountId, balance: Account['balance'], readAt: Account['readAt']): void {
    this.accounts.setBalance(this.accounts.of(id), balance, readAt);
  }

  /** Ignored when a balance is already known. */
  addBalance(id: AccountId, balance: Account['balance'], readAt: Account['readAt']): void {
    if (this.accounts.find(id)?.balance === undefined) this.setBalance(id, balance, readAt);
  }

  balance(id: AccountId): AccountBalance {
    return balanceOf(id, this.accounts.find(id));
  }

  forgetAccounts(ids: readonly AccountId[]): void {
    for (const id of ids) {
      const account = this.accounts.find(id);
      if (account?.holders === 0) this.accounts.setBalance(account, undefined, undefined);
    }
  }

  find(key: ReservationKey): Entry | undefined {
    const name = reservationName(key);
    if (this.#entries.has(name)) {
      const known = this.#entries.get(name);
      return known?.isEnded === true ? undefined : known;
    }
    const row = this.#rows.reservation(key);
    const entry = row === undefined ? undefined : entryFrom(row, this);
    this.#entries.set(name, entry);
    return entry;
  }

  /** Adds to the settled use of a counter, never below 0. */
  charge(counter: Counter, amount: number, until: EpochMs): void {
    this.counters.extend(counter, until);
    this.counters.setUsed(counter, Math.max(0, counter.used + amount));
  }

  /** Adds a record, if there is one, to those of the turn. */
  addRecord(reservation: string | undefined, record: StepRecord | undefined): void {
    if (record !== undefined) this.#records.push({ reservation, record });
  }

  /** Ends a reservation and frees what it held. */
  end(entry: Entry): void {
    for (const { of, amount } of entry.limits) this.counters.unhold(of, amount);
    for (const { of, amount } of entry.holds) this.counters.unhold(of, amount);
    for (const { of, amount } of entry.accounts) this.accounts.unhold(of, amount);
    entry.isEnded = true;
    entry.isChanged = true;
  }

  takeBack({ key, digest, record, ordered }: UnsignedPromise): TakeBackResult {
    const entry = this.find(key);
    if (entry === undefined || entry.commit !== undefined || !isOnly(entry, digest)) return { isFree: false };
    this.end(entry);
    if (entry.recordId !== undefined) this.addRecord(entry.recordId, record);
    return { isFree: true, ...(ordered ? { order: this.#nextOrder() } : {}) };
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
    trim(entry.limits, signed.limits, this.counters);
    trim(entry.holds, signed.holds, this.counters);
    trim(entry.accounts, signed.accounts, this.accounts);
    entry.validUntil = signed.validUntil;
    entry.isChanged = true;
    return true;
  }

  /** Makes a reservation live whatever the thresholds say, and joins it with the one that the operation already has. */
  restore(reservation: Reservation): void {
    const { key, promises, folded, validUntil } = reservation;
    const entry = this.find(key) ?? this.#keep(emptyEntry(key, validUntil));
    // Promises made since then are newer.
    Object.assign(entry, joined({ promises, folded }, entry));
    entry.recordId = smaller(entry.recordId, reservation.recordId);
    for (const limit of reservation.limits) {
      const counter = this.counters.of(limit);
      this.counters.extend(counter, limit.until);
      this.#holdLimit(entry.limits, counter, limit);
    }
    for (const hold of reservation.holds) this.#hold(entry.holds, this.counters.of(hold), hold.cost);
    for (const share of reservation.accounts) this.#need(entry, this.accounts.of(share), share.need);
    if (entry.commit !== undefined)
      entry.commit.signed = raised(entry.commit.signed, partFrom(reservation, this));
    if (reservation.commit !== undefined) {
      const { signed, ...commit } = reservation.commit;
      entry.commit = { ...commit, signed: signed === undefined ? undefined : partFrom(signed, this) };
    }
    if (validUntil > entry.validUntil) entry.validUntil = validUntil;
    entry.isChanged = true;
  }

  /** Forgets the settled use of counters whose windows ended long ago; those that a reservation holds stay. */
  forget(ended: readonly CounterId[], now: EpochMs): void {
    const before = now - graceMs;
    for (const id of ended) {
      const counter = this.counters.find(id);
      if (counter === undefined || counter.until >= before || counter.holders > 0) continue;
      this.counters.setUsed(counter, 0);
      this.#forgotten(before);
    }
  }

  /** What must be stored now; undefined for nothing. The turn is over. */
  changes(): RowChanges | undefined {
    const reservations: Reservation[] = [];
    const ended: ReservationKey[] = [];
    for (const entry of this.#entries.values()) {
      if (entry?.isChanged !== true) continue;
      if (entry.isEnded) ended.push(entry.key);
      else reservations.push(reservationOf(entry));
    }
    const changes: RowChanges = {
      chain: this.#chain,
      counters: this.counters.changed(),
      accounts: this.accounts.changed(),
      fences: this.fences.changed(),
      reservations,
      ended,
      records: this.#records,
      steps: this.#steps,
    };
    const { chain, begun: _, ...lists } = changes;
    const isNothing = chain === this.#rows.chain && Object.values(lists).every((list) => list.length === 0);
    if (isNothing) return undefined;
    return this.#begun === undefined ? changes : { ...changes, begun: this.#begun };
  }

  #take(request: ReserveRequest, former: Entry | undefined, found: Found, now: EpochMs): void {
    const { promise, limits, holds, accounts, phase } = request;
    const ofSender = phase?.kind === 'commit' ? this.#committed(request.key) : [];
    for (let i = 0; i < limits.length; i++) {
      const counter = (found.limits[i] ??= this.counters.of(limits[i]!));
      this.counters.extend(counter, limits[i]!.window.until);
    }
    for (let i = 0; i < holds.length; i++) found.holds[i] ??= this.counters.of(holds[i]!);
    if (former === undefined) return this.#add(request, found, ofSender, now);
    this.#dropEnded(former, now);
    if (phase?.kind === 'commit') {
      const signed = former.commit === undefined ? signedPart(former) : former.commit.signed;
      const until = commitUntil(now, promise.validUntil);
      former.commit = { commitment: phase.commitment, until, isSigned: false, signed };
    } else {
      Object.assign(former, withPromise(former, promise));
      if (former.commit !== undefined) {
        former.commit.signed = raised(former.commit.signed, takenBy(request, found));
        if (phase !== undefined) former.commit.isSigned = true;
      }
    }
    for (let i = 0; i < limits.length; i++) this.#holdLimit(former.limits, found.limits[i]!, limits[i]!);
    for (let i = 0; i < holds.length; i++) this.#hold(former.holds, found.holds[i]!, holds[i]!.cost);
    for (let i = 0; i < accounts.length; i++) this.#need(former, found.accounts[i]!, accounts[i]!.need);
    const last = lastMoment(request, former);
    if (last > former.validUntil) former.validUntil = last;
    this.#record(former, request);
    former.isChanged = true;
    if (phase?.kind === 'commit') closeOthers(former, ofSender, now);
  }

  #add(request: ReserveRequest, found: Found, ofSender: readonly Entry[], now: EpochMs): void {
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
    const { validUntil, ...amounts } = takenBy(request, found);
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
    this.#record(entry, request);
    for (const { of, amount } of entry.limits) this.counters.hold(of, amount);
    for (const { of, amount } of entry.holds) this.counters.hold(of, amount);
    for (const { of, amount } of entry.accounts) this.accounts.hold(of, amount);
    if (commit !== undefined) closeOthers(entry, ofSender, now);
  }

  #record(entry: Entry, { record }: ReserveRequest): void {
    if (record === undefined) return;
    entry.recordId ??= record.id;
    this.addRecord(entry.recordId, record);
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
    for (const { of, amount } of ended) this.counters.unhold(of, amount);
  }

  /** Raises the held amount to the larger one, since the earlier signature stays valid. */
  #hold(held: Held<Counter>[], counter: Counter, cost: number): void {
    const known = heldOf(held, counter);
    if (known === undefined) {
      held.push({ of: counter, amount: cost });
      this.counters.hold(counter, cost);
    } else if (cost > known.amount) {
      this.counters.raise(counter, cost - known.amount);
      known.amount = cost;
    }
  }

  #holdLimit(held: HeldLimit[], counter: Counter, taken: Taken): void {
    this.#hold(held, counter, taken.cost);
    raiseRate(heldOf<Counter>(held, counter)!, taken.rate);
  }

  #need({ accounts }: Entry, account: Account, need: number): void {
    const known = heldOf(accounts, account);
    if (known === undefined) {
      accounts.push({ of: account, amount: need });
      this.accounts.hold(account, need);
    } else if (need > known.amount) {
      this.accounts.raise(account, need - known.amount);
      known.amount = need;
    }
  }

  #forgotten(until: number): void {
    if (until > this.#chain.forgottenUntil) this.#chain = { ...this.#chain, forgottenUntil: until };
  }

  #keep(entry: Entry): Entry {
    this.#entries.set(reservationName(entry.key), entry);
    return entry;
  }

  /** Everything that one turn decides together belongs to one write. */
  #nextOrder(): number {
    return orderOf(this.#rows.sequence, this.#place++);
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

/** Whether both are the same block, or none. */
export function isSameCursor(a: Cursor | undefined, b: Cursor | undefined): boolean {
  return a?.blockNumber === b?.blockNumber && a?.blockHash === b?.blockHash && a?.timestamp === b?.timestamp;
}

/** The request with a record that names the limits in Shadow that would have refused. */
function withOver(request: ReserveRequest, over: readonly number[] | undefined): ReserveRequest {
  const { record } = request;
  const { policies } = record ?? {};
  if (over === undefined || record === undefined || policies === undefined) return request;
  const refusing = over.flatMap((index) => policies[index] ?? []);
  const added = refusing.map(({ policyId }) => ({ policyId, effect: 'would_refuse' }));
  return { ...request, record: { ...record, policies: [...policies, ...added] } };
}
