/**
 * Port: records on their way to the ledger. The usage store adds a record in the same atomic step as what it records
 * (`record` of a reservation and of a follower's step); servers offer what signs nothing. One consumer, or a group of
 * several, moves them to the {@link Ledger}.
 *
 * Guarantees (every implementation passes one conformance suite):
 * - An entry that was added is read at least once, in the order in which it was added, until it is acknowledged.
 * - Acknowledging removes only the named entries. Nothing that was not read is ever removed.
 * - Entries that a consumer read and did not acknowledge are read again by another one after `claimAfterMs`.
 */
export type LedgerFeed = {
  /**
   * Entries of about `limit` records that nobody else is working on, and that no failover can take back where replicas have to
   * confirm writes. Waits at most `waitMs` for the first. Throws UNAVAILABLE.
   */
  read(limit: number, waitMs: number): Promise<readonly FeedEntry[]>;
  /** Removes entries that are stored. */
  acknowledge(entries: readonly FeedEntry[]): Promise<void>;
  /**
   * Adds texts that record nothing signed (refusals, inputs, funds). All or none. Throws UNAVAILABLE, with reason
   * LEDGER_FULL when this share of the room is used (default: half of it); never waits for room.
   */
  offer(chainId: number, texts: readonly string[], share?: number): Promise<void>;
  /** What waits, for metrics. `length`: entries. `lagMs`: age of the oldest entry, 0 without any. `fullness`: 0 to 1, share of the budget. */
  state(): Promise<FeedState>;
  stop(): Promise<void>;
};

export type FeedEntry = {
  readonly chainId: number;
  /** Unique in the feed of a chain. */
  readonly position: string;
  /** Id of the first decision of the reservation that the record belongs to; absent: it belongs to none. */
  readonly reservation?: string;
  /** A record, see `formatRecord`; or several that were added together, see `formatLines`. */
  readonly text: string;
};

export type FeedState = {
  readonly length: number;
  readonly bytes: number;
  readonly lagMs: number;
  readonly fullness: number;
};
