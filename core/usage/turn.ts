import type { EpochMs } from '../units/time.js';
import { Accounts, toAccountBalance, type Account } from './accounts.js';
import { Counters, type Counter } from './counters.js';
import { decide, decideFences, decideShares, explained, type RequestRows } from './decide.js';
import { Entries, graceMs } from './entries.js';
import { Fences } from './fences.js';
import { toOrder } from './order.js';
import { withoutPromise } from './promises.js';
import type { ChainRow, RowChanges, RowSource, StepChange } from './rows.js';
import { applyStep } from './apply-step.js';
import { countItems, itemsPerPart, sliceOfStep, type StepProgress } from './step-parts.js';
import type { AddedRecord, Cursor, EndedReservation, FollowerStep, StepResult } from './follower-step.js';
import type { AccountId, CounterId, StepRecord } from './reservation.js';
import type {
  AccountBalance,
  Fence,
  PeekResult,
  PromiseRecord,
  ReserveRequest,
  ReserveResult,
  TakeBackResult,
  UnsignedPromise,
} from './reserve-request.js';

/** `progress`: of the step, when parts of it are left. */
type PartResult =
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
  readonly entries: Entries;
  readonly #rows: RowSource;
  readonly #records: AddedRecord[] = [];
  readonly #steps: StepChange[] = [];
  #begun: FollowerStep | undefined;
  #chain: ChainRow;
  /** Of the next decision or step, among those of one write. */
  #place: number;
  /** Result of the look-ups for the last request; reused, so that a request allocates no new lists. */
  readonly #found: RequestRows = { limits: [], holds: [], accounts: [] };

  constructor(chainId: number, rows: RowSource) {
    this.chainId = chainId;
    this.#rows = rows;
    this.#chain = rows.chain;
    this.#place = rows.place;
    this.counters = new Counters(rows);
    this.accounts = new Accounts(rows);
    this.fences = new Fences(rows);
    this.entries = new Entries(rows, this, (until) => this.#forgotten(until));
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
    const former = this.entries.find(request.key);
    const found = this.#found;
    const fenced = decideFences(this, request, now);
    if (fenced !== undefined) return fenced;
    // Newer generations are remembered even if something else refuses the request.
    this.noteGenerations(request.fences, now);
    const result = decideShares(this, request, former, now, found);
    if (result.outcome !== 'reserved') return result;
    // Finalized before: the same promise is there and holds its amounts.
    if (request.phase?.kind === 'finalize' && former?.commit?.isSigned === true) return result;
    const entry = this.entries.take(request, former, found, now);
    const record = withOver(request, result);
    if (record !== undefined) this.addRecord((entry.recordId ??= record.id), record);
    return result;
  }

  /** Used and reserved of one limit of the last reserved request. */
  taken(index: number): number {
    const { used, reserved } = this.#found.limits[index]!;
    return used + reserved;
  }

  peek(request: ReserveRequest, now: EpochMs): PeekResult {
    const former = this.entries.find(request.key);
    const found: RequestRows = { limits: [], holds: [], accounts: [] };
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
    const ended = applyStep(this, sliceOfStep(step, done));
    const isDone = done + itemsPerPart >= countItems(step);
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
    return toAccountBalance(id, this.accounts.find(id));
  }

  forgetAccounts(ids: readonly AccountId[]): void {
    for (const id of ids) {
      const account = this.accounts.find(id);
      if (account?.holders === 0) this.accounts.setBalance(account, undefined, undefined);
    }
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

  takeBack({ key, digest, record, ordered }: UnsignedPromise): TakeBackResult {
    const entry = this.entries.find(key);
    if (entry === undefined || entry.commit !== undefined) return { isFree: false };
    const others = withoutPromise(entry, digest);
    if (others === undefined) return { isFree: false };
    if (others.length > 0) {
      // Keeps all amounts: what the others hold alone is not known.
      entry.promises = others;
      entry.isChanged = true;
      return { isFree: false };
    }
    this.entries.end(entry);
    if (entry.recordId !== undefined) this.addRecord(entry.recordId, record);
    return { isFree: true, ...(ordered ? { order: this.#nextOrder() } : {}) };
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
    const changes: RowChanges = {
      chain: this.#chain,
      counters: this.counters.changed(),
      accounts: this.accounts.changed(),
      fences: this.fences.changed(),
      ...this.entries.changed(),
      records: this.#records,
      steps: this.#steps,
    };
    const { chain, begun: _, ...lists } = changes;
    const isNothing = chain === this.#rows.chain && Object.values(lists).every((list) => list.length === 0);
    if (isNothing) return undefined;
    return this.#begun === undefined ? changes : { ...changes, begun: this.#begun };
  }

  #forgotten(until: number): void {
    if (until > this.#chain.forgottenUntil) this.#chain = { ...this.#chain, forgottenUntil: until };
  }

  /** Everything that one turn decides together belongs to one write. */
  #nextOrder(): number {
    return toOrder(this.#rows.sequence, this.#place++);
  }
}

/** Whether both are the same block, or none. */
export function isSameCursor(a: Cursor | undefined, b: Cursor | undefined): boolean {
  return a?.blockNumber === b?.blockNumber && a?.blockHash === b?.blockHash && a?.timestamp === b?.timestamp;
}

const wouldRefuse = 'would_refuse';
const none: readonly never[] = [];

/** The record, with the limits in Shadow that would have refused, themselves or by a hold of theirs. */
function withOver(
  { record, holds }: Pick<ReserveRequest, 'record' | 'holds'>,
  { over = none, overHolds = none }: Extract<ReserveResult, { outcome: 'reserved' }>,
): PromiseRecord | undefined {
  const { policies } = record ?? {};
  if (over.length + overHolds.length === 0 || record === undefined || policies === undefined) return record;
  const limits = new Set([...over, ...overHolds.flatMap((index) => holds[index]?.ofUnenforced ?? none)]);
  const refusing = [...limits].flatMap((index) => policies[index] ?? []);
  // One that has refused it for its cost is named already.
  const named = new Set(policies.flatMap(({ policyId, effect }) => (effect === wouldRefuse ? policyId : [])));
  const added = refusing
    .filter(({ policyId }) => !named.has(policyId))
    .map(({ policyId }) => ({ policyId, effect: wouldRefuse }));
  return { ...record, policies: [...policies, ...added] };
}
