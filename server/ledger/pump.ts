import { pause } from '../../adapters/pause.js';
import { isDomainError, messageOf } from '../../core/errors.js';
import type { FeedEntry, LedgerFeed } from '../../core/ledger/feed.js';
import { storedRecord, type Ledger, type LedgerEntry } from '../../core/ledger/ledger.js';
import { createLineReader } from '../../core/ledger/record-lines.js';
import type { Logger } from '../../core/log.js';
import type { PumpMeter } from './pump-meter.js';

export type PumpDeps = {
  readonly feed: Pick<LedgerFeed, 'read' | 'acknowledge'>;
  readonly ledger: Pick<Ledger, 'append' | 'appendTexts'>;
  readonly log: Logger;
  readonly meter: Pick<PumpMeter, 'stored' | 'left' | 'failed'>;
  /** Of 0 to below 1: pods that failed together do not all come back at once. */
  readonly random: () => number;
  /** Pause after a failure, doubled up to ten times as much; each is shortened by up to a half. Default 500. */
  readonly firstPauseMs?: number;
};

/** Moves records from the feed to the ledger. */
export type Pump = {
  start(): void;
  /** Moves what waits already, for at most five seconds; the rest stays in the feed. May be called twice. */
  stop(): Promise<void>;
};

const batchSize = 1_000;
const waitMs = 1_000;
/** After a batch that was not full: a larger one takes far less work for each of its records. */
const gatherMs = 200;
/** Times the first one. Longer pauses spare nothing: a try is one connection. */
const longestPause = 10;
const drainMs = 5_000;

/**
 * Reads, stores, acknowledges: an entry leaves the feed only when it is stored, and the ledger ignores an id that it
 * has, so a process that dies in between costs a repetition and loses nothing. A record of a newer form stays in the
 * feed for a newer release. A record that the ledger refuses for itself stays too, and does not hold up the others.
 */
export function createPump({ feed, ledger, log, meter, random, firstPauseMs = 500 }: PumpDeps): Pump {
  const reader = createLineReader();
  const stopping = new AbortController();
  let running: Promise<void> | undefined;
  let drainsUntil = Number.POSITIVE_INFINITY;
  let failures = 0;
  let hasRead = false;
  /** Read, and not stored because the ledger was away. Read anew, they would come back only after the feed's `claimAfterMs`. */
  let held: readonly FeedEntry[] = [];

  async function run(): Promise<void> {
    for (;;) {
      const isStopping = stopping.signal.aborted;
      const moved = await moveBatch(isStopping ? 0 : waitMs);
      const hasMoved = moved === 'some' || moved === 'full';
      if (isStopping && (!hasMoved || performance.now() > drainsUntil)) return;
      if (moved === 'some') await pause(gatherMs, stopping.signal);
      if (moved === 'failed') await pause(pauseAfter(failures, random()) * firstPauseMs, stopping.signal);
    }
  }

  /** `some`: something was stored, so there may be more. `full`: there is more. */
  async function moveBatch(forMs: number): Promise<'some' | 'full' | 'nothing' | 'failed'> {
    try {
      const read = held.length > 0 ? held : await feed.read(batchSize, forMs);
      hasRead = true;
      if (read.length === 0) return 'nothing';
      held = read;
      const { stored, records } = (await storeTexts(read)) ?? (await storeParsed(read));
      if (stored.length > 0) await feed.acknowledge(stored);
      held = [];
      if (failures > 0) log.info('records are moved to the ledger again', { failures });
      failures = 0;
      if (stored.length === 0) return 'nothing';
      return records >= batchSize ? 'full' : 'some';
    } catch (error) {
      failures += 1;
      meter.failed();
      // Logged once; after that the metrics show it. A feed that is still being connected to is ordinary.
      if (failures === 1 && hasRead) log.warn('records cannot be moved to the ledger, they wait', { error });
      else if (failures === 1) log.info('waiting for the feed of records', { cause: messageOf(error) });
      return 'failed';
    }
  }

  /** As `storeParsed`, by a ledger that reads texts itself; undefined: one by one, for it does not, or refuses a record. */
  async function storeTexts(read: readonly FeedEntry[]): Promise<Moved | undefined> {
    try {
      const answers = await ledger.appendTexts?.(read);
      if (answers === undefined) return undefined;
      const records = answers.flat();
      meter.stored(records.filter((record) => record !== undefined));
      const isWhole = (_: unknown, i: number): boolean => answers[i]?.includes(undefined) === false;
      for (const from of read.filter((_, i) => !isWhole(_, i))) leaveUnread(from);
      return { stored: read.filter(isWhole), records: records.length };
    } catch (error) {
      if (isDomainError(error, 'UNAVAILABLE')) throw error;
      return undefined;
    }
  }

  async function storeParsed(read: readonly FeedEntry[]): Promise<Moved> {
    const parsed = read.map((from): Parsed => ({ from, entries: reader.read(from) }));
    for (const { from, entries } of parsed) if (entries.includes(undefined)) leaveUnread(from);
    const stored = await store(parsed);
    return {
      stored: stored.filter(({ entries }) => !entries.includes(undefined)).map(({ from }) => from),
      records: parsed.reduce((sum, { entries }) => sum + entries.length, 0),
    };
  }

  /** Answers those that the ledger has now. Throws UNAVAILABLE. */
  async function store(parsed: readonly Parsed[]): Promise<readonly Parsed[]> {
    if (parsed.length === 0) return [];
    const entries = parsed.flatMap((one) => one.entries).filter((entry) => entry !== undefined);
    if (entries.length === 0) return parsed;
    try {
      await ledger.append(entries);
      meter.stored(entries.map(({ record }) => storedRecord(record)));
      return parsed;
    } catch (error) {
      if (isDomainError(error, 'UNAVAILABLE')) throw error;
      if (entries.length === 1) {
        leave(parsed, 'record cannot be stored, it stays in the feed', error);
        return [];
      }
    }
    // One of them is at fault.
    const [only] = parsed;
    if (parsed.length === 1 && only !== undefined) {
      for (const entry of only.entries) await store([{ ...only, entries: [entry] }]);
      return [];
    }
    const half = Math.ceil(parsed.length / 2);
    return [...(await store(parsed.slice(0, half))), ...(await store(parsed.slice(half)))];
  }

  function leaveUnread(from: FeedEntry): void {
    leave([{ from }], 'record of a newer release, or none at all, stays in the feed');
  }

  function leave(entries: readonly Pick<Parsed, 'from'>[], message: string, error?: unknown): void {
    meter.left();
    for (const { from } of entries)
      log.error(message, { chainId: from.chainId, position: from.position, error });
  }

  return {
    start() {
      running ??= run();
    },
    async stop() {
      if (!stopping.signal.aborted) drainsUntil = performance.now() + drainMs;
      stopping.abort();
      await running;
    },
  };
}

/** In first pauses. */
export function pauseAfter(failures: number, random: number): number {
  return Math.min(longestPause, 2 ** Math.min(failures - 1, longestPause)) * (1 - random / 2);
}

type Parsed = { readonly from: FeedEntry; readonly entries: readonly (LedgerEntry | undefined)[] };
/** `records`: how many there were in all that was read. */
type Moved = { readonly stored: readonly FeedEntry[]; readonly records: number };
