import { createHash } from 'node:crypto';
import { LRUCache } from 'lru-cache';
import type { Ambient } from '../../core/ambient.js';
import type { EventRecorder, ResourceEvent } from '../../core/resources/kubernetes-events.js';
import type { Clock, EpochMs } from '../../core/units/time.js';
import { isStatus } from '../kube/api-error.js';
import { microTime } from '../kube/leader-election.js';
import type { KubeTransport } from '../kube/transport.js';

type KubeEventRecorder = EventRecorder & {
  /** Sends the waiting events within two seconds, then nothing else. May be called twice. */
  stop(): Promise<void>;
};

type Series = { readonly namespace: string; readonly name: string; count: number; lastAt: EpochMs };

/** Equal events within this time are one object with a count. */
const seriesMs = 6 * 60_000;
const maxSeries = 4_096;
const maxWaiting = 1_000;
const maxNoteBytes = 1_024;
const stopMs = 2_000;

/** The `action` of a component's events. */
const actions = { operator: 'Reconcile', dashboard: 'Write' } as const;

/**
 * Events of `events.k8s.io/v1`. Equal ones become a series (one object, counted up). One object may have 25 at once and
 * one more every five minutes, so that a flapping object cannot fill the cluster's store. One request at a time, from a
 * bounded queue. An event that does not fit or fails is counted and dropped.
 */
export function createKubeEventRecorder(
  deps: Ambient & {
    readonly transport: Pick<KubeTransport, 'request'>;
    readonly component: keyof typeof actions;
    /** This process: pod name. */
    readonly instance: string;
  },
): KubeEventRecorder {
  const { transport, clock, log } = deps;
  const dropped = deps.metrics
    .counter({ name: 'kubernetes_events_dropped_total', help: 'Events that were not written' })
    .with({});
  const budget = createEventBudget(clock);
  const series = new LRUCache<string, Series>({ max: maxSeries });
  const waiting: ResourceEvent[] = [];
  let isStopped = false;
  let sending: Promise<void> | undefined;

  async function sendAll(): Promise<void> {
    for (let event = waiting.shift(); event !== undefined; event = waiting.shift()) {
      try {
        await send(event);
      } catch (error) {
        dropped.inc();
        log.debug('writing an event failed', { reason: event.reason, error });
      }
    }
    sending = undefined;
  }

  async function send(event: ResourceEvent): Promise<void> {
    const key = eventKey(event);
    const now = clock.now();
    const known = series.get(key);
    if (known === undefined || now - known.lastAt > seriesMs) return begin(key, event, now);
    known.count += 1;
    known.lastAt = now;
    try {
      await transport.request({
        method: 'PATCH',
        path: `${eventsPath(known.namespace)}/${known.name}`,
        contentType: 'application/merge-patch+json',
        timeoutMs: stopMs,
        body: { series: { count: known.count, lastObservedTime: microTime(now) } },
      });
    } catch (error) {
      // The server forgets events after an hour.
      if (!isStatus(error, 404)) throw error;
      await begin(key, event, now);
    }
  }

  async function begin(key: string, event: ResourceEvent, now: EpochMs): Promise<void> {
    const { metadata, apiVersion, kind } = event.object;
    // Events of cluster-scoped objects live in this namespace.
    const namespace = metadata.namespace ?? 'default';
    const name = `${metadata.name.slice(0, 200)}.${key.slice(0, 8)}${now.toString(16)}`;
    await transport.request({
      method: 'POST',
      path: eventsPath(namespace),
      timeoutMs: stopMs,
      body: {
        apiVersion: 'events.k8s.io/v1',
        kind: 'Event',
        metadata: { name, namespace },
        eventTime: microTime(now),
        reportingController: `paymasters.dev/${deps.component}`,
        reportingInstance: deps.instance,
        action: actions[deps.component],
        type: event.type,
        reason: event.reason,
        note: shortened(event.note),
        regarding: {
          apiVersion,
          kind,
          name: metadata.name,
          uid: metadata.uid,
          ...(metadata.namespace === undefined ? {} : { namespace: metadata.namespace }),
        },
      },
    });
    series.set(key, { namespace, name, count: 1, lastAt: now });
  }

  return {
    record(event) {
      if (isStopped) return;
      if (waiting.length >= maxWaiting || !budget.take(event.object.metadata.uid)) return dropped.inc();
      waiting.push(event);
      sending ??= sendAll();
    },
    async stop() {
      isStopped = true;
      const patience = new Promise<void>((resolve) => setTimeout(resolve, stopMs).unref());
      await Promise.race([sending ?? Promise.resolve(), patience]);
      waiting.length = 0;
    },
  };
}

function eventKey({ object, type, reason, note }: ResourceEvent): string {
  return createHash('sha256')
    .update(JSON.stringify([object.metadata.uid, type, reason, note]))
    .digest('hex');
}

function eventsPath(namespace: string): string {
  return `/apis/events.k8s.io/v1/namespaces/${encodeURIComponent(namespace)}/events`;
}

function shortened(note: string): string {
  if (Buffer.byteLength(note) <= maxNoteBytes) return note;
  // Cut bytes may end inside a character, which decodes to a replacement character of three bytes.
  return `${Buffer.from(note)
    .subarray(0, maxNoteBytes - 6)
    .toString('utf8')}…`;
}

const burst = 25;
const refillMs = 5 * 60_000;
const maxObjects = 4_096;

/** How many events one object may have: 25 at once and one more every five minutes, as in client-go. */
function createEventBudget(clock: Clock): { take(uid: string): boolean } {
  const buckets = new LRUCache<string, { tokens: number; at: EpochMs }>({ max: maxObjects });
  return {
    take(uid) {
      const now = clock.now();
      const bucket = buckets.get(uid) ?? { tokens: burst, at: now };
      bucket.tokens = Math.min(burst, bucket.tokens + Math.max(0, now - bucket.at) / refillMs);
      bucket.at = now;
      buckets.set(uid, bucket);
      if (bucket.tokens < 1) return false;
      bucket.tokens -= 1;
      return true;
    },
  };
}
