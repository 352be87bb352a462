import type { Logger } from '../../core/log.js';
import type { Metrics } from '../../core/metrics.js';
import { formatKey, objectKey } from '../../core/meta/meta.js';
import { KubeApiError, isExpired, isStatus, isTooLargeResourceVersion } from './api-error.js';
import { pause } from '../timers.js';
import { createBackoff } from './backoff.js';
import { createCollection, objectRevision, type CollectionOptions } from './collection.js';
import { CorruptStreamError, readWatch, type KubeChange } from './watch-stream.js';
import { compareVersions, type KubeObject } from './objects.js';
import { ObjectCache, type CacheEvent } from './object-cache.js';
import { createInstruments } from './reflector-metrics.js';

/**
 * Keeps a local copy of one kind equal to the API server: a port of client-go's reflector.
 *
 * - Starts with a streamed list (WatchList) and falls back to pages of 500 if the server does not support it.
 * - Resumes a broken watch from the last resourceVersion; lists again only when the server says that this version is
 *   gone.
 * - Without a definition (404) it asks every two seconds: an installation adds it, and other parts wait for its objects.
 * - Never gives up: connection errors, 429 and 5xx are retried for ever with jittered back-off and Retry-After.
 * - A line that is not an event, or a stream cut inside one, is a corrupt stream: resumed, never skipped.
 * - Asks for the current version after a failure, and lists again when it is older than the copy's (a restored etcd).
 * - A watch without a byte for `stallMs` is aborted: a half-open connection cannot freeze the copy.
 * - Every `auditMs` a metadata-only list compares uid and resourceVersion; a difference is counted and repaired.
 * - Handlers only enqueue keys. One that throws is counted and never stops the stream.
 */
export type Reflector<T extends KubeObject> = {
  start(): void;
  readonly synced: Promise<void>;
  hasSynced(): boolean;
  get(key: string): T | undefined;
  list(): readonly T[];
  /** When the server last sent an event, bookmark or list (EpochMs); 0 before the first. */
  lastHeardAt(): number;
  resourceVersion(): string | undefined;
  stop(): Promise<void>;
};

type ReflectorOptions<T extends KubeObject> = Omit<CollectionOptions, 'signal'> & {
  /** For metrics and logs. */
  readonly kind: string;
  /** Drops what the copy does not need (managedFields, large fields) before it is kept. */
  readonly transform: (object: KubeObject) => T;
  readonly onEvent: (event: CacheEvent<T>) => void;
  readonly log: Logger;
  readonly metrics: Metrics;
  readonly now: () => number;
  readonly random: () => number;
  readonly timing?: Partial<ReflectorTiming>;
};

export type ReflectorTiming = {
  readonly stallMs: number;
  readonly auditMs: number;
  readonly watchListMs: number;
  readonly firstBackoffMs: number;
  readonly maxBackoffMs: number;
  /** Server-side watch time-out, random between this and its double. */
  readonly watchSeconds: number;
};

const defaultTiming: ReflectorTiming = {
  stallMs: 150_000,
  auditMs: 30 * 60_000,
  watchListMs: 60_000,
  firstBackoffMs: 800,
  maxBackoffMs: 30_000,
  watchSeconds: 300,
};

/** Between questions for a kind that the server does not know yet. */
const undefinedMs = 2_000;

/** The server keeps versions for minutes: two that expire within this time are not a coincidence. */
const expiredAgainMs = 60_000;

export function createReflector<T extends KubeObject>(options: ReflectorOptions<T>): Reflector<T> {
  const { kind, log, now, random } = options;
  const timing = { ...defaultTiming, ...options.timing };
  const instruments = createInstruments(options.metrics, kind);
  const stopped = new AbortController();
  const collection = createCollection({ ...options, signal: stopped.signal });
  const backoff = createBackoff(random, timing.firstBackoffMs, timing.maxBackoffMs);
  const cache = new ObjectCache<T>((event) => {
    try {
      options.onEvent(event);
    } catch (error) {
      instruments.handlerErrors.inc();
      log.error('an event handler threw', { kind, error: String(error) });
    }
  });
  /** The resourceVersion that the copy has reached. */
  let reached: string | undefined;
  const firstSync = Promise.withResolvers<void>();

  let lastHeard = 0;
  let isSynced = false;
  let canWatchList = true;
  let loop: Promise<unknown> | undefined;
  let mustRelist: string | undefined = 'start';
  let connection: AbortController | undefined;
  let mayBeRewound = false;
  let expiredAt = Number.NEGATIVE_INFINITY;
  let isUndefined = false;

  async function run(): Promise<void> {
    while (!stopped.signal.aborted) {
      const startedAt = now();
      try {
        const seen = reached;
        if (mayBeRewound && seen !== undefined) await checkRewound(seen);
        const from = reached;
        if (mustRelist !== undefined || from === undefined) await listAll(mustRelist ?? 'start');
        else await watchFrom(from);
        isUndefined = false;
        if (now() - startedAt > 120_000) backoff.reset();
      } catch (error) {
        if (stopped.signal.aborted) return;
        if (now() - startedAt > 120_000) backoff.reset();
        await recover(error);
      }
    }
  }

  /** Decides what an error means: list again, resume, or wait and resume. */
  async function recover(error: unknown): Promise<void> {
    const reason = failureReason(error);
    instruments.watchErrors(reason).inc();
    if (isExpired(error)) {
      mustRelist = 'expired';
      log.info('resourceVersion expired, listing again', { kind });
      const isAgain = now() - expiredAt < expiredAgainMs;
      expiredAt = now();
      // A full list is the most expensive request: a server that expires a version that it has just listed gets time.
      if (isAgain) await pause(backoff.next(), stopped.signal);
      return;
    }
    mayBeRewound = true;
    const asked = error instanceof KubeApiError ? (error.retryAfterSeconds ?? 0) * 1000 : 0;
    const wasUndefined = isUndefined;
    isUndefined = isStatus(error, 404);
    const wait = isUndefined ? undefinedMs : Math.max(asked, backoff.next());
    // Every two seconds for as long as it takes somebody to install it: one line says it.
    if (!isUndefined || !wasUndefined)
      log.warn('watching the API server failed, trying again', { kind, reason, waitMs: Math.round(wait) });
    await pause(wait, stopped.signal);
  }

  /**
   * A server whose etcd was restored to an older state opens a watch from a version of its future and then sends
   * nothing, not even an error. So after a failure the current version is read, by a list of one object.
   */
  async function checkRewound(version: string): Promise<void> {
    const present = await collection.presentVersion();
    mayBeRewound = false;
    if (compareVersions(present, version) >= 0) return;
    log.warn('the API server went back to an older state, listing again', { kind });
    reached = undefined;
    mustRelist = 'rewound';
  }

  async function listAll(reason: string): Promise<void> {
    instruments.relists(reason).inc();
    if (canWatchList) {
      try {
        return await watchFrom(undefined);
      } catch (error) {
        if (!(isStatus(error, 400, 422) || error instanceof WatchListUnavailable)) throw error;
        canWatchList = false;
        log.info('the API server streams no lists, using pages', { kind });
      }
    }
    await listPages();
  }

  async function listPages(): Promise<void> {
    // Not older than what was seen, so that a lagging replica cannot turn time back. Without a version once the server
    // says that it will never reach it: that means a restored etcd.
    let minimum = reached;
    for (;;) {
      try {
        const objects = new Map<string, T>();
        const version = await collection.list(minimum, (items) => {
          for (const item of items) putObject(objects, item);
          noteEvent();
        });
        return replace(objects, version);
      } catch (error) {
        if (minimum === undefined || !(isExpired(error) || isTooLargeResourceVersion(error))) throw error;
        minimum = undefined;
      }
    }
  }

  function putObject(objects: Map<string, T>, found: KubeObject): void {
    const object = options.transform(found);
    objects.set(formatKey(objectKey(object)), object);
  }

  /** Watches from a version, or (undefined) streams the list first and goes on watching on the same connection. */
  async function watchFrom(version: string | undefined): Promise<void> {
    const own = new AbortController();
    connection = own;
    const stall = createStallGuard(timing.stallMs, () => own.abort(new Error('the watch stalled')));
    const listTimeout =
      version === undefined
        ? setTimeout(() => own.abort(new WatchListUnavailable()), timing.watchListMs)
        : undefined;
    let initial: Map<string, T> | undefined = version === undefined ? new Map() : undefined;
    try {
      const chunks = await collection.watch(version, {
        timeoutSeconds: Math.round(timing.watchSeconds * (1 + random())),
        signal: own.signal,
      });
      const startedAt = now();
      const changes = await readWatch(chunks, {
        onBytes: stall.touch,
        onRead: noteEvent,
        onChange(change) {
          if (initial === undefined) return apply(change);
          if (!collect(change, initial)) return;
          clearTimeout(listTimeout);
          replace(initial, change.type === 'BOOKMARK' ? change.resourceVersion : '');
          initial = undefined;
        },
      });
      // A server that closes every watch at once would otherwise be asked thousands of times a second.
      if (changes === 0 && now() - startedAt < 1000) await pause(backoff.next(), stopped.signal);
      if (initial !== undefined) throw new WatchListUnavailable();
    } catch (error) {
      throw own.signal.reason instanceof WatchListUnavailable ? own.signal.reason : error;
    } finally {
      clearTimeout(listTimeout);
      stall.stop();
      own.abort();
    }
  }

  /** True for the bookmark that ends the streamed list. */
  function collect(change: KubeChange, objects: Map<string, T>): boolean {
    if (change.type === 'BOOKMARK') return change.endsInitialEvents;
    if (change.type === 'DELETED') objects.delete(formatKey(objectKey(change.object)));
    else putObject(objects, change.object);
    return false;
  }

  function apply(change: KubeChange): void {
    if (change.type === 'BOOKMARK') {
      instruments.bookmarks.inc();
      reach(change.resourceVersion);
      return;
    }
    const object = options.transform(change.object);
    if (change.type === 'DELETED') cache.remove(object);
    else cache.put(object);
    instruments.objects.set(cache.size);
    reach(object.metadata.resourceVersion);
  }

  function replace(objects: ReadonlyMap<string, T>, version: string): void {
    cache.replace(objects);
    instruments.objects.set(cache.size);
    noteEvent();
    mustRelist = undefined;
    reach(version);
    if (isSynced) return;
    isSynced = true;
    instruments.synced.set(1);
    firstSync.resolve();
  }

  function reach(version: string): void {
    const numeric = Number(version);
    if (Number.isFinite(numeric)) instruments.version.set(numeric);
    reached = version;
  }

  function noteEvent(): void {
    lastHeard = now();
    instruments.lastEvent.set(lastHeard / 1000);
  }

  async function runAudits(): Promise<void> {
    while (!stopped.signal.aborted) {
      await pause(timing.auditMs * (0.9 + 0.2 * random()), stopped.signal);
      if (stopped.signal.aborted) return;
      await audit().catch((error: unknown) => {
        log.debug('audit failed', { kind, error: String(error) });
        // The version of the copy does not exist yet: etcd was restored to an older state.
        if (isTooLargeResourceVersion(error)) relist('rewound');
      });
    }
  }

  /**
   * Compares a snapshot of the copy with the server's list at exactly that resourceVersion, so no race can cause a
   * difference.
   */
  async function audit(): Promise<void> {
    const version = reached;
    if (!isSynced || version === undefined) return;
    const ours = new Map(cache.entries().map(([key, object]) => [key, objectRevision(object)]));
    const theirs = await collection.revisionsAt(version);
    const misses = [...theirs].filter(([key, revision]) => ours.get(key) !== revision).length;
    const extra = [...ours.keys()].filter((key) => !theirs.has(key)).length;
    if (misses + extra === 0) return;
    instruments.misses.inc(misses + extra);
    log.error('the local copy differed from the API server, listing again', { kind, misses, extra });
    relist('audit');
  }

  function relist(reason: string): void {
    mustRelist = reason;
    connection?.abort(new Error(`listing again: ${reason}`));
  }

  return {
    start() {
      loop ??= Promise.all([run(), runAudits()]);
    },
    synced: firstSync.promise,
    hasSynced: () => isSynced,
    get: (key) => cache.get(key),
    list: () => cache.values(),
    lastHeardAt: () => lastHeard,
    resourceVersion: () => reached,
    async stop() {
      stopped.abort();
      await loop;
    },
  };
}

/** The server does not stream lists, or never ended one. */
class WatchListUnavailable extends Error {}

function failureReason(error: unknown): string {
  if (error instanceof CorruptStreamError) return 'corrupt';
  if (error instanceof WatchListUnavailable) return 'watch-list';
  if (!(error instanceof KubeApiError)) return 'other';
  if (error.status === 0) return 'unreachable';
  return String(error.status);
}

function createStallGuard(ms: number, onStall: () => void): { touch(): void; stop(): void } {
  const timer = setTimeout(onStall, ms);
  return { touch: () => void timer.refresh(), stop: () => clearTimeout(timer) };
}
