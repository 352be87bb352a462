import { formatKey, objectKey } from '../../core/meta/meta.js';
import type { KubeObject } from './objects.js';

export type CacheEvent<T> = { readonly type: 'ADDED' | 'MODIFIED' | 'DELETED'; readonly object: T };

/**
 * The local copy of one kind. Events are delivered in order, from one place. An object that comes back under another
 * uid is a deletion and a creation. `replace` delivers only the differences, deletions (tombstones) first.
 */
export class ObjectCache<T extends KubeObject> {
  readonly #objects = new Map<string, T>();
  readonly #deliver: (event: CacheEvent<T>) => void;

  constructor(deliver: (event: CacheEvent<T>) => void) {
    this.#deliver = deliver;
  }

  get size(): number {
    return this.#objects.size;
  }

  get(key: string): T | undefined {
    return this.#objects.get(key);
  }

  values(): readonly T[] {
    return [...this.#objects.values()];
  }

  entries(): readonly (readonly [string, T])[] {
    return [...this.#objects];
  }

  put(object: T): void {
    const key = formatKey(objectKey(object));
    const previous = this.#objects.get(key);
    if (previous && previous.metadata.uid !== object.metadata.uid)
      this.#deliver({ type: 'DELETED', object: previous });
    this.#objects.set(key, object);
    const isNew = previous === undefined || previous.metadata.uid !== object.metadata.uid;
    this.#deliver({ type: isNew ? 'ADDED' : 'MODIFIED', object });
  }

  remove(object: T): void {
    const key = formatKey(objectKey(object));
    const previous = this.#objects.get(key);
    if (!previous) return;
    this.#objects.delete(key);
    this.#deliver({
      type: 'DELETED',
      object: previous.metadata.uid === object.metadata.uid ? object : previous,
    });
  }

  /** Makes the cache equal to `next`, whatever its resourceVersions: after a restore of etcd they may be lower. */
  replace(next: ReadonlyMap<string, T>): void {
    for (const [key, object] of this.#objects) {
      if (next.has(key)) continue;
      this.#objects.delete(key);
      this.#deliver({ type: 'DELETED', object });
    }
    for (const [key, object] of next) {
      const previous = this.#objects.get(key);
      const same =
        previous?.metadata.uid === object.metadata.uid &&
        previous.metadata.resourceVersion === object.metadata.resourceVersion;
      if (!same) this.put(object);
    }
  }
}
