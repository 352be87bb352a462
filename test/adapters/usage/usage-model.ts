import { DomainError } from '../../../core/errors.js';
import type {
  Charge,
  Cursor,
  FollowerStep,
  ReservationQuery,
  StepResult,
  EndedReservation,
  TakenStep,
} from '../../../core/usage/follower-step.js';
import type {
  AccountId,
  Commit,
  CounterId,
  FoldedPromises,
  OperationId,
  Reservation,
  ReservationKey,
  SignedPromise,
  StepRecord,
} from '../../../core/usage/reservation.js';
import type {
  AccountBalance,
  CounterState,
  Fence,
  HoldShare,
  PeekResult,
  ReserveRequest,
  ReserveResult,
  TakeBackResult,
  UnsignedPromise,
} from '../../../core/usage/reserve-request.js';
import type { UsageStore } from '../../../core/usage/usage-store.js';
import type { Clock, EpochMs, EpochSeconds } from '../../../core/units/time.js';
import type { Gwei } from '../../../core/units/wei.js';
import { written, type WrittenRecord } from '../../conformance/step-records.js';

type Amount = CounterId & { readonly cost: number };
type Limited = Amount & { readonly until: EpochMs };
type Live = Omit<Reservation, 'limits' | 'commit'> & {
  readonly limits: readonly Limited[];
  readonly commit?: LiveCommit;
};
/** `before`: the reservation as it would be without the commit; undefined: there would be none. */
type LiveCommit = Omit<Commit, 'signed'> & { readonly before: Live | undefined };
type Booked = CounterId & { readonly amount: number };
type ChainState = {
  live: Live[];
  /** Everything that was ever settled or charged, in its order. Nothing is thrown away. */
  booked: Booked[];
  generations: Fence[];
  suspended: string[];
  balances: (AccountId & { readonly balance: Gwei; readonly readAt: EpochMs })[];
  cursor: Cursor | undefined;
  taken: TakenStep[];
  records: WrittenRecord[];
};

/**
 * The simplest model of a usage store: lists of promises and of settled amounts, and every sum is
 * computed from them each time. It has no indexes, no windows but those of requests, and loses nothing. Shares no code with
 * the ledger of `core/usage`.
 */
export class UsageModel implements UsageStore {
  readonly #clock: Clock;
  readonly #chains = new Map<number, ChainState>();
  #isStopped = false;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  now(): EpochMs {
    return this.#clock.now();
  }

  push(request: ReserveRequest): Promise<ReserveResult> {
    return this.reserve(request);
  }

  async reserve(request: ReserveRequest): Promise<ReserveResult> {
    const chain = this.#chain(request.key.chainId);
    const result = this.#decide(chain, request);
    if (result.outcome !== 'turned') noteAll(chain, request.fences);
    if (result.outcome !== 'reserved') return result;
    const own = find(chain, request.key);
    const { phase } = request;
    if (phase?.kind === 'finalize' && own?.commit?.isSigned === true) return result;
    const recordId = request.record === undefined ? undefined : (own?.recordId ?? request.record.id);
    if (request.record !== undefined) chain.records.push(written(request.record, recordId));
    const made: Live = {
      ...idOf({ recordId }),
      key: request.key,
      promises: [request.promise],
      folded: [],
      validUntil: request.promise.validUntil,
      limits: request.limits.map(({ counter, unit, cost, window }) => ({
        counter,
        unit,
        cost,
        until: window.until,
      })),
      holds: request.holds.map(({ counter, unit, cost }) => ({ counter, unit, cost })),
      accounts: request.accounts,
    };
    if (phase?.kind === 'commit') {
      this.#commit(chain, own, made, phase.commitment);
      return result;
    }
    const next = own === undefined ? made : merged(own, made);
    if (own?.commit === undefined) replace(chain, next);
    else {
      const { before, isSigned, ...rest } = own.commit;
      const commit = {
        ...rest,
        isSigned: isSigned || phase !== undefined,
        before: before === undefined ? made : merged(before, made),
      };
      replace(chain, { ...next, commit });
    }
    return result;
  }

  #commit(chain: ChainState, own: Live | undefined, made: Live, commitment: Commit['commitment']): void {
    const now = this.#clock.now();
    const until = Math.min(now + 60_000, made.validUntil * 1000) as EpochMs;
    const unsigned = { ...made, promises: [], validUntil: Math.ceil(until / 1000) as EpochSeconds };
    const before = own?.commit === undefined ? own : own.commit.before;
    const commit = { commitment, until, isSigned: false, before };
    const others = chain.live.filter(
      ({ key, commit: theirs }) =>
        !isSame(key, made.key) &&
        key.sender === made.key.sender &&
        key.entryPoint === made.key.entryPoint &&
        key.paymasterId === made.key.paymasterId &&
        theirs !== undefined &&
        theirs.until > now,
    );
    const close = (one: Live): void => replace(chain, { ...one, commit: { ...one.commit!, until: now } });
    const sameKey = others.filter(({ key }) => key.nonce / 2n ** 64n === made.key.nonce / 2n ** 64n);
    const rest = others
      .filter((one) => !sameKey.includes(one))
      .toSorted(
        ({ key: a, commit: one }, { key: b, commit: two }) =>
          Number(two!.isSigned) - Number(one!.isSigned) ||
          one!.until - two!.until ||
          (a.nonce < b.nonce ? -1 : 1),
      );
    for (const one of [...sameKey, ...rest.slice(0, Math.max(0, rest.length - 3))]) close(one);
    replace(chain, { ...(own === undefined ? unsigned : merged(own, unsigned)), commit });
  }

  async takeBack({ key, digest, record }: UnsignedPromise): Promise<TakeBackResult> {
    const chain = this.#chain(key.chainId);
    const own = find(chain, key);
    const taken = own?.promises.find((one) => one.digest === digest);
    const mayBeSigned = taken === undefined || taken.isRepeated === true || own!.folded.length > 0;
    if (own === undefined || own.commit !== undefined || mayBeSigned) return { isFree: false };
    const promises = own.promises.filter((one) => one !== taken);
    if (promises.length > 0) {
      replace(chain, { ...own, promises });
      return { isFree: false };
    }
    remove(chain, own);
    if (record !== undefined && own.recordId !== undefined) chain.records.push(written(record, own.recordId));
    return { isFree: true };
  }

  async dropCommits(chainId: number): Promise<number> {
    const chain = this.#chain(chainId);
    const now = this.#clock.now();
    const over = chain.live.filter(({ commit }) => commit !== undefined && commit.until <= now);
    for (const one of over) {
      const { before } = one.commit!;
      if (before === undefined) remove(chain, one);
      else replace(chain, { ...before, ...idOf(one) });
    }
    return over.filter(({ commit }) => !commit!.isSigned).length;
  }

  async peek(request: ReserveRequest): Promise<PeekResult> {
    const chain = this.#chain(request.key.chainId);
    const result = this.#decide(chain, request);
    return {
      result,
      limits: request.limits.map((limit) => ({
        used: used(chain, limit),
        reserved: reserved(chain, limit, request.key),
      })),
      holds: request.holds.map((hold) => ({
        taken: taken(chain, hold, request.key),
        most: shownMost(chain, hold, request),
      })),
      accounts: request.accounts.map((account) => balanceOf(chain, account, request.key)),
    };
  }

  async counters(chainId: number, counters: readonly CounterId[]): Promise<readonly CounterState[]> {
    const chain = this.#chain(chainId);
    return counters.map((one) => ({ used: used(chain, one), reserved: reserved(chain, one) }));
  }

  async noteGenerations(chainId: number, fences: readonly Fence[]): Promise<void> {
    noteAll(this.#chain(chainId), fences);
  }

  async setSuspended(chainId: number, id: string, isSuspended: boolean): Promise<void> {
    const chain = this.#chain(chainId);
    chain.suspended = [...chain.suspended.filter((one) => one !== id), ...(isSuspended ? [id] : [])];
  }

  async suspended(chainId: number): Promise<readonly string[]> {
    return this.#chain(chainId).suspended;
  }

  async reservations(chainId: number, query?: ReservationQuery): Promise<readonly Reservation[]> {
    const live = this.#chain(chainId).live.map(shown);
    if (query === undefined) return live;
    const expired = live
      .filter(({ validUntil }) => validUntil < query.expiredBefore)
      .toSorted((a, b) => a.validUntil - b.validUntil)
      .slice(0, query.limit);
    return live.filter((one) => expired.includes(one) || query.operations.some((id) => isOf(one, id)));
  }

  async liveCount(chainId: number): Promise<number> {
    return this.#chain(chainId).live.length;
  }

  capacity(): number {
    return Number.POSITIVE_INFINITY;
  }

  async cursor(chainId: number): Promise<Cursor | undefined> {
    return this.#chain(chainId).cursor;
  }

  async advance(step: FollowerStep): Promise<StepResult> {
    const chain = this.#chain(step.chainId);
    if (JSON.stringify(chain.cursor) !== JSON.stringify(step.expected)) return { isTaken: false };
    const ended: EndedReservation[] = [];
    const end = (
      own: Live,
      record: StepRecord | undefined,
      how: EndedReservation['how'],
      actualCost?: Gwei,
    ): void => {
      remove(chain, own);
      const signed = signedOf(own);
      if (signed === undefined) return;
      ended.push({ reservation: signed, how, actualCost });
      if (record !== undefined) chain.records.push(written(record, own.recordId));
    };
    for (const { reservation, record } of step.records ?? [])
      chain.records.push(written(record, reservation));
    chain.cursor = step.next;
    for (const reservation of step.restored) {
      const own = find(chain, reservation.key);
      const { commit: _, ...restored } = reservation;
      if (own === undefined) replace(chain, restored);
      else if (own.commit === undefined) replace(chain, merged(restored, own));
      else {
        const { before } = own.commit;
        const commit = { ...own.commit, before: before === undefined ? restored : merged(restored, before) };
        replace(chain, { ...merged(restored, own), commit });
      }
    }
    const decided: ReservationKey[] = [];
    const first = (key: ReservationKey): Live | undefined => {
      if (decided.some((one) => isSame(one, key))) return undefined;
      decided.push(key);
      return find(chain, key);
    };
    for (const { key, actualCost, record } of step.settled) {
      const own = first(key);
      if (own === undefined) continue;
      if (actualCost !== undefined) this.#spend(chain, own, actualCost);
      end(own, record, 'settled', actualCost);
    }
    for (const { key, validUntil, record } of step.released) {
      const own = first(key);
      if (own !== undefined && (validUntil === undefined || own.validUntil <= validUntil))
        end(own, record, 'released');
    }
    for (const { key, record } of step.forfeited) {
      const own = first(key);
      if (own === undefined) continue;
      this.#spend(chain, own, Number.POSITIVE_INFINITY);
      end(own, record, 'forfeited');
    }
    for (const charge of step.charges) chain.booked.push(charge satisfies Charge);
    for (const read of step.balances) setBalance(chain, read);
    const { takesBackAfter, expected: from, next, charges } = step;
    const isMoved = JSON.stringify(from) !== JSON.stringify(next);
    if (takesBackAfter !== undefined)
      chain.taken = chain.taken.filter((one) => one.next.blockNumber <= takesBackAfter);
    else if (isMoved || ended.length + charges.length > 0) chain.taken.push({ from, next, ended, charges });
    return { isTaken: true, ended: ended.map(({ reservation }) => reservation) };
  }

  async takenSteps(chainId: number): Promise<readonly TakenStep[]> {
    return this.#chain(chainId).taken;
  }

  async addBalance(chainId: number, { balance, readAt, ...id }: AccountBalance): Promise<void> {
    const chain = this.#chain(chainId);
    const isKnown = chain.balances.some((one) => isSameAccount(one, id));
    if (!isKnown && balance !== undefined && readAt !== undefined)
      setBalance(chain, { ...id, balance, readAt });
  }

  async accounts(chainId: number): Promise<readonly AccountBalance[]> {
    const chain = this.#chain(chainId);
    const named = [...chain.balances, ...chain.live.flatMap(({ accounts }) => accounts)];
    return named
      .filter((one, i) => named.findIndex((other) => isSameAccount(one, other)) === i)
      .map((one) => balanceOf(chain, one));
  }

  async forgetAccounts(chainId: number, accounts: readonly AccountId[]): Promise<void> {
    const chain = this.#chain(chainId);
    chain.balances = chain.balances.filter(
      (one) =>
        !accounts.some((gone) => isSameAccount(one, gone)) ||
        chain.live.some((live) => live.accounts.some((need) => isSameAccount(need, one))),
    );
  }

  /** Records since the last call, in the order of their ids. */
  takeRecords(chainId: number): readonly WrittenRecord[] {
    const taken = this.#chain(chainId).records.splice(0);
    return taken.toSorted((a, b) => (a.id < b.id ? -1 : 1));
  }

  async ping(): Promise<void> {
    this.#chain(0);
  }

  async stop(): Promise<void> {
    this.#isStopped = true;
  }

  /** The same data behind another object, as after a restart. */
  reopened(): UsageModel {
    const next = new UsageModel(this.#clock);
    for (const [id, chain] of this.#chains) next.#chains.set(id, chain);
    return next;
  }

  /** Every reason in the order of the port. */
  #decide(chain: ChainState, request: ReserveRequest): ReserveResult {
    const now = this.#clock.now();
    const { key, fences, bars, limits, holds, accounts } = request;
    for (const { window } of [...bars, ...limits])
      if (now < window.from || now >= window.until) return { outcome: 'turned', now };
    for (const { id } of fences) if (chain.suspended.includes(id)) return { outcome: 'suspended', id };
    for (const { id, generation } of fences)
      if (generation < newest(chain, id)) return { outcome: 'stale', id };
    for (const [index, bar] of bars.entries())
      if (used(chain, bar) > bar.most) return { outcome: 'barred', index, used: used(chain, bar) };
    const over: number[] = [];
    const overHolds: number[] = [];
    for (const [index, limit] of limits.entries()) {
      const others = used(chain, limit) + reserved(chain, limit, key);
      const own = Math.max(limit.cost, costOf(find(chain, key)?.limits ?? [], limit));
      if (others + own <= limit.threshold) continue;
      if (limit.enforce) return { outcome: 'limit', index, used: others };
      over.push(index);
    }
    for (const [index, hold] of holds.entries()) {
      const own = Math.max(hold.cost, costOf(find(chain, key)?.holds ?? [], hold));
      const bound = most(chain, hold, request, now);
      const isAlone = hold.admitsOneAlone === true && reserved(chain, hold, key) === 0;
      if (taken(chain, hold, key) + own <= bound || isAlone) continue;
      if (hold.ofUnenforced === undefined)
        return { outcome: 'held', index, taken: taken(chain, hold, key), most: bound };
      overHolds.push(index);
    }
    for (const [index, account] of accounts.entries()) {
      const { balance, reserved: others, readAt } = balanceOf(chain, account, key);
      if (balance === undefined || readAt === undefined || now - readAt > request.depositMaxAgeMs)
        throw depositUnknown();
      const own = Math.max(account.need, needOf(find(chain, key)?.accounts ?? [], account));
      if (others + own > balance) return { outcome: 'deposit', index, balance, reserved: others };
    }
    if (!this.#isCommitted(request, find(chain, key))) return { outcome: 'not-committed' };
    return {
      outcome: 'reserved',
      ...(over.length > 0 && { over }),
      ...(overHolds.length > 0 && { overHolds }),
    };
  }

  #isCommitted({ phase, promise }: ReserveRequest, own: Live | undefined): boolean {
    if (phase?.kind !== 'finalize') return true;
    const commit = own?.commit;
    if (commit?.commitment !== phase.commitment || commit.until <= this.#clock.now()) return false;
    return !commit.isSigned || own?.promises.some(({ digest }) => digest === promise.digest) === true;
  }

  #spend(chain: ChainState, own: Live, actualCost: number): void {
    for (const { counter, unit, cost } of signedOf(own)?.limits ?? [])
      chain.booked.push({ counter, unit, amount: unit === 'COUNT' ? cost : Math.min(cost, actualCost) });
  }

  #chain(chainId: number): ChainState {
    if (this.#isStopped) throw new DomainError('UNAVAILABLE', 'the usage store is stopped');
    const known = this.#chains.get(chainId);
    if (known !== undefined) return known;
    const empty = {
      live: [],
      booked: [],
      generations: [],
      suspended: [],
      balances: [],
      cursor: undefined,
      records: [],
      taken: [],
    };
    this.#chains.set(chainId, empty);
    return empty;
  }
}

/** A reservation without its commit; undefined when nothing was signed for it. */
function signedOf(own: Live): Live | undefined {
  if (own.commit === undefined) return own;
  const { before } = own.commit;
  return before === undefined ? undefined : { ...before, ...idOf(own) };
}

function idOf({ recordId }: { readonly recordId?: string | undefined }): Pick<Live, 'recordId'> {
  return recordId === undefined ? {} : { recordId };
}

function shown({ commit, ...one }: Live): Reservation {
  if (commit === undefined) return one;
  const { before, ...rest } = commit;
  if (before === undefined) return { ...one, commit: rest };
  const { validUntil, limits, holds, accounts } = before;
  return { ...one, commit: { ...rest, signed: { validUntil, limits, holds, accounts } } };
}

function depositUnknown(): DomainError {
  return new DomainError('UNAVAILABLE', 'the balance is not known', { reason: 'DEPOSIT_UNKNOWN' });
}

function used(chain: ChainState, { counter, unit }: CounterId): number {
  return chain.booked
    .filter((one) => one.counter === counter && one.unit === unit)
    .reduce((sum, { amount }) => Math.max(0, sum + amount), 0);
}

/** What live reservations other than `except` hold of a counter, as limits or as holds. */
function reserved(chain: ChainState, id: CounterId, except?: ReservationKey): number {
  return chain.live
    .filter(({ key }) => except === undefined || !isSame(key, except))
    .reduce((sum, { limits, holds }) => sum + costOf(limits, id) + costOf(holds, id), 0);
}

function taken(chain: ChainState, hold: HoldShare, except: ReservationKey): number {
  const also = (hold.plusUsed ?? []).map((counter) => used(chain, { counter, unit: hold.unit }));
  return also.reduce((sum, one) => sum + one, reserved(chain, hold, except));
}

function most(
  chain: ChainState,
  { threshold }: HoldShare,
  { accounts, depositMaxAgeMs }: ReserveRequest,
  now: EpochMs,
): number {
  if (typeof threshold === 'number') return threshold;
  const { balance, readAt } = balanceOf(chain, accounts[threshold.account]!);
  if (balance === undefined || readAt === undefined || now - readAt > depositMaxAgeMs) throw depositUnknown();
  return shareOf(balance, threshold.percent);
}

/** The answer of a peek, also if something else refuses earlier; nothing for a balance that was never read. */
function shownMost(chain: ChainState, { threshold }: HoldShare, { accounts }: ReserveRequest): number {
  if (typeof threshold === 'number') return threshold;
  return shareOf(balanceOf(chain, accounts[threshold.account]!).balance ?? 0, threshold.percent);
}

function shareOf(balance: number, percent: number): number {
  return Number((BigInt(balance) * BigInt(percent)) / 100n);
}

function balanceOf(chain: ChainState, id: AccountId, except?: ReservationKey): AccountBalance {
  const known = chain.balances.find((one) => isSameAccount(one, id));
  const sum = chain.live
    .filter(({ key }) => except === undefined || !isSame(key, except))
    .reduce((total, { accounts }) => total + needOf(accounts, id), 0);
  return {
    contract: id.contract,
    ...(id.fundingAddress === undefined ? {} : { fundingAddress: id.fundingAddress }),
    balance: known?.balance,
    reserved: sum as Gwei,
    readAt: known?.readAt,
  };
}

function costOf(amounts: readonly Amount[], { counter, unit }: CounterId): number {
  return amounts.find((one) => one.counter === counter && one.unit === unit)?.cost ?? 0;
}

function needOf(accounts: Reservation['accounts'], id: AccountId): number {
  return accounts.find((one) => isSameAccount(one, id))?.need ?? 0;
}

function newest(chain: ChainState, id: string): number {
  return Math.max(0, ...chain.generations.filter((one) => one.id === id).map(({ generation }) => generation));
}

function noteAll(chain: ChainState, fences: readonly Fence[]): void {
  chain.generations.push(...fences.filter(({ id, generation }) => generation > newest(chain, id)));
}

function find(chain: ChainState, key: ReservationKey): Live | undefined {
  return chain.live.find((one) => isSame(one.key, key));
}

function replace(chain: ChainState, next: Live): void {
  const at = chain.live.findIndex(({ key }) => isSame(key, next.key));
  chain.live = at < 0 ? [...chain.live, next] : chain.live.with(at, next);
}

function remove(chain: ChainState, gone: Live): void {
  chain.live = chain.live.filter((one) => one !== gone);
}

function setBalance(chain: ChainState, read: ChainState['balances'][number]): void {
  chain.balances = [...chain.balances.filter((one) => !isSameAccount(one, read)), read];
}

/** The larger of each amount, the later time, all promises; those of `newer` are the newer ones. */
function merged(older: Live, newer: Live): Live {
  const raised = <T extends Amount>(a: readonly T[], b: readonly T[]): readonly T[] => [
    ...a.map((one) => ({ ...one, cost: Math.max(one.cost, costOf(b, one)) })),
    ...b.filter((one) => !a.some(({ counter, unit }) => one.counter === counter && one.unit === unit)),
  ];
  const digests = new Set(newer.promises.map(({ digest }) => digest));
  const known = new Set(older.promises.map(({ digest }) => digest));
  const again = newer.promises.map((one) =>
    known.has(one.digest) ? { ...one, isRepeated: true as const } : one,
  );
  const promises = [...again, ...older.promises.filter(({ digest }) => !digests.has(digest))];
  return {
    key: older.key,
    promises: promises.slice(0, 16),
    folded: foldedOf([...older.folded, ...newer.folded, ...promises.slice(16)]),
    validUntil: Math.max(older.validUntil, newer.validUntil) as EpochSeconds,
    limits: raised(older.limits, newer.limits),
    holds: raised(older.holds, newer.holds),
    accounts: [
      ...older.accounts.map((one) => ({
        ...one,
        need: Math.max(one.need, needOf(newer.accounts, one)) as Gwei,
      })),
      ...newer.accounts.filter((one) => !older.accounts.some((other) => isSameAccount(one, other))),
    ],
    ...idOf({ recordId: [older.recordId, newer.recordId].filter((id) => id !== undefined).toSorted()[0] }),
  };
}

function foldedOf(entries: readonly (FoldedPromises | SignedPromise)[]): readonly FoldedPromises[] {
  const groups = Map.groupBy(entries, ({ mode, contract }) => `${mode}/${contract}`);
  return [...groups.values()].map((group) => ({
    mode: group[0]!.mode,
    contract: group[0]!.contract,
    prefundWei: group.reduce((high, { prefundWei }) => (prefundWei > high ? prefundWei : high), 0n),
    validUntil: Math.max(...group.map(({ validUntil }) => validUntil)) as EpochSeconds,
  }));
}

function isOf({ key }: Pick<Live, 'key'>, { entryPoint, sender, nonce }: OperationId): boolean {
  return key.entryPoint === entryPoint && key.sender === sender && key.nonce === nonce;
}

function isSame(a: ReservationKey, b: ReservationKey): boolean {
  return (
    a.paymasterId === b.paymasterId &&
    a.entryPoint === b.entryPoint &&
    a.sender === b.sender &&
    a.nonce === b.nonce
  );
}

function isSameAccount(a: AccountId, b: AccountId): boolean {
  return a.contract === b.contract && a.fundingAddress === b.fundingAddress;
}
