import type { Logger } from '../../log.js';
import type { Metrics } from '../../metrics.js';
import { formatKey, keyOf } from '../../resources/meta.js';
import { KubeApiError, errorOfStatus, isExpired, isStatus, isTooLargeResourceVersion } from './api-error.js';
import { createBackoff, pause } from './backoff.js';
import { CorruptStreamError, LineSplitter } from './line-splitter.js';
import { parseWatchEvent, type KubeList, type KubeObject, type KubeWatchEvent } from './objects.js';
import { ObjectCache, type CacheEvent } from './object-cache.js';
import { createInstruments } from './reflector-metrics.js';
import { compareVersions } from './resource-version.js';
import type { KubeTransport } from './transport.js';

/**
 * Keeps a local copy of one kind equal to the API server: a port of client-go's reflector.
 *
 * - Starts with a streamed list (WatchList) and falls back to pages of 500 where the server has none.
 * - Resumes a broken watch from the last resourceVersion; lists again only when the server says that it is gone.
 * - Never gives up: connection errors, 429 and 5xx are retried for ever with jittered back-off and Retry-After.
 * - A line that is no event, or a stream cut inside one, is a corrupt stream: resumed, never skipped.
 * - Asks for the present version after a failure, and lists again when it is older than the copy's (a restored etcd).
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
  /** When the server was last heard of (EpochMs): event, bookmark or list; 0 before the first. */
  lastHeardAt(): number;
  resourceVersion(): string | undefined;
  /** True when the copy has reached `resourceVersion` within `timeoutMs`: read-your-writes. */
  waitFor(resourceVersion: string, timeoutMs: number): Promise<boolean>;
  stop(): Promise<void>;
};

export type ReflectorOptions<T extends KubeObject> = {
  readonly transport: KubeTransport;
  /** Collection, e.g. `/apis/paymasters.dev/v1alpha1/paymasters`. */
  readonly path: string;
  /** For metrics and logs. */
  readonly kind: string;
  readonly fieldSelector?: string;
  readonly labelSelector?: string;
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
const pageSize = '500';
const eventsPerSlice = 256;
const sliceMs = 8;

export function createReflector<T extends KubeObject>(options: ReflectorOptions<T>): Reflector<T> {
  const { transport, path, kind, log, now, random } = options;
  const timing = { ...defaultTiming, ...options.timing };
  const instruments = createInstruments(options.metrics, kind);
  const stopped = new AbortController();
  const backoff = createBackoff(random, timing.firstBackoffMs, timing.maxBackoffMs);
  const cache = new ObjectCache<T>((event) => {
    try {
      options.onEvent(event);
    } catch (error) {
      instruments.handlerErrors.inc();
      log.error('an event handler threw', { kind, error: String(error) });
    }
  });
  const waiters = new Set<() => void>();
  const firstSync = Promise.withResolvers<void>();

  let lastVersion: string | undefined;
  let lastHeard = 0;
  let isSynced = false;
  let canWatchList = true;
  let loop: Promise<unknown> | undefined;
  let mustRelist: string | undefined = 'start';
  let connection: AbortController | undefined;
  let mayBeRewound = false;

  async function run(): Promise<void> {
    while (!stopped.signal.aborted) {
      const startedAt = now();
      try {
        if (mayBeRewound && lastVersion !== undefined) await checkRewound(lastVersion);
        if (mustRelist !== undefined || lastVersion === undefined) await listAll(mustRelist ?? 'start');
        else await watchFrom(lastVersion);
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
    const reason = reasonOf(error);
    instruments.watchErrors(reason).inc();
    if (isExpired(error)) {
      mustRelist = 'expired';
      log.info('resourceVersion expired, listing again', { kind });
      return;
    }
    mayBeRewound = true;
    const asked = error instanceof KubeApiError ? (error.retryAfterSeconds ?? 0) * 1000 : 0;
    const wait = Math.max(asked, backoff.next());
    log.warn('the API server could not be followed, trying again', {
      kind,
      reason: reasonOf(error),
      waitMs: Math.round(wait),
    });
    await pause(wait, stopped.signal);
  }

  /**
   * A server whose etcd was restored to an older state opens a watch from a version of its future and then says nothing:
   * no error would ever tell. So after a failure the present version is asked for, by a list of one object.
   */
  async function checkRewound(version: string): Promise<void> {
    const query = { ...selectors(), limit: '1' };
    const page = (await transport.request({
      method: 'GET',
      path,
      query,
      signal: stopped.signal,
    })) as KubeList<KubeObject>;
    mayBeRewound = false;
    if (compareVersions(page.metadata.resourceVersion, version) >= 0) return;
    log.warn('the API server went back to an older state, listing again', { kind });
    lastVersion = undefined;
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
    // Not older than what was seen, so that a lagging replica cannot turn time back; without a version when the server
    // says that it will never get there, which is what a restored etcd looks like.
    let minimum = lastVersion;
    for (;;) {
      try {
        const { objects, version } = await readPages(minimum);
        replace(objects, version);
        return;
      } catch (error) {
        if (minimum === undefined || !(isExpired(error) || isTooLargeResourceVersion(error))) throw error;
        minimum = undefined;
      }
    }
  }

  async function readPages(
    minimum: string | undefined,
  ): Promise<{ objects: Map<string, T>; version: string }> {
    const objects = new Map<string, T>();
    let next: string | undefined;
    for (;;) {
      const position: Record<string, string> =
        next !== undefined
          ? { continue: next }
          : minimum === undefined
            ? {}
            : { resourceVersion: minimum, resourceVersionMatch: 'NotOlderThan' };
      const page = (await transport.request({
        method: 'GET',
        path,
        query: { ...selectors(), limit: pageSize, ...position },
        signal: stopped.signal,
      })) as KubeList<KubeObject>;
      for (const item of page.items) {
        const object = options.transform(item);
        objects.set(formatKey(keyOf(object)), object);
      }
      heard();
      next = page.metadata.continue || undefined;
      if (next === undefined) return { objects, version: page.metadata.resourceVersion };
    }
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
      const chunks = await transport.stream({
        method: 'GET',
        path,
        query: { ...selectors(), ...watchQuery(version) },
        signal: AbortSignal.any([stopped.signal, own.signal]),
      });
      const splitter = new LineSplitter();
      const startedAt = now();
      let events = 0;
      let sliceEvents = 0;
      let sliceStarted = performance.now();
      for await (const chunk of chunks) {
        stall.touch();
        for (const line of splitter.push(chunk)) {
          const event = parseLine(line);
          events += 1;
          if (event.type === 'ERROR') throw errorOfStatus(statusCodeOf(event.status), event.status);
          if (initial === undefined) apply(event);
          else if (collect(event, initial)) {
            clearTimeout(listTimeout);
            replace(initial, event.type === 'BOOKMARK' ? event.resourceVersion : '');
            initial = undefined;
          }
          if (++sliceEvents >= eventsPerSlice || performance.now() - sliceStarted > sliceMs) {
            await yieldToLoop();
            sliceEvents = 0;
            sliceStarted = performance.now();
          }
        }
        heard();
      }
      splitter.end();
      // A server that closes every watch at once would otherwise be asked thousands of times a second.
      if (events === 0 && now() - startedAt < 1000) await pause(backoff.next(), stopped.signal);
      if (initial !== undefined) throw new WatchListUnavailable();
    } catch (error) {
      if (own.signal.aborted && own.signal.reason instanceof WatchListUnavailable) {
        throw new WatchListUnavailable();
      }
      throw error;
    } finally {
      clearTimeout(listTimeout);
      stall.stop();
      own.abort();
    }
  }

  function watchQuery(version: string | undefined): Record<string, string> {
    const timeoutSeconds = String(Math.round(timing.watchSeconds * (1 + random())));
    const common = { watch: 'true', allowWatchBookmarks: 'true', timeoutSeconds };
    if (version !== undefined) return { ...common, resourceVersion: version };
    return { ...common, sendInitialEvents: 'true', resourceVersionMatch: 'NotOlderThan' };
  }

  function selectors(): Record<string, string> {
    return {
      ...(options.fieldSelector === undefined ? {} : { fieldSelector: options.fieldSelector }),
      ...(options.labelSelector === undefined ? {} : { labelSelector: options.labelSelector }),
    };
  }

  /** True at the bookmark that ends the streamed list. */
  function collect(event: Exclude<KubeWatchEvent, { type: 'ERROR' }>, objects: Map<string, T>): boolean {
    if (event.type === 'BOOKMARK') return event.endsInitialEvents;
    const object = options.transform(event.object);
    if (event.type === 'DELETED') objects.delete(formatKey(keyOf(object)));
    else objects.set(formatKey(keyOf(object)), object);
    return false;
  }

  function apply(event: Exclude<KubeWatchEvent, { type: 'ERROR' }>): void {
    if (event.type === 'BOOKMARK') {
      instruments.bookmarks.inc();
      reached(event.resourceVersion);
      return;
    }
    const object = options.transform(event.object);
    if (event.type === 'DELETED') cache.remove(object);
    else cache.put(object);
    instruments.objects.set(cache.size);
    reached(object.metadata.resourceVersion);
  }

  function replace(objects: ReadonlyMap<string, T>, version: string): void {
    cache.replace(objects);
    instruments.objects.set(cache.size);
    heard();
    mustRelist = undefined;
    reached(version);
    if (isSynced) return;
    isSynced = true;
    instruments.synced.set(1);
    firstSync.resolve();
  }

  function reached(version: string): void {
    lastVersion = version;
    const numeric = Number(version);
    if (Number.isFinite(numeric)) instruments.version.set(numeric);
    for (const waiter of waiters) waiter();
  }

  function heard(): void {
    lastHeard = now();
    instruments.lastEvent.set(lastHeard / 1000);
  }

  async function runAudits(): Promise<void> {
    while (!stopped.signal.aborted) {
      await pause(timing.auditMs * (0.9 + 0.2 * random()), stopped.signal);
      if (stopped.signal.aborted) return;
      await audit().catch((error: unknown) => {
        log.debug('the audit could not be done', { kind, error: String(error) });
        // The version that the copy has does not exist yet: etcd was restored to an older state.
        if (isTooLargeResourceVersion(error)) relist('rewound');
      });
    }
  }

  /** Compares a snapshot of the copy with what the server says of exactly that resourceVersion: no race to explain away. */
  async function audit(): Promise<void> {
    if (!isSynced || lastVersion === undefined) return;
    const ours = new Map(cache.entries().map(([key, object]) => [key, revisionOf(object)]));
    const page = (await transport.request({
      method: 'GET',
      path,
      query: { ...selectors(), resourceVersion: lastVersion, resourceVersionMatch: 'Exact' },
      accept: 'application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1',
      signal: stopped.signal,
    })) as KubeList<KubeObject>;
    const theirs = new Map(page.items.map((item) => [formatKey(keyOf(item)), revisionOf(item)]));
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

  function waitFor(version: string, timeoutMs: number): Promise<boolean> {
    const isReached = (): boolean => lastVersion !== undefined && compareVersions(lastVersion, version) >= 0;
    if (isReached()) return Promise.resolve(true);
    return new Promise((resolve) => {
      const finish = (result: boolean): void => {
        clearTimeout(timer);
        waiters.delete(check);
        resolve(result);
      };
      const check = (): void => {
        if (isReached()) finish(true);
      };
      const timer = setTimeout(() => finish(false), timeoutMs);
      waiters.add(check);
    });
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
    resourceVersion: () => lastVersion,
    waitFor,
    async stop() {
      stopped.abort();
      await loop;
    },
  };
}

/** The server does not stream lists, or never ended one. */
class WatchListUnavailable extends Error {}

function revisionOf({ metadata }: KubeObject): string {
  return `${metadata.uid} ${metadata.resourceVersion}`;
}

function parseLine(line: Buffer): KubeWatchEvent {
  try {
    return parseWatchEvent(line);
  } catch (error) {
    throw new CorruptStreamError(error instanceof Error ? error.message : String(error));
  }
}

function statusCodeOf(status: unknown): number {
  const code =
    typeof status === 'object' && status !== null ? (status as { code?: unknown }).code : undefined;
  return typeof code === 'number' ? code : 500;
}

function reasonOf(error: unknown): string {
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

function yieldToLoop(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}
