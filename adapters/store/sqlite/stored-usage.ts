import type { Ambient } from '../../../core/ambient.js';
import { DomainError } from '../../../core/errors.js';
import type { LedgerEntry } from '../../../core/ledger/ledger.js';
import type { Metrics } from '../../../core/metrics.js';
import type { EpochMs } from '../../../core/units/time.js';
import type { ChainRows, WrittenPlace } from './chain-rows.js';
import { epochSince } from './stored-rows.js';
import type { ChainWrite, KeptText, Usage, UsageTables } from './usage-tables.js';

/** After a failed commit nothing is tried for a while, longer each time: reading everything again takes time. */
const firstRetryMs = 1_000;
const maxRetryMs = 30_000;

/**
 * The tables, with the copy of them in memory, which changes after a commit and never before it. A commit that fails is UNAVAILABLE, and
 * everything is read again: the tables hold the truth, also when it is not known whether they took the commit.
 */
export class StoredUsage {
  readonly #deps: Pick<Ambient, 'clock' | 'log'> & { readonly tables: UsageTables };
  readonly #commits: { inc(): void };
  readonly #failures: { inc(): void };
  /** Undefined while the tables could not be read again. */
  #usage: Usage | undefined;
  /** When a commit failed, until writing is tried again. */
  #failedAt: EpochMs | undefined;
  /** 0 while commits succeed. */
  #retryMs = 0;

  /** Throws UNAVAILABLE when the tables cannot be read. */
  constructor(deps: Pick<Ambient, 'clock' | 'log'> & { readonly tables: UsageTables }, metrics: Metrics) {
    this.#deps = deps;
    this.#usage = deps.tables.read();
    const commits = metrics.counter<'outcome'>({
      name: 'paymaster_usage_commits_total',
      help: 'Transactions of the embedded usage store, by outcome: ok or failed.',
      labels: ['outcome'],
    });
    this.#commits = commits.with({ outcome: 'ok' });
    this.#failures = commits.with({ outcome: 'failed' });
  }

  /** Throws UNAVAILABLE. */
  read(): Usage {
    if (this.#usage === undefined) this.assertWritable();
    if (this.#usage === undefined) throw cannotWrite();
    return this.#usage;
  }

  /** The rows of a chain. Throws UNAVAILABLE. */
  rows(chainId: number): ChainRows {
    return this.#deps.tables.chainOf(this.read(), chainId);
  }

  /** All or nothing. Throws UNAVAILABLE. */
  write(
    written: readonly ChainWrite[],
    messages: ReadonlyMap<string, KeptText | undefined>,
    entries: readonly LedgerEntry[],
  ): void {
    const usage = this.read();
    let places: readonly (readonly WrittenPlace[])[];
    try {
      places = this.#deps.tables.write(written, messages, entries);
    } catch (cause) {
      this.#fail(cause);
      throw cannotWrite(cause);
    }
    for (const [i, one] of written.entries()) applyWrite(one, places[i]!);
    for (const [paymasterId, message] of messages)
      if (message === undefined) usage.messages.delete(paymasterId);
      else usage.messages.set(paymasterId, message);
    this.#commits.inc();
    if (this.#retryMs > 0) this.#deps.log.info('usage store commits again');
    this.#retryMs = 0;
  }

  #fail(cause: unknown): void {
    this.#failures.inc();
    if (this.#retryMs === 0) this.#deps.log.error('usage store cannot commit', { error: cause });
    this.#retryMs = Math.min(maxRetryMs, Math.max(firstRetryMs, 2 * this.#retryMs));
    this.#failedAt = this.#deps.clock.now();
    this.#usage = undefined;
    try {
      this.#usage = this.#deps.tables.read();
    } catch (error) {
      this.#deps.log.error('usage store cannot be read again', { error });
    }
  }

  /** After a failure, tries now and then whether writing works again. Throws UNAVAILABLE. */
  assertWritable(): void {
    if (this.#failedAt === undefined) return;
    const now = this.#deps.clock.now();
    if (Math.abs(now - this.#failedAt) < this.#retryMs) throw cannotWrite();
    this.#failedAt = now;
    try {
      this.#deps.tables.probe();
      this.#usage ??= this.#deps.tables.read();
    } catch (cause) {
      throw cannotWrite(cause);
    }
    this.#failedAt = undefined;
  }
}

function applyWrite(
  { rows, changes, epoch, longestExpiryMs, forgotten }: ChainWrite,
  places: readonly WrittenPlace[],
): void {
  if (changes !== undefined) rows.take(changes, places);
  for (const id of forgotten) rows.removeFence(id);
  rows.written += 1;
  rows.place = 0;
  rows.longestExpiryMs = longestExpiryMs;
  if (rows.epoch === epoch) return;
  rows.epoch = epoch;
  rows.chain = { ...rows.chain, since: epochSince(epoch) };
}

function cannotWrite(cause?: unknown): DomainError {
  return new DomainError('UNAVAILABLE', 'the usage store cannot write', {
    reason: 'USAGE_STORE_DOWN',
    retryAfterSeconds: 1,
    ...(cause === undefined ? {} : { cause }),
  });
}
