import { randomUUID } from 'node:crypto';
import type { Ambient } from '../../../core/ambient.js';
import { DomainError } from '../../../core/errors.js';
import type { Logger } from '../../../core/log.js';
import { noMetrics, type Metrics } from '../../../core/metrics.js';
import type { FundingMessages } from '../../../core/usage/funding-messages.js';
import type { ChainLedger } from '../../../core/usage/ledger.js';
import { reservationOf, operationOf, type Entry } from '../../../core/usage/reservations.js';
import { balanceOf } from '../../../core/usage/accounts.js';
import type {
  Reservation,
  ReserveRequest,
  ReserveResult,
  UsageStore,
} from '../../../core/usage/usage-store.js';
import type { Clock, EpochMs } from '../../../core/units/time.js';
import type { KeptEpoch, KeptEpochs } from '../kept-epochs.js';
import { UsageFullness } from '../usage-fullness.js';
import type { LedgerOutbox } from './ledger-outbox.js';
import { OutboxFeed, type OutboxOptions } from './outbox-feed.js';
import { AskedRequests } from './asked-requests.js';
import { ledgerOf, type FundingMessage, type Usage, type UsageTables } from './usage-tables.js';
import { UsageUpkeep } from './usage-upkeep.js';

export type LedgerUsageDeps = Pick<Ambient, 'clock' | 'log'> & {
  readonly metrics?: Metrics;
  /** Written together with the tables. */
  readonly outbox: LedgerOutbox;
  readonly ledger: OutboxOptions;
  readonly tables: UsageTables;
  /** Called after each commit with the new sequence of the chain. */
  readonly onSequence?: (chainId: number, sequence: number) => void;
};

/** Changes that are committed together: those of one turn of the event loop. */
type Turn = { readonly committed: PromiseWithResolvers<void>; readonly timer: NodeJS.Immediate };

/** After a failed commit nothing is tried for a while, longer each time: reading everything again takes time. */
const firstRetryMs = 1_000;
const mostRetryMs = 30_000;

/**
 * Decides in memory. It decides the requests of one turn of the event loop at its end, and commits their changes in one
 * transaction, before the answers of that turn are sent. A commit that fails refuses the whole turn as UNAVAILABLE, and everything is read again: the
 * tables hold the truth, also when it is not known whether they took the commit.
 */
export class LedgerUsageStore implements UsageStore, FundingMessages, KeptEpochs {
  readonly feed: OutboxFeed;
  readonly #tables: UsageTables;
  readonly #outbox: LedgerOutbox;
  readonly #clock: Clock;
  readonly #log: Logger;
  readonly #upkeep: UsageUpkeep;
  readonly #onSequence: (chainId: number, sequence: number) => void;
  readonly #commits: { inc(): void };
  readonly #failures: { inc(): void };
  readonly #fullness: UsageFullness;
  /** Undefined while the tables could not be read again. */
  #usage: Usage | undefined;
  #changedMessages = new Map<string, FundingMessage | undefined>();
  #turn: Turn | undefined;
  readonly #asked = new AskedRequests();
  /** When a commit failed, until writing is tried again. */
  #failedAt: EpochMs | undefined;
  /** 0 while commits succeed. */
  #retryMs = 0;
  #isStopped = false;

  /** Throws UNAVAILABLE when the tables cannot be read. */
  constructor(deps: LedgerUsageDeps) {
    this.#tables = deps.tables;
    this.#outbox = deps.outbox;
    this.#usage = deps.tables.read();
    this.#clock = deps.clock;
    this.#log = deps.log;
    this.#onSequence = deps.onSequence ?? (() => {});
    this.#upkeep = new UsageUpkeep({
      tables: deps.tables,
      log: deps.log,
      isBusy: () => this.#turn !== undefined || this.#isStopped,
    });
    const commits = (deps.metrics ?? noMetrics).counter<'outcome'>({
      name: 'paymaster_usage_commits_total',
      help: 'Transactions of the embedded usage store, by outcome: ok or failed.',
      labels: ['outcome'],
    });
    this.#commits = commits.with({ outcome: 'ok' });
    this.#failures = commits.with({ outcome: 'failed' });
    this.#fullness = new UsageFullness(deps.metrics ?? noMetrics);
    this.feed = new OutboxFeed({
      outbox: deps.outbox,
      clock: deps.clock,
      commit: (change) => this.#changeOutbox(change),
      options: deps.ledger,
    });
  }

  now(): EpochMs {
    return this.#clock.now();
  }

  reserve(request: ReserveRequest): Promise<ReserveResult> {
    try {
      this.#writable(request.key.chainId);
      this.#openTurn();
      return this.#asked.add(request);
    } catch (error) {
      return Promise.reject(error);
    }
  }

  async dropCommits(chainId: number): Promise<number> {
    return this.#change(chainId, (chain) => chain.dropCommits(this.#clock.now()));
  }

  async peek(request: ReserveRequest): ReturnType<UsageStore['peek']> {
    return this.#chain(request.key.chainId).peek(request, this.#clock.now());
  }

  async counters(...[chainId, ids]: Parameters<UsageStore['counters']>): ReturnType<UsageStore['counters']> {
    const { counters } = this.#settled(chainId);
    return ids.map((id) => counters.state(id));
  }

  async noteGenerations(...[chainId, fences]: Parameters<UsageStore['noteGenerations']>): Promise<void> {
    await this.#change(chainId, (chain) => chain.noteGenerations(fences, this.#clock.now()));
  }

  async setSuspended(chainId: number, id: string, isSuspended: boolean): Promise<void> {
    await this.#change(chainId, (chain) => chain.setSuspended(id, isSuspended, this.#clock.now()));
  }

  async suspended(chainId: number): Promise<readonly string[]> {
    return this.#settled(chainId).fences.suspended();
  }

  async reservations(
    ...[chainId, query]: Parameters<UsageStore['reservations']>
  ): Promise<readonly Reservation[]> {
    const { reservations } = this.#settled(chainId);
    if (query === undefined) return Array.from(reservations.all(), reservationOf);
    const found = new Set<Entry>();
    for (const operation of query.operations)
      for (const entry of reservations.ofOperation(operationOf(operation))) found.add(entry);
    let expired = 0;
    for (const entry of reservations.expired(query.expiredBefore)) {
      if (expired === query.limit) break;
      expired += 1;
      found.add(entry);
    }
    return Array.from(found, reservationOf);
  }

  async liveCount(chainId: number): Promise<number> {
    return this.#settled(chainId).reservations.size;
  }

  capacity(): number {
    return Infinity;
  }

  async cursor(chainId: number): ReturnType<UsageStore['cursor']> {
    return this.#settled(chainId).cursor;
  }

  async advance(step: Parameters<UsageStore['advance']>[0]): ReturnType<UsageStore['advance']> {
    return this.#change(step.chainId, (chain) => chain.advance(step));
  }

  async takenSteps(chainId: number): ReturnType<UsageStore['takenSteps']> {
    return this.#tables.takenSteps(this.#settled(chainId));
  }

  async addBalance(...[chainId, account]: Parameters<UsageStore['addBalance']>): Promise<void> {
    const { balance, readAt } = account;
    await this.#change(chainId, (chain) => {
      if (chain.accounts.find(account)?.balance === undefined) chain.setBalance(account, balance, readAt);
    });
  }

  async accounts(chainId: number): ReturnType<UsageStore['accounts']> {
    return Array.from(this.#settled(chainId).accounts.all(), (account) => balanceOf(account, account));
  }

  async forgetAccounts(...[chainId, accounts]: Parameters<UsageStore['forgetAccounts']>): Promise<void> {
    await this.#change(chainId, (chain) => chain.forgetAccounts(accounts));
  }

  async putFundingMessage(paymasterId: string, message: string, expiresAt: EpochMs): Promise<void> {
    await this.#changeMessage(paymasterId, { message, expiresAt });
  }

  async getFundingMessage(paymasterId: string): Promise<string | undefined> {
    return this.#liveMessage(paymasterId);
  }

  async consumeFundingMessage(paymasterId: string, message: string): Promise<boolean> {
    return this.#liveMessage(paymasterId) === message && this.#changeMessage(paymasterId, undefined);
  }

  async read(chainId: number): Promise<KeptEpoch> {
    return this.#kept(this.#settled(chainId));
  }

  async begin(chainId: number, expected: string, isFirst: boolean): Promise<KeptEpoch> {
    await this.#change(chainId, (chain) => {
      if (chain.epoch === expected) chain.setEpoch(`${randomUUID()}:${isFirst ? 0 : this.#clock.now()}`);
    });
    return this.read(chainId);
  }

  async noteExpiry(chainId: number, expected: string, longestExpiryMs: number): Promise<void> {
    await this.#change(chainId, (chain) => {
      if (chain.epoch === expected) chain.noteExpiry(longestExpiryMs);
    });
  }

  async ping(): Promise<void> {
    this.assertUsable();
    this.#assertWritable();
    this.#tables.probe();
  }

  /** Commits pending changes, whether or not that works. */
  settle(): void {
    this.#commitTurn();
  }

  async stop(): Promise<void> {
    if (this.#isStopped) return;
    this.settle();
    this.#isStopped = true;
    await this.feed.stop();
    this.#upkeep.stop();
    this.#tables.close();
  }

  assertUsable(): void {
    if (this.#isStopped)
      throw new DomainError('UNAVAILABLE', 'the usage store is stopped', { reason: 'USAGE_STORE_DOWN' });
  }

  /** Throws UNAVAILABLE when a balance is not known. Even then a newer generation may have to be stored. */
  #decide(request: ReserveRequest): ReserveResult {
    const chain = this.#writable(request.key.chainId);
    const result = chain.reserve(request, this.#clock.now());
    this.#noteFullness(request, result, chain);
    return result;
  }

  #liveMessage(paymasterId: string): string | undefined {
    const live = this.#read().messages.get(paymasterId);
    return live !== undefined && live.expiresAt > this.#clock.now() ? live.message : undefined;
  }

  #noteFullness({ limits }: ReserveRequest, result: ReserveResult, chain: ChainLedger): void {
    if (result.outcome === 'limit') this.#fullness.observe(limits[result.index]!, result.used);
    if (result.outcome !== 'reserved') return;
    for (let i = 0; i < limits.length; i++) this.#fullness.observe(limits[i]!, chain.taken(i));
  }

  #kept({ epoch, sequence, longestExpiryMs }: ChainLedger): KeptEpoch {
    return { kept: epoch, sequence, longestExpiryMs, now: this.#clock.now() };
  }

  #read(): Usage {
    this.assertUsable();
    if (this.#usage === undefined) this.#assertWritable();
    if (this.#usage === undefined) throw cannotWrite();
    return this.#usage;
  }

  #chain(chainId: number): ChainLedger {
    return ledgerOf(this.#read(), chainId);
  }

  /** The ledger of a chain without uncommitted changes. */
  #settled(chainId: number): ChainLedger {
    this.#read();
    this.#commitTurn();
    return this.#chain(chainId);
  }

  #writable(chainId: number): ChainLedger {
    this.assertUsable();
    if (this.#failedAt !== undefined) this.#assertWritable();
    return this.#chain(chainId);
  }

  /** Changes a chain and resolves when that is committed. */
  async #change<T>(chainId: number, change: (chain: ChainLedger) => T): Promise<T> {
    const chain = this.#writable(chainId);
    const result = change(chain);
    if (chain.hasChanged) await this.#openTurn().committed.promise;
    return result;
  }

  /** True when the change is committed. */
  async #changeMessage(paymasterId: string, message: FundingMessage | undefined): Promise<true> {
    this.assertUsable();
    this.#assertWritable();
    const { messages } = this.#read();
    if (message === undefined) messages.delete(paymasterId);
    else messages.set(paymasterId, message);
    this.#changedMessages.set(paymasterId, message);
    await this.#openTurn().committed.promise;
    return true;
  }

  async #changeOutbox(change: () => void): Promise<void> {
    this.assertUsable();
    this.#assertWritable();
    change();
    await this.#openTurn().committed.promise;
  }

  #openTurn(): Turn {
    return (this.#turn ??= {
      committed: Promise.withResolvers<void>(),
      timer: setImmediate(() => this.#commitTurn()),
    });
  }

  #commitTurn(): void {
    const turn = this.#turn;
    if (turn === undefined) return;
    const made = this.#asked.decide((request) => this.#decide(request));
    this.#turn = undefined;
    clearImmediate(turn.timer);
    try {
      this.#write();
      turn.committed.resolve();
      for (const { resolve, result } of made) resolve(result);
    } catch (error) {
      // A turn of reservations alone has no caller that waits for all of it.
      turn.committed.promise.catch(() => {});
      turn.committed.reject(error);
      for (const { reject } of made) reject(error);
    }
  }

  #write(): void {
    const usage = this.#read();
    const changed = [...usage.chains.values()].flatMap((chain) => {
      const changes = chain.takeChanges();
      return changes === undefined ? [] : [{ chain, changes }];
    });
    const messages = this.#changedMessages;
    // Every request of the turn was refused.
    if (changed.length === 0 && messages.size === 0 && !this.#outbox.hasChanged) return;
    this.#changedMessages = new Map();
    for (const { chain, changes } of changed)
      if (changes.records.length > 0) this.#outbox.add(chain.chainId, changes.records, this.#clock.now());
    try {
      this.#tables.write(changed, messages);
    } catch (cause) {
      this.#outbox.failed();
      this.#fail(cause);
      throw cannotWrite(cause);
    }
    this.#commits.inc();
    if (this.#retryMs > 0) this.#log.info('usage store commits again');
    this.#retryMs = 0;
    for (const { chain } of changed) this.#onSequence(chain.chainId, chain.sequence);
    const rows = changed.map(({ changes }) => changes.reservations.length + changes.ended.length + 1);
    this.#upkeep.afterCommit(rows.reduce((sum, one) => sum + one, this.#outbox.committed()));
    if (this.#upkeep.forget(usage, this.#changedMessages, this.#clock.now())) this.#openTurn();
  }

  #fail(cause: unknown): void {
    this.#failures.inc();
    if (this.#retryMs === 0) this.#log.error('usage store cannot commit', { error: cause });
    this.#retryMs = Math.min(mostRetryMs, Math.max(firstRetryMs, 2 * this.#retryMs));
    this.#failedAt = this.#clock.now();
    this.#usage = undefined;
    try {
      this.#usage = this.#tables.read();
    } catch (error) {
      this.#log.error('usage store cannot be read again', { error });
    }
  }

  /** After a failure, tries now and then whether writing works again. Throws UNAVAILABLE. */
  #assertWritable(): void {
    if (this.#failedAt === undefined) return;
    const now = this.#clock.now();
    if (Math.abs(now - this.#failedAt) < this.#retryMs) throw cannotWrite();
    this.#failedAt = now;
    try {
      this.#tables.probe();
      this.#usage ??= this.#tables.read();
    } catch (cause) {
      throw cannotWrite(cause);
    }
    this.#failedAt = undefined;
  }
}

function cannotWrite(cause?: unknown): DomainError {
  return new DomainError('UNAVAILABLE', 'the usage store cannot write', {
    reason: 'USAGE_STORE_DOWN',
    retryAfterSeconds: 1,
    ...(cause === undefined ? {} : { cause }),
  });
}
