import { randomUUID } from 'node:crypto';
import type { Ambient } from '../../../core/ambient.js';
import { DomainError } from '../../../core/errors.js';
import type { LedgerWriter } from '../../../core/ledger/ledger.js';
import type { LedgerRecord } from '../../../core/ledger/record.js';
import type { Metrics } from '../../../core/metrics.js';
import { Pending, type Later } from '../../../core/pending.js';
import { toAccountBalance } from '../../../core/usage/accounts.js';
import type { KeptTexts } from '../../../core/usage/kept-texts.js';
import type { RowStore, Wanted } from '../../../core/usage/row-store.js';
import type { ChainRow } from '../../../core/usage/rows.js';
import type { OpenStep } from '../../../core/usage/step-parts.js';
import { Turn } from '../../../core/usage/turn.js';
import type { ReservationQuery, TakenStep } from '../../../core/usage/follower-step.js';
import type { CounterId, Reservation, ReservationKey } from '../../../core/usage/reservation.js';
import type { AccountBalance } from '../../../core/usage/reserve-request.js';
import type { Clock, EpochMs } from '../../../core/units/time.js';
import type { KeptEpoch, KeptEpochs } from '../kept-epochs.js';
import type { UsageEpochs } from '../usage-epochs.js';
import { Batches, type OwnChange } from './batches.js';
import type { ChainRows } from './chain-rows.js';
import { StoredUsage } from './stored-usage.js';
import type { KeptText, UsageTables } from './usage-tables.js';
import { UsageMaintenance } from './usage-maintenance.js';

type SqliteRowsDeps = Pick<Ambient, 'clock' | 'log'> & {
  readonly metrics: Metrics;
  readonly tables: UsageTables;
  readonly epochs: () => UsageEpochs;
  /** Called now and then after a commit, with a chain that may have something to forget. */
  readonly onMaintenance: (chainId: number) => void;
};

/**
 * Rows in SQLite, for one process, with a copy in memory that is written through, see {@link Batches} and {@link StoredUsage}. Calls about a chain wait until its epoch has been found equal to the copy.
 */
export class SqliteRows implements RowStore, KeptTexts, KeptEpochs, LedgerWriter {
  readonly #deps: SqliteRowsDeps;
  readonly #tables: UsageTables;
  readonly #clock: Clock;
  readonly #stored: StoredUsage;
  readonly #batches: Batches;
  readonly #maintenance: UsageMaintenance;
  /** Calls that wait until the epoch has been found equal to its copy. */
  readonly #waiting = new Set<Promise<unknown>>();
  #isStopped = false;

  /** Throws UNAVAILABLE when the tables cannot be read. */
  constructor(deps: SqliteRowsDeps) {
    this.#deps = deps;
    this.#tables = deps.tables;
    this.#clock = deps.clock;
    this.#stored = new StoredUsage(deps, deps.metrics);
    this.#batches = new Batches(this.#stored, deps.clock, (chains, rows) => {
      for (const { chainId, written } of chains) deps.epochs().seen(chainId, written);
      this.#maintenance.afterCommit(rows, deps.clock.now());
    });
    this.#maintenance = new UsageMaintenance({
      tables: deps.tables,
      log: deps.log,
      forget: (now) => {
        this.#dropOldMessages(now);
        for (const chainId of this.#stored.read().chains.keys()) deps.onMaintenance(chainId);
      },
    });
  }

  now(): EpochMs {
    return this.#clock.now();
  }

  turn<T>(
    chainId: number,
    _: () => Wanted,
    decide: (turn: Turn, now: EpochMs) => T,
    promisesNothing?: (result: T) => boolean,
  ): PromiseLike<T> {
    const call = (): PromiseLike<T> => {
      const answer = new Pending<T>();
      try {
        this.#assertUsableToWrite();
        this.#batches.add(chainId, { decide, promisesNothing, answer });
      } catch (error) {
        answer.reject(error);
      }
      return answer;
    };
    return this.#isKnown(chainId) ? call() : this.#intact(chainId, call);
  }

  look<T>(chainId: number, _: () => Wanted, read: (turn: Turn, now: EpochMs) => T): Promise<T> {
    return this.#intact(chainId, () => {
      const rows = this.#rows(chainId);
      const turn = new Turn(chainId, rows);
      const seen = read(turn, this.#clock.now());
      rows.place = turn.place;
      return seen;
    });
  }

  chain(chainId: number): Promise<ChainRow> {
    return this.#ask(chainId, ({ chain }) => chain);
  }

  reservations(chainId: number, query?: ReservationQuery): Promise<readonly Reservation[]> {
    return this.#ask(chainId, (rows) => {
      if (query === undefined) return this.#tables.all(chainId);
      const found = new Map<number, Reservation>();
      for (const { entryPoint, sender, nonce } of query.operations)
        for (const { paymasterId, row } of rows.ofOperation({ entryPoint, sender, nonce })) {
          const key = { chainId, paymasterId, entryPoint, sender, nonce };
          if (!found.has(row)) found.set(row, this.#tables.reader.reservation(key, row));
        }
      const expired = this.#tables
        .expired(chainId, query.expiredBefore, query.limit)
        .filter(({ key }) => !found.has(rows.rowOf(key) ?? 0));
      return [...found.values(), ...expired];
    });
  }

  liveCount(chainId: number): Promise<number> {
    return this.#ask(chainId, ({ live }) => live);
  }

  takenSteps(chainId: number): Promise<readonly TakenStep[]> {
    return this.#ask(chainId, (rows) => this.#tables.takenSteps(rows));
  }

  openStep(chainId: number): Promise<OpenStep | undefined> {
    return this.#ask(chainId, (rows) => this.#tables.openStep(rows));
  }

  accounts(chainId: number): Promise<readonly AccountBalance[]> {
    return this.#ask(chainId, (rows) =>
      Array.from(rows.accounts(), (account) => toAccountBalance(account, account)),
    );
  }

  suspended(chainId: number): Promise<readonly string[]> {
    return this.#ask(chainId, (rows) =>
      [...rows.fences()].filter(({ isSuspended }) => isSuspended).map(({ id }) => id),
    );
  }

  dueCommits(chainId: number, at: EpochMs, limit: number): Promise<readonly ReservationKey[]> {
    return this.#ask(chainId, () => this.#tables.dueCommits(chainId, at, limit));
  }

  endedCounters(chainId: number, before: EpochMs, limit: number): Promise<readonly CounterId[]> {
    return this.#ask(chainId, (rows) =>
      this.#tables.endedCounters(chainId, before, limit, (id) => rows.counter(id)?.holders === 0),
    );
  }

  forgetFences(chainId: number, before: EpochMs): Promise<void> {
    return this.#ask(chainId, async (rows) => {
      const old = [...rows.fences()].filter(({ seenAt, isSuspended }) => !isSuspended && seenAt < before);
      if (old.length === 0) return;
      await this.#change(chainId, (own) => own.forgotten.push(...old.map(({ id }) => id)));
    });
  }

  async putText(paymasterId: string, message: string, expiresAt: EpochMs): Promise<void> {
    await this.#changeMessage(paymasterId, { message, expiresAt });
  }

  async addText(
    name: string,
    message: string,
    expiresAt: EpochMs,
    { prefix, most }: { readonly prefix: string; readonly most: number },
  ): Promise<boolean> {
    const names = [...this.#stored.read().messages.keys(), ...(this.#batches.pending?.messages.keys() ?? [])];
    const alike = [...new Set(names)].filter(
      (each) => each.startsWith(prefix) && this.#liveMessage(each) !== undefined,
    );
    if (this.#liveMessage(name) !== undefined || alike.length >= most) return false;
    await this.#changeMessage(name, { message, expiresAt });
    return true;
  }

  async getText(paymasterId: string): Promise<string | undefined> {
    return this.#liveMessage(paymasterId);
  }

  async getTexts(names: readonly string[]): Promise<ReadonlyMap<string, string>> {
    return new Map(
      names.flatMap((name) => {
        const text = this.#liveMessage(name);
        return text === undefined ? [] : [[name, text] as const];
      }),
    );
  }

  async takeText(paymasterId: string, message: string): Promise<boolean> {
    if (this.#liveMessage(paymasterId) !== message) return false;
    await this.#changeMessage(paymasterId, undefined);
    return true;
  }

  async read(chainId: number): Promise<KeptEpoch> {
    const { epoch, written, longestExpiryMs } = this.#settled(chainId);
    return { kept: epoch, sequence: written, longestExpiryMs, now: this.#clock.now() };
  }

  async begin(chainId: number, expected: string, isFirst: boolean): Promise<KeptEpoch> {
    if (this.#settled(chainId).epoch === expected)
      await this.#change(chainId, (own) => {
        own.epoch = `${randomUUID()}:${isFirst ? 0 : this.#clock.now()}`;
      });
    return this.read(chainId);
  }

  async noteExpiry(chainId: number, expected: string, longestExpiryMs: number): Promise<void> {
    if (this.#settled(chainId).epoch !== expected) return;
    await this.#change(chainId, (own) => {
      own.longestExpiryMs = longestExpiryMs;
    });
  }

  /** With the next turn. */
  async add(records: readonly LedgerRecord[]): Promise<void> {
    this.#assertUsableToWrite();
    const batch = this.#batches.open();
    batch.records.push(...records);
    await batch.committed.promise;
  }

  async ping(): Promise<void> {
    this.assertUsable();
    this.#stored.assertWritable();
    this.#tables.probe();
  }

  /** Lets waiting calls finish, and commits pending changes, whether or not that works. */
  async drain(): Promise<void> {
    await Promise.allSettled(this.#waiting);
    this.#batches.end();
  }

  async stop(): Promise<void> {
    if (this.#isStopped) return;
    this.#batches.end();
    this.#isStopped = true;
    this.#maintenance.stop();
    this.#tables.close();
  }

  assertUsable(): void {
    if (this.#isStopped)
      throw new DomainError('UNAVAILABLE', 'the usage store is stopped', { reason: 'USAGE_STORE_DOWN' });
  }

  #liveMessage(paymasterId: string): string | undefined {
    this.assertUsable();
    const { messages } = this.#stored.read();
    const pending = this.#batches.pending?.messages;
    const live = pending?.has(paymasterId) === true ? pending.get(paymasterId) : messages.get(paymasterId);
    return live !== undefined && live.expiresAt > this.#clock.now() ? live.message : undefined;
  }

  #rows(chainId: number): ChainRows {
    this.assertUsable();
    return this.#stored.rows(chainId);
  }

  /** The rows of a chain after all that was called before. */
  #settled(chainId: number): ChainRows {
    this.#rows(chainId);
    this.#batches.end();
    return this.#rows(chainId);
  }

  /** Once the epoch has been found equal to its copy, no comparison is needed: the file is locked, so nobody can exchange the data. */
  #isKnown(chainId: number): boolean {
    return this.#deps.epochs().known(chainId) !== undefined;
  }

  /** Throws UNAVAILABLE while the data of the chain are lost. */
  async #intact<T>(chainId: number, call: () => Later<T>): Promise<T> {
    if (this.#isKnown(chainId)) return call();
    const called = this.#deps.epochs().of(chainId).then(call);
    this.#waiting.add(called);
    try {
      return await called;
    } finally {
      this.#waiting.delete(called);
    }
  }

  #ask<T>(chainId: number, question: (rows: ChainRows) => T | Promise<T>): Promise<T> {
    return this.#intact(chainId, () => question(this.#settled(chainId)));
  }

  #assertUsableToWrite(): void {
    this.assertUsable();
    this.#stored.assertWritable();
    this.#stored.read();
  }

  async #change(chainId: number, change: (own: OwnChange) => void): Promise<void> {
    this.#assertUsableToWrite();
    const { own, committed } = this.#batches.open();
    const known = own.get(chainId) ?? { forgotten: [] };
    own.set(chainId, known);
    change(known);
    await committed.promise;
  }

  async #changeMessage(paymasterId: string, message: KeptText | undefined): Promise<void> {
    this.#assertUsableToWrite();
    const { messages, committed } = this.#batches.open();
    messages.set(paymasterId, message);
    await committed.promise;
  }

  #dropOldMessages(now: EpochMs): void {
    for (const [paymasterId, { expiresAt }] of this.#stored.read().messages)
      if (expiresAt <= now) this.#batches.open().messages.set(paymasterId, undefined);
  }
}
