import type { FeedEntry, FeedState, LedgerFeed } from '../../../core/ledger/feed.js';
import { ledgerFull } from '../../../core/ledger/full.js';
import type { Clock, EpochMs } from '../../../core/units/time.js';
import type { LedgerOutbox, OutboxRow } from './ledger-outbox.js';

export type OutboxOptions = {
  /** After this time what was read and not acknowledged is read again. Default 60,000. */
  readonly claimAfterMs?: number;
  /** Room for texts in bytes, half of it for offered texts. Records of signatures may take more. Default 1 GiB. */
  readonly budgetBytes?: number;
};

export type OutboxFeedDeps = {
  readonly outbox: LedgerOutbox;
  readonly clock: Clock;
  /** Makes a change of the outbox and resolves when it is committed. Throws UNAVAILABLE. */
  readonly commit: (change: () => void) => Promise<void>;
  readonly options: OutboxOptions;
};

/** An entry that was read and not acknowledged yet. */
type Taken = { readonly row: OutboxRow; readAt: EpochMs };

/** Bytes of rows that stay in memory until they are read, so that a reader that keeps up does not read the table. */
const mostFresh = 16 * 2 ** 20;
const defaultBudgetBytes = 2 ** 30;

/** The feed of one process over its own outbox. It may have several readers; nobody else reads the table. */
export class OutboxFeed implements LedgerFeed {
  readonly #outbox: LedgerOutbox;
  readonly #clock: Clock;
  readonly #commit: (change: () => void) => Promise<void>;
  readonly #claimAfterMs: number;
  readonly #budgetBytes: number;
  /** By position, the earliest read first. */
  readonly #taken = new Map<number, Taken>();
  /** The rows after `#readUpTo`, unless the table has to be read for them. */
  #fresh: OutboxRow[] = [];
  #freshBytes = 0;
  #isBehind = true;
  #readUpTo = 0;
  readonly #waiting = new Set<() => void>();
  #isStopped = false;

  constructor({ outbox, clock, commit, options }: OutboxFeedDeps) {
    this.#outbox = outbox;
    this.#clock = clock;
    this.#commit = commit;
    this.#claimAfterMs = options.claimAfterMs ?? 60_000;
    this.#budgetBytes = options.budgetBytes ?? defaultBudgetBytes;
    outbox.onCommit((rows) => this.#added(rows));
  }

  async read(limit: number, waitMs: number): Promise<readonly FeedEntry[]> {
    const found = this.#take(limit);
    if (found.length > 0 || waitMs <= 0 || this.#isStopped) return found;
    await this.#woken(waitMs);
    return this.#isStopped ? [] : this.#take(limit);
  }

  async acknowledge(entries: readonly FeedEntry[]): Promise<void> {
    const stored: Taken[] = [];
    for (const { position } of entries) {
      const taken = this.#taken.get(Number(position));
      if (taken === undefined) continue;
      this.#taken.delete(taken.row.position);
      stored.push(taken);
    }
    if (stored.length === 0) return;
    try {
      await this.#commit(() => {
        this.#outbox.remove(stored.map(({ row }) => row));
      });
    } catch (error) {
      // They are stored in the ledger, but still in the table: they are read again.
      for (const taken of stored) this.#taken.set(taken.row.position, taken);
      throw error;
    }
  }

  async offer(chainId: number, texts: readonly string[], share = 0.5): Promise<void> {
    const bytes = texts.reduce((sum, text) => sum + Buffer.byteLength(text), 0);
    if (this.#outbox.size().bytes + bytes > this.#budgetBytes * share) throw ledgerFull();
    const records = texts.map((text) => ({ reservation: undefined, text }));
    await this.#commit(() => this.#outbox.add(chainId, records, this.#clock.now()));
  }

  async state(): Promise<FeedState> {
    const { length, bytes } = this.#outbox.size();
    const [oldest] = this.#outbox.read(0, 1);
    const lagMs = oldest === undefined ? 0 : Math.max(0, this.#clock.now() - oldest.addedAt);
    return { length, bytes, lagMs, fullness: Math.min(1, bytes / this.#budgetBytes) };
  }

  /** Ends reads that wait. */
  async stop(): Promise<void> {
    this.#isStopped = true;
    this.#wake();
  }

  #added(rows: readonly OutboxRow[] | undefined): void {
    if (rows !== undefined && !this.#isBehind) {
      this.#fresh.push(...rows);
      for (const { bytes } of rows) this.#freshBytes += bytes;
    }
    if (rows === undefined || this.#freshBytes > mostFresh) {
      this.#fresh = [];
      this.#freshBytes = 0;
      this.#isBehind = true;
    }
    this.#wake();
  }

  /** Resolves when something may be there to read, after `waitMs` at the latest. */
  async #woken(waitMs: number): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    const timer = setTimeout(resolve, waitMs);
    this.#waiting.add(resolve);
    await promise;
    this.#waiting.delete(resolve);
    clearTimeout(timer);
  }

  #wake(): void {
    for (const resolve of this.#waiting) resolve();
  }

  #take(limit: number): readonly FeedEntry[] {
    const now = this.#clock.now();
    const rows = this.#overdue(limit, now);
    rows.push(...this.#next(limit - recordsOf(rows)));
    for (const row of rows) this.#taken.set(row.position, { row, readAt: now });
    return rows.map(({ position, chainId, text }) => ({ chainId, position: String(position), text }));
  }

  /** Those that were read long ago; they are no longer taken. */
  #overdue(limit: number, now: EpochMs): OutboxRow[] {
    const found: OutboxRow[] = [];
    for (const { row, readAt } of this.#taken.values()) {
      if (recordsOf(found) >= limit || Math.abs(now - readAt) < this.#claimAfterMs) break;
      found.push(row);
    }
    for (const { position } of found) this.#taken.delete(position);
    return found;
  }

  #next(limit: number): readonly OutboxRow[] {
    if (limit <= 0) return [];
    const rows = this.#isBehind ? this.#outbox.read(this.#readUpTo, limit) : this.#takeFresh(limit);
    // The table had no more rows, and those that follow will be announced.
    if (recordsOf(rows) < limit) this.#isBehind = false;
    this.#readUpTo = rows.at(-1)?.position ?? this.#readUpTo;
    return rows;
  }

  #takeFresh(limit: number): readonly OutboxRow[] {
    let [rows, records] = [0, 0];
    while (rows < this.#fresh.length && records < limit) {
      const { count, bytes } = this.#fresh[rows]!;
      records += count;
      this.#freshBytes -= bytes;
      rows += 1;
    }
    return this.#fresh.splice(0, rows);
  }
}

function recordsOf(rows: readonly OutboxRow[]): number {
  return rows.reduce((sum, { count }) => sum + count, 0);
}
