import type { Kind, Resources } from '../../../core/resources/kinds.js';
import { keyOf, type ObjectKey } from '../../../core/meta/meta.js';
import type { Watch, WatchEvent } from '../../../core/resources/resource-store.js';
import { callSafely, createDelivery } from '../../sqlite/delivery.js';
import { type ResourceRows, type StoredObject, typed } from './resource-rows.js';

/**
 * Delivers the present state and then every change, in order.
 *
 * The state is read in slices, so that many objects neither block the event loop nor are in memory at the same time. A
 * slice ends at a key: changes at or before it are delivered at once; the slice that reads the rest delivers the
 * changes behind it. So every object arrives once, in its newest state, and no change is lost or delivered twice.
 */
type ResourceWatches = {
  watch<K extends Kind>(kind: K, handler: (event: WatchEvent<K>) => void): Watch;
  /** Called after the commit of each change. */
  publish(type: EventType, object: StoredObject): void;
};

type EventType = 'ADDED' | 'MODIFIED' | 'DELETED';
type Subscriber = {
  readonly kind: Kind;
  readonly deliver: (type: EventType, object: StoredObject) => void;
  /** Everything up to this key has been read; `all` when the state is complete. */
  progress: ObjectKey | 'all' | 'none';
};

const sliceSize = 100;

export function createResourceWatches(rows: Pick<ResourceRows, 'page'>): ResourceWatches {
  const subscribers = new Set<Subscriber>();
  const deliverInOrder = createDelivery();

  function publish(type: EventType, object: StoredObject): void {
    freeze(object);
    // Decided now, not on delivery: a slice that is read in between holds this change already.
    const recipients = [...subscribers].filter(
      (subscriber) => subscriber.kind === object.kind && isPast(subscriber, keyOf(object)),
    );
    deliverInOrder(() => {
      for (const subscriber of recipients) subscriber.deliver(type, object);
    });
  }

  function watch<K extends Kind>(kind: K, handler: (event: WatchEvent<K>) => void): Watch {
    const subscriber: Subscriber = {
      kind,
      progress: 'none',
      deliver: (type, object) => {
        const event: WatchEvent<K> = { type, object: typed<K>(object) as Resources[K] };
        if (subscribers.has(subscriber)) callSafely(() => handler(event));
      },
    };
    subscribers.add(subscriber);

    async function readState(): Promise<void> {
      // Not before the caller has received its Watch: a handler may want to stop it.
      await Promise.resolve();
      while (subscribers.has(subscriber) && !isComplete(subscriber)) {
        deliverInOrder(() => readSlice(subscriber));
        if (!isComplete(subscriber)) await new Promise((resolve) => setImmediate(resolve));
      }
    }

    const synced = readState();
    // A caller that awaits it sees the failure. A watch that nobody awaits must not end the process.
    synced.catch(() => {});
    return {
      synced,
      stop: () => {
        subscribers.delete(subscriber);
      },
    };
  }

  function readSlice(subscriber: Subscriber): void {
    const after = typeof subscriber.progress === 'string' ? undefined : subscriber.progress;
    const objects = rows.page(subscriber.kind, after, sliceSize);
    const last = objects.at(-1);
    subscriber.progress = last === undefined || objects.length < sliceSize ? 'all' : keyOf(last);
    for (const object of objects) subscriber.deliver('ADDED', freeze(object));
  }

  return { watch, publish };
}

function isComplete({ progress }: Subscriber): boolean {
  return progress === 'all';
}

function isPast({ progress }: Subscriber, key: ObjectKey): boolean {
  if (progress === 'all' || progress === 'none') return progress === 'all';
  const [namespace, reached] = [key.namespace ?? '', progress.namespace ?? ''];
  return namespace < reached || (namespace === reached && key.name <= progress.name);
}

/** Several handlers share an event, so none may change it. */
function freeze<T>(value: T): T {
  if (typeof value === 'object' && value !== null && !Object.isFrozen(value)) {
    Object.freeze(value);
    Object.values(value).forEach(freeze);
  }
  return value;
}
