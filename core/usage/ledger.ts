import type { EpochMs } from '../units/time.js';
import { Accounts, balanceOf, type Account } from './accounts.js';
import { noChanges, type Changes } from './changes.js';
import { orderOf } from './order.js';
import { Commits, commitUntil } from './commits.js';
import { ceilSeconds, lastMoment, partOf, raised, signedPart, trim } from './signed-part.js';
import { Counters, type Counter } from './counters.js';
import { decide, decideFences, decideShares, explained, type Found } from './decide.js';
import { Fences, type FenceState } from './fences.js';
import { heldOf, type Held, type SignedPart } from './held.js';
import { joined, withPromise } from './promises.js';
import { operationOf, Reservations, type Entry } from './reservations.js';
import { settle } from './settle.js';
import type {
  AccountBalance,
  AccountId,
  Commit,
  Cursor,
  Fence,
  FollowerStep,
  PeekResult,
  Reservation,
  ReservationKey,
  ReserveRequest,
  ReserveResult,
  StepResult,
  TakenStep,
} from './usage-store.js';

const nothingFolded: Entry['folded'] = [];
const noPromises: Entry['promises'] = [];
/** If the clock is set back by less than this, every counter is still there. */
const graceMs = 600_000;

/**
 * All usage of one chain in memory, and the decisions about it. It does no I/O and reads no clock. Amounts are gwei
 * or counts.
 *
 * - `reserved` of counters and accounts is always the sum over the reservations.
 * - {@link ChainLedger.takeChanges} answers what must be stored after a change; everything else can be derived from
 *   that.
 */
export class ChainLedger {
  readonly chainId: number;
  readonly counters = new Counters();
  readonly accounts = new Accounts();
  readonly fences = new Fences();
  readonly reservations = new Reservations();
  readonly #commits = new Commits();
  cursor: Cursor | undefined;
  /** "id:since" of the epoch, or "" when no epoch has begun. */
  epoch = '';
  /** Usage of windows that began before this moment is lost. */
  since = 0;
  longestExpiryMs = 0;
  /** Rises with every stored change. */
  sequence = 0;
  /** Of the next decision or step, among those since the last stored change. */
  #place = 0;
  /** Windows that ended before this moment may have been forgotten, with their use. */
  forgottenUntil = 0;
  readonly #nextRow: () => number;
  #changes = noChanges();
  #hasChanged = false;
  /** Result of the look-ups for the last request; reused, so that a request allocates no new lists. */
  readonly #found: Found = { limits: [], holds: [], accounts: [] };

  /** `nextRow` gives numbers that no reservation of any chain uses. */
  constructor(chainId: number, nextRow: () => number) {
    this.chainId = chainId;
    this.#nextRow = nextRow;
  }

  /**
   * Decides a request and applies the decision. Throws UNAVAILABLE (DEPOSIT_UNKNOWN) without changing a reservation.
   */
  reserve(request: ReserveRequest, now: EpochMs): ReserveResult {
    const result = this.#reserve(request, now);
    return request.ordered ? { ...result, order: this.#nextOrder() } : result;
  }

  #reserve(request: ReserveRequest, now: EpochMs): ReserveResult {
    const operation = operationOf(request.key);
    const former = this.reservations.find(operation, request.key.paymasterId);
    const found = this.#found;
    const fenced = decideFences(this, request, now);
    if (fenced !== undefined) return fenced;
    // Newer generations are remembered even if something else refuses the request.
    this.noteGenerations(request.fences, now);
    const result = decideShares(this, request, former, now, found);
    if (result.outcome !== 'reserved') return result;
    // Finalized before: the same promise is there and holds its amounts.
    if (request.phase?.kind === 'finalize' && former?.commit?.isSigned === true) return result;
    this.#take(request, operation, former, found, now);
    return result;
  }

  /** Used and reserved of one limit of the last reserved request. */
  taken(index: number): number {
    const counter = this.#found.limits[index];
    return counter === undefined ? 0 : counter.used + counter.reserved;
  }

  peek(request: ReserveRequest, now: EpochMs): PeekResult {
    const former = this.reservations.find(operationOf(request.key), request.key.paymasterId);
    const found: Found = { limits: [], holds: [], accounts: [] };
    const decided = decide(this, request, former, now, found);
    const result = request.ordered ? { ...decided, order: this.#nextOrder() } : decided;
    return { result, ...explained(this, request, former, found) };
  }

  noteGenerations(fences: readonly Fence[], now: EpochMs): void {
    for (const fence of fences) this.#changedFence(this.fences.note(fence, now));
  }

  setSuspended(id: string, isSuspended: boolean, now: EpochMs): void {
    this.#changedFence(this.fences.suspend(id, isSuspended, now));
  }

  advance(step: FollowerStep): StepResult {
    if (!isSameCursor(this.cursor, step.expected)) return { isTaken: false };
    const from = this.cursor;
    const ended = settle(this, step);
    this.cursor = step.next;
    this.#keepStep(step, { from, next: step.next, ended, charges: step.charges });
    const reservations = ended.map(({ reservation }) => reservation);
    if (!step.ordered) return { isTaken: true, ended: reservations };
    const order = this.#nextOrder();
    return { isTaken: true, ended: reservations, orders: { restored: order, ended: ended.map(() => order) } };
  }

  #keepStep({ takesBackAfter }: FollowerStep, taken: TakenStep): void {
    const { steps } = this.#changed();
    if (takesBackAfter !== undefined) steps.push({ takesBackAfter });
    else if (!isSameCursor(taken.from, taken.next) || taken.ended.length > 0 || taken.charges.length > 0)
      steps.push(taken);
  }

  /** Everything since the last stored change belongs to the next one. */
  #nextOrder(): number {
    return orderOf(this.sequence + 1, this.#place++);
  }

  setBalance(id: AccountId, balance: Account['balance'], readAt: Account['readAt']): void {
    const account = this.accounts.of(id);
    account.balance = balance;
    account.readAt = readAt;
    this.#changed().accounts.add(account);
  }

  balance(id: AccountId): AccountBalance {
    return balanceOf(id, this.accounts.find(id));
  }

  forgetAccounts(ids: readonly AccountId[]): void {
    for (const id of ids) {
      const account = this.accounts.find(id);
      if (account === undefined || account.holders > 0) continue;
      this.accounts.remove(account);
      account.balance = undefined;
      this.#changed().accounts.add(account);
    }
  }

  find(key: ReservationKey): Entry | undefined {
    return this.reservations.find(operationOf(key), key.paymasterId);
  }

  /** Adds to the settled use of a counter, never below 0. */
  charge(counter: Counter, amount: number, until: EpochMs): void {
    this.counters.extend(counter, until);
    this.counters.setUsed(counter, Math.max(0, counter.used + amount));
    this.#changed().counters.add(counter);
  }

  /** Adds a text, if there is one, to what {@link ChainLedger.takeChanges} answers. */
  addRecord(reservation: string | undefined, text: string | undefined): void {
    if (text !== undefined) this.#changed().records.push({ reservation, text });
  }

  /** Ends a reservation and frees what it held. */
  end(entry: Entry): void {
    this.reservations.remove(entry);
    this.#commits.remove(entry);
    for (const { of, amount } of entry.limits) this.counters.unhold(of, amount);
    for (const { of, amount } of entry.holds) this.counters.unhold(of, amount);
    for (const { of, amount } of entry.accounts) this.accounts.unhold(of, amount);
    entry.isEnded = true;
    this.#changed().ended.push(entry.row);
  }

  /** Frees what commits hold that are over, and answers how many of them were never finalized. */
  dropCommits(now: EpochMs): number {
    let unfinished = 0;
    for (const entry of this.#commits.due(now)) {
      if (entry.commit?.isSigned === false) unfinished += 1;
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
    this.#commits.remove(entry);
    entry.commit = undefined;
    trim(entry.limits, signed.limits, this.counters);
    trim(entry.holds, signed.holds, this.counters);
    trim(entry.accounts, signed.accounts, this.accounts);
    this.reservations.reschedule(entry, signed.validUntil);
    this.#changedEntry(entry);
    return true;
  }

  /** Makes a reservation live whatever the thresholds say, and joins it with the one that the operation already has. */
  restore(reservation: Reservation, row = this.#nextRow()): void {
    const { key, promises, folded, validUntil } = reservation;
    const operation = operationOf(key);
    const known = this.reservations.find(operation, key.paymasterId);
    const entry = known ?? emptyEntry(row, key, operation, validUntil);
    // Promises made since then are newer.
    Object.assign(entry, joined({ promises, folded }, entry));
    entry.recordId = smaller(entry.recordId, reservation.recordId);
    for (const limit of reservation.limits) {
      const counter = this.counters.of(limit);
      this.counters.extend(counter, limit.until);
      this.#hold(entry.limits, counter, limit.cost);
    }
    for (const hold of reservation.holds) this.#hold(entry.holds, this.counters.of(hold), hold.cost);
    for (const share of reservation.accounts) this.#need(entry, this.accounts.of(share), share.need);
    if (entry.commit !== undefined)
      entry.commit.signed = raised(entry.commit.signed, this.#part(reservation));
    if (reservation.commit !== undefined) this.#restoreCommit(entry, reservation.commit);
    if (known === undefined) this.reservations.add(entry);
    else this.reservations.postpone(entry, validUntil);
    this.#changedEntry(entry);
  }

  /**
   * Forgets windows that have ended and ids that no request names, at most `limit` counters. True while there may be
   * more.
   */
  forget(now: EpochMs, limit: number): boolean {
    const before = (now - graceMs) as EpochMs;
    const counters = this.counters.ended(before, limit);
    for (const counter of counters) this.charge(counter, -counter.used, counter.until);
    if (counters.length > 0) this.forgottenUntil = Math.max(this.forgottenUntil, before);
    for (const fence of this.fences.forget(now)) this.#changedFence(fence);
    return counters.length === limit;
  }

  /** Takes the text "id:since" as the epoch. */
  setEpoch(epoch: string): void {
    this.epoch = epoch;
    this.since = Number(epoch.slice(epoch.indexOf(':') + 1));
    this.#hasChanged = true;
  }

  noteExpiry(longestExpiryMs: number): void {
    this.longestExpiryMs = longestExpiryMs;
    this.#hasChanged = true;
  }

  get hasChanged(): boolean {
    return this.#hasChanged;
  }

  /** Call this after filling the ledger with data that are already stored. */
  dropChanges(): void {
    for (const entry of this.#changes.reservations) entry.isChanged = false;
    this.#changes = noChanges();
    this.#hasChanged = false;
  }

  /**
   * What has changed since the last call; undefined for nothing. The caller must store it together with the next
   * sequence.
   */
  takeChanges(): Changes | undefined {
    if (!this.#hasChanged) return undefined;
    const changes = this.#changes;
    this.dropChanges();
    this.sequence += 1;
    this.#place = 0;
    return changes;
  }

  #take(
    request: ReserveRequest,
    operation: string,
    former: Entry | undefined,
    found: Found,
    now: EpochMs,
  ): void {
    const { promise, limits, holds, accounts, phase } = request;
    for (let i = 0; i < limits.length; i++) {
      const counter = (found.limits[i] ??= this.counters.of(limits[i]!));
      this.counters.extend(counter, limits[i]!.window.until);
    }
    for (let i = 0; i < holds.length; i++) found.holds[i] ??= this.counters.of(holds[i]!);
    if (former === undefined) return this.#add(request, operation, found, now);
    this.#dropEnded(former, now);
    if (phase?.kind === 'commit') {
      const signed = former.commit === undefined ? signedPart(former) : former.commit.signed;
      const until = commitUntil(now, promise.validUntil);
      former.commit = { commitment: phase.commitment, until, isSigned: false, signed };
    } else {
      Object.assign(former, withPromise(former, promise));
      if (former.commit !== undefined) {
        former.commit.signed = raised(former.commit.signed, partOf(request, found));
        if (phase !== undefined) former.commit.isSigned = true;
      }
    }
    for (let i = 0; i < limits.length; i++) this.#hold(former.limits, found.limits[i]!, limits[i]!.cost);
    for (let i = 0; i < holds.length; i++) this.#hold(former.holds, found.holds[i]!, holds[i]!.cost);
    for (let i = 0; i < accounts.length; i++) this.#need(former, found.accounts[i]!, accounts[i]!.need);
    this.reservations.postpone(former, lastMoment(request, former));
    this.#record(former, request);
    this.#changedEntry(former);
    if (phase?.kind === 'commit') this.#openCommit(former, now);
  }

  #add(request: ReserveRequest, operation: string, found: Found, now: EpochMs): void {
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
    const { validUntil, ...amounts } = partOf(request, found);
    const entry: Entry = {
      row: this.#nextRow(),
      key,
      operation,
      promises: phase === undefined ? [promise] : noPromises,
      folded: nothingFolded,
      validUntil: commit === undefined ? validUntil : ceilSeconds(commit.until),
      ...amounts,
      commit,
      recordId: undefined,
      place: 0,
      isChanged: false,
      isEnded: false,
    };
    this.#record(entry, request);
    for (const { of, amount } of entry.limits) this.counters.hold(of, amount);
    for (const { of, amount } of entry.holds) this.counters.hold(of, amount);
    for (const { of, amount } of entry.accounts) this.accounts.hold(of, amount);
    this.reservations.add(entry);
    this.#changedEntry(entry);
    if (commit !== undefined) this.#openCommit(entry, now);
  }

  #record(entry: Entry, { record }: ReserveRequest): void {
    if (record === undefined) return;
    entry.recordId ??= record.id;
    const { context, text } = record;
    const reservation = entry.recordId;
    this.#changed().records.push(
      context === undefined ? { reservation, text } : { reservation, context, text },
    );
  }

  #openCommit(entry: Entry, now: EpochMs): void {
    for (const closed of this.#commits.open(entry, now)) this.#changedEntry(closed);
  }

  #restoreCommit(entry: Entry, { commitment, until, isSigned, signed }: Commit): void {
    entry.commit = {
      commitment,
      until,
      isSigned,
      signed: signed === undefined ? undefined : this.#part(signed),
    };
    this.#commits.add(entry);
  }

  /** Amounts of a reservation, without holding them. */
  #part(amounts: Pick<Reservation, 'validUntil' | 'limits' | 'holds' | 'accounts'>): SignedPart {
    const { validUntil, limits, holds, accounts } = amounts;
    return {
      validUntil,
      limits: limits.map((one) => ({ of: this.counters.of(one), amount: one.cost })),
      holds: holds.map((one) => ({ of: this.counters.of(one), amount: one.cost })),
      accounts: accounts.map((one) => ({ of: this.accounts.of(one), amount: one.need })),
    };
  }

  /**
   * Removes limits whose windows are over, because nothing can be spent from those any longer. Otherwise an operation
   * that gets new promises for weeks would hold one more limit with every window.
   */
  #dropEnded({ limits, commit }: Entry, now: EpochMs): void {
    const before = now - graceMs;
    const ended = limits.filter(({ of }) => of.until <= before);
    if (ended.length === 0) return;
    this.forgottenUntil = Math.max(this.forgottenUntil, before);
    limits.splice(0, limits.length, ...limits.filter(({ of }) => of.until > before));
    const { signed } = commit ?? {};
    if (signed !== undefined) signed.limits = signed.limits.filter(({ of }) => of.until > before);
    for (const { of, amount } of ended) this.counters.unhold(of, amount);
  }

  #changedEntry(entry: Entry): void {
    const { reservations } = this.#changed();
    if (!entry.isChanged) reservations.push(entry);
    entry.isChanged = true;
  }

  /** Raises the held amount to the larger one, since the earlier signature stays valid. */
  #hold(held: Held<Counter>[], counter: Counter, cost: number): void {
    const known = heldOf(held, counter);
    if (known === undefined) {
      held.push({ of: counter, amount: cost });
      this.counters.hold(counter, cost);
    } else if (cost > known.amount) {
      counter.reserved += cost - known.amount;
      known.amount = cost;
    }
  }

  #need({ accounts }: Entry, account: Account, need: number): void {
    const known = heldOf(accounts, account);
    if (known === undefined) {
      accounts.push({ of: account, amount: need });
      this.accounts.hold(account, need);
    } else if (need > known.amount) {
      account.reserved += need - known.amount;
      known.amount = need;
    }
  }

  #changedFence(fence: FenceState | undefined): void {
    if (fence !== undefined) this.#changed().fences.add(fence);
  }

  #changed(): Changes {
    this.#hasChanged = true;
    return this.#changes;
  }
}

function emptyEntry(
  row: number,
  key: ReservationKey,
  operation: string,
  validUntil: Entry['validUntil'],
): Entry {
  const held = { limits: [], holds: [], accounts: [], commit: undefined, recordId: undefined };
  const state = { place: 0, isChanged: false, isEnded: false };
  return { row, key, operation, promises: [], folded: nothingFolded, validUntil, ...held, ...state };
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
