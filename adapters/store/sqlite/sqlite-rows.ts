import { randomUUID } from 'node:crypto';
import type { Ambient } from '../../../core/ambient.js';
import { DomainError } from '../../../core/errors.js';
import type { Logger } from '../../../core/log.js';
import { asEntries, type LedgerEntry, type LedgerWriter } from '../../../core/ledger/ledger.js';
import type { LedgerRecord } from '../../../core/ledger/record.js';
import { noMetrics, type Metrics } from '../../../core/metrics.js';
import { balanceOf } from '../../../core/usage/accounts.js';
import type { FundingMessages } from '../../../core/usage/funding-messages.js';
import type { RowStore, Wanted } from '../../../core/usage/row-store.js';
import type { ChainRow, RowChanges } from '../../../core/usage/rows.js';
import { Turn } from '../../../core/usage/turn.js';
import type { Reservation } from '../../../core/usage/usage-store.js';
import type { Clock, EpochMs } from '../../../core/units/time.js';
import type { KeptEpoch, KeptEpochs } from '../kept-epochs.js';
import type { ChainRows } from './chain-rows.js';
import {
  sinceOf,
  type ChainWrite,
  type FundingMessage,
  type Usage,
  type UsageTables,
} from './usage-tables.js';
import { UsageUpkeep } from './usage-upkeep.js';

export type SqliteRowsDeps = Pick<Ambient, 'clock' | 'log'> & {
  readonly metrics?: Metrics;
  readonly tables: UsageTables;
  /** Called after each commit with the new sequence of the chain. */
  readonly onSequence?: (chainId: number, sequence: number) => void;
  /** Called now and then after a commit, with a chain that may have something to forget. */
  readonly onUpkeep?: (chainId: number) => void;
};

/** A call that waits for the end of its turn of the event loop. */
type Call = {
  readonly chainId: number;
  readonly decide: (turn: Turn, now: EpochMs) => unknown;
  readonly promisesNothing: ((result: never) => boolean) | undefined;
  readonly resolve: (result: never) => void;
  readonly reject: (error: unknown) => void;
};

/** What the store itself changes of a chain, beside its rows. */
type OwnChange = {
  epoch?: string;
  longestExpiryMs?: number;
  forgotten: string[];
};

/** Changes that are committed together: those of one turn of the event loop. */
type Batch = {
  readonly calls: Call[];
  readonly own: Map<number, OwnChange>;
  readonly messages: Map<string, FundingMessage | undefined>;
  /** Records that belong to no turn. */
  readonly records: LedgerRecord[];
  readonly committed: PromiseWithResolvers<void>;
  readonly timer: NodeJS.Immediate;
};

/** After a failed commit nothing is tried for a while, longer each time: reading everything again takes time. */
const firstRetryMs = 1_000;
const mostRetryMs = 30_000;

/**
 * Rows in SQLite, for one process, with a copy in memory that is written through. The calls of one turn of the event loop are
 * decided one after the other at its end, and what they change is committed in one transaction before they are answered.
 * A commit that fails refuses the whole turn as UNAVAILABLE, and everything is read again: the tables hold the truth,
 * also when it is not known whether they took the commit.
 */
export class SqliteRows implements RowStore, FundingMessages, KeptEpochs, LedgerWriter {
  readonly #tables: UsageTables;
  readonly #clock: Clock;
  readonly #log: Logger;
  readonly #upkeep: UsageUpkeep;
  readonly #onSequence: (chainId: number, sequence: number) => void;
  readonly #commits: { inc(): void };
  readonly #failures: { inc(): void };
  /** Undefined while the tables could not be read again. */
  #usage: Usage | undefined;
  #batch: Batch | undefined;
  /** When a commit failed, until writing is tried again. */
  #failedAt: EpochMs | undefined;
  /** 0 while commits succeed. */
  #retryMs = 0;
  #isStopped = false;

  /** Throws UNAVAILABLE when the tables cannot be read. */
  constructor(deps: SqliteRowsDeps) {
    this.#tables = deps.tables;
    this.#usage = deps.tables.read();
    this.#clock = deps.clock;
    this.#log = deps.log;
    this.#onSequence = deps.onSequence ?? (() => {});
    const { onUpkeep = () => {} } = deps;
    this.#upkeep = new UsageUpkeep({
      tables: deps.tables,
      log: deps.log,
      isBusy: () => this.#batch !== undefined || this.#isStopped,
      forget: (now) => {
        this.#dropOldMessages(now);
        for (const chainId of this.#usage?.chains.keys() ?? []) onUpkeep(chainId);
      },
    });
    const commits = (deps.metrics ?? noMetrics).counter<'outcome'>({
      name: 'paymaster_usage_commits_total',
      help: 'Transactions of the embedded usage store, by outcome: ok or failed.',
      labels: ['outcome'],
    });
    this.#commits = commits.with({ outcome: 'ok' });
    this.#failures = commits.with({ outcome: 'failed' });
  }

  now(): EpochMs {
    return this.#clock.now();
  }

  turn<T>(
    chainId: number,
    _: Wanted,
    decide: (turn: Turn, now: EpochMs) => T,
    promisesNothing?: (result: T) => boolean,
  ): Promise<T> {
    try {
      this.#assertUsableToWrite();
      const { calls } = this.#openBatch();
      return new Promise<T>((resolve, reject) => {
        calls.push({ chainId, decide, promisesNothing, resolve, reject });
      });
    } catch (error) {
      return Promise.reject(error);
    }
  }

  async look<T>(chainId: number, _: Wanted, see: (turn: Turn, now: EpochMs) => T): Promise<T> {
    const rows = this.#rows(chainId);
    const turn = new Turn(chainId, rows);
    const seen = see(turn, this.#clock.now());
    rows.place = turn.place;
    return seen;
  }

  async chain(chainId: number): Promise<ChainRow> {
    return this.#settled(chainId).chain;
  }

  async reservations(
    ...[chainId, query]: Parameters<RowStore['reservations']>
  ): ReturnType<RowStore['reservations']> {
    const rows = this.#settled(chainId);
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
  }

  async liveCount(chainId: number): Promise<number> {
    return this.#settled(chainId).live;
  }

  async takenSteps(chainId: number): ReturnType<RowStore['takenSteps']> {
    return this.#tables.takenSteps(this.#settled(chainId));
  }

  async openStep(chainId: number): ReturnType<RowStore['openStep']> {
    return this.#tables.openStep(this.#settled(chainId));
  }

  async accounts(chainId: number): ReturnType<RowStore['accounts']> {
    return Array.from(this.#settled(chainId).accounts(), (account) => balanceOf(account, account));
  }

  async suspended(chainId: number): Promise<readonly string[]> {
    return [...this.#settled(chainId).fences()].filter(({ isSuspended }) => isSuspended).map(({ id }) => id);
  }

  async dueCommits(
    ...[chainId, at, limit]: Parameters<RowStore['dueCommits']>
  ): ReturnType<RowStore['dueCommits']> {
    this.#settled(chainId);
    return this.#tables.dueCommits(chainId, at, limit);
  }

  async endedCounters(
    ...[chainId, before, limit]: Parameters<RowStore['endedCounters']>
  ): ReturnType<RowStore['endedCounters']> {
    const rows = this.#settled(chainId);
    return this.#tables.endedCounters(chainId, before, limit, (id) => rows.counter(id)?.holders === 0);
  }

  async forgetFences(chainId: number, before: EpochMs): Promise<void> {
    const old = [...this.#settled(chainId).fences()].filter(
      ({ seenAt, isSuspended }) => !isSuspended && seenAt < before,
    );
    if (old.length === 0) return;
    await this.#change(chainId, (own) => own.forgotten.push(...old.map(({ id }) => id)));
  }

  async putFundingMessage(paymasterId: string, message: string, expiresAt: EpochMs): Promise<void> {
    await this.#changeMessage(paymasterId, { message, expiresAt });
  }

  async getFundingMessage(paymasterId: string): Promise<string | undefined> {
    return this.#liveMessage(paymasterId);
  }

  async consumeFundingMessage(paymasterId: string, message: string): Promise<boolean> {
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
    const batch = this.#openBatch();
    batch.records.push(...records);
    await batch.committed.promise;
  }

  async ping(): Promise<void> {
    this.assertUsable();
    this.#assertWritable();
    this.#tables.probe();
  }

  /** Commits pending changes, whether or not that works. */
  settle(): void {
    this.#endBatch();
  }

  async stop(): Promise<void> {
    if (this.#isStopped) return;
    this.settle();
    this.#isStopped = true;
    this.#upkeep.stop();
    this.#tables.close();
  }

  assertUsable(): void {
    if (this.#isStopped)
      throw new DomainError('UNAVAILABLE', 'the usage store is stopped', { reason: 'USAGE_STORE_DOWN' });
  }

  #liveMessage(paymasterId: string): string | undefined {
    const { messages } = this.#read();
    const pending = this.#batch?.messages;
    const live = pending?.has(paymasterId) === true ? pending.get(paymasterId) : messages.get(paymasterId);
    return live !== undefined && live.expiresAt > this.#clock.now() ? live.message : undefined;
  }

  #read(): Usage {
    this.assertUsable();
    if (this.#usage === undefined) this.#assertWritable();
    if (this.#usage === undefined) throw cannotWrite();
    return this.#usage;
  }

  #rows(chainId: number): ChainRows {
    return this.#tables.chainOf(this.#read(), chainId);
  }

  /** The rows of a chain after all that was called before. */
  #settled(chainId: number): ChainRows {
    this.#read();
    this.#endBatch();
    return this.#rows(chainId);
  }

  #assertUsableToWrite(): void {
    this.assertUsable();
    if (this.#failedAt !== undefined) this.#assertWritable();
    this.#read();
  }

  async #change(chainId: number, change: (own: OwnChange) => void): Promise<void> {
    this.#assertUsableToWrite();
    const { own, committed } = this.#openBatch();
    const known = own.get(chainId) ?? { forgotten: [] };
    own.set(chainId, known);
    change(known);
    await committed.promise;
  }

  async #changeMessage(paymasterId: string, message: FundingMessage | undefined): Promise<void> {
    this.assertUsable();
    this.#assertWritable();
    this.#read();
    const { messages, committed } = this.#openBatch();
    messages.set(paymasterId, message);
    await committed.promise;
  }

  #dropOldMessages(now: EpochMs): void {
    for (const [paymasterId, { expiresAt }] of this.#usage?.messages ?? [])
      if (expiresAt <= now) this.#openBatch().messages.set(paymasterId, undefined);
  }

  #openBatch(): Batch {
    if (this.#batch !== undefined) return this.#batch;
    const committed = Promise.withResolvers<void>();
    // A turn of calls alone has no caller that waits for all of it.
    committed.promise.catch(() => {});
    this.#batch = {
      calls: [],
      own: new Map(),
      messages: new Map(),
      records: [],
      committed,
      timer: setImmediate(() => this.#endBatch()),
    };
    return this.#batch;
  }

  #endBatch(): void {
    const batch = this.#batch;
    if (batch === undefined) return;
    this.#batch = undefined;
    clearImmediate(batch.timer);
    const waiting: Pick<Call, 'reject'>[] = [];
    const answers: (() => void)[] = [];
    try {
      const turns = new Map<number, Turn>();
      for (const { chainId, decide, promisesNothing, resolve, reject } of batch.calls)
        try {
          let turn = turns.get(chainId);
          if (turn === undefined) turns.set(chainId, (turn = new Turn(chainId, this.#rows(chainId))));
          const result = decide(turn, this.#clock.now()) as never;
          // A refusal promises nothing, so it need not wait for the commit of a generation that came with it.
          if (promisesNothing?.(result) === true) resolve(result);
          else {
            waiting.push({ reject });
            answers.push(() => resolve(result));
          }
        } catch (error) {
          reject(error);
        }
      this.#write(batch, turns);
      batch.committed.resolve();
      for (const answer of answers) answer();
    } catch (error) {
      batch.committed.reject(error);
      for (const { reject } of waiting) reject(error);
    }
  }

  #write({ own, messages, records }: Batch, turns: ReadonlyMap<number, Turn>): void {
    const usage = this.#read();
    const written: ChainWrite[] = [];
    for (const chainId of new Set([...turns.keys(), ...own.keys()])) {
      const turn = turns.get(chainId);
      const changes = turn?.changes();
      const change = own.get(chainId);
      if (turn !== undefined) this.#rows(chainId).place = turn.place;
      if (changes === undefined && change === undefined) continue;
      written.push(this.#chainWrite(this.#rows(chainId), changes, change));
    }
    // Every request of the turn was refused.
    if (written.length === 0 && messages.size === 0 && records.length === 0) return;
    const entries = entriesOf(written, records);
    let places: readonly (readonly number[])[];
    try {
      places = this.#tables.write(written, messages, entries);
    } catch (cause) {
      this.#fail(cause);
      throw cannotWrite(cause);
    }
    for (const [i, one] of written.entries()) this.#take(one, places[i]!);
    for (const [paymasterId, message] of messages)
      if (message === undefined) usage.messages.delete(paymasterId);
      else usage.messages.set(paymasterId, message);
    this.#commits.inc();
    if (this.#retryMs > 0) this.#log.info('usage store commits again');
    this.#retryMs = 0;
    for (const { rows } of written) this.#onSequence(rows.chainId, rows.written);
    this.#upkeep.afterCommit(
      written.reduce((sum, { changes }) => sum + rowsOf(changes), entries.length),
      this.#clock.now(),
    );
  }

  #chainWrite(rows: ChainRows, changes: RowChanges | undefined, own: OwnChange | undefined): ChainWrite {
    return {
      rows,
      changes,
      epoch: own?.epoch ?? rows.epoch,
      longestExpiryMs: own?.longestExpiryMs ?? rows.longestExpiryMs,
      forgotten: own?.forgotten ?? [],
    };
  }

  #take({ rows, changes, epoch, longestExpiryMs, forgotten }: ChainWrite, places: readonly number[]): void {
    if (changes !== undefined) rows.take(changes, places);
    for (const id of forgotten) rows.removeFence(id);
    rows.written += 1;
    rows.place = 0;
    rows.longestExpiryMs = longestExpiryMs;
    if (rows.epoch === epoch) return;
    rows.epoch = epoch;
    rows.chain = { ...rows.chain, since: sinceOf(epoch) };
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

function entriesOf(written: readonly ChainWrite[], records: readonly LedgerRecord[]): readonly LedgerEntry[] {
  const ofTurns = written.flatMap(({ changes }) => asEntries(changes?.records ?? []));
  return [...ofTurns, ...records.map((record) => ({ record, reservation: undefined }))];
}

function rowsOf(changes: RowChanges | undefined): number {
  return changes === undefined ? 1 : changes.reservations.length + changes.ended.length + 1;
}

function cannotWrite(cause?: unknown): DomainError {
  return new DomainError('UNAVAILABLE', 'the usage store cannot write', {
    reason: 'USAGE_STORE_DOWN',
    retryAfterSeconds: 1,
    ...(cause === undefined ? {} : { cause }),
  });
}
