import type { ObjectMeta } from '../../core/meta/meta.js';

/** The minimum that the client code needs of an object; each kind has a narrower type. */
export type KubeObject = {
  readonly apiVersion?: string;
  readonly kind?: string;
  readonly metadata: ObjectMeta;
};

export type KubeList<T> = {
  readonly metadata: { readonly resourceVersion: string; readonly continue?: string };
  readonly items: readonly T[];
};

export type KubeWatchEvent =
  | { readonly type: 'ADDED' | 'MODIFIED' | 'DELETED'; readonly object: KubeObject }
  | { readonly type: 'BOOKMARK'; readonly resourceVersion: string; readonly endsInitialEvents: boolean }
  | { readonly type: 'ERROR'; readonly status: unknown };

const initialEventsEnd = 'k8s.io/initial-events-end';

/**
 * Parses one line of a watch; throws SyntaxError or TypeError when it is not an event, which means a corrupt stream.
 */
export function parseWatchEvent(line: Buffer): KubeWatchEvent {
  const event = JSON.parse(line.toString('utf8')) as {
    type?: unknown;
    object?: { metadata?: Partial<ObjectMeta> };
  };
  const metadata = event.object?.metadata;
  switch (event.type) {
    case 'ADDED':
    case 'MODIFIED':
    case 'DELETED':
      if (typeof metadata?.name !== 'string' || typeof metadata.resourceVersion !== 'string') {
        throw new TypeError('a watch event without name or resourceVersion');
      }
      return { type: event.type, object: event.object as KubeObject };
    case 'BOOKMARK':
      if (typeof metadata?.resourceVersion !== 'string')
        throw new TypeError('a bookmark without resourceVersion');
      return {
        type: 'BOOKMARK',
        resourceVersion: metadata.resourceVersion,
        endsInitialEvents: metadata.annotations?.[initialEventsEnd] === 'true',
      };
    case 'ERROR':
      return { type: 'ERROR', status: event.object };
    default:
      throw new TypeError('a watch line of unknown type');
  }
}

/** Opaque by contract, comparable since Kubernetes 1.35: decimal numbers of any size. */
export function compareVersions(left: string, right: string): number {
  const numbers = /^[0-9]+$/;
  if (!numbers.test(left) || !numbers.test(right)) return left === right ? 0 : -1;
  const [a, b] = [BigInt(left), BigInt(right)];
  return a === b ? 0 : a < b ? -1 : 1;
}
