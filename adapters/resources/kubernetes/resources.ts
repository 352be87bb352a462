import type { Ambient } from '../../../core/ambient.js';
import { DomainError, invalidInput } from '../../../core/errors.js';
import { kindNames, type Kind, type Resources } from '../../../core/resources/kinds.js';
import { apiVersion, formatKey, group, version, type ObjectKey } from '../../../core/meta/meta.js';
import type {
  ApplyRequest,
  ListOptions,
  ResourceStore,
  Watch,
  WatchEvent,
} from '../../../core/resources/resource-store.js';
import { createReflector, type ReflectorTiming } from '../../kube/reflector.js';
import type { KubeList, KubeObject } from '../../kube/objects.js';
import type { KubeTransport } from '../../kube/transport.js';
import { toDomainError } from '../../kube/errors.js';
import { createObjectSlimmer } from './slim-object.js';

export type KubeResourceStoreDeps = Pick<Ambient, 'log' | 'metrics'> & {
  readonly transport: KubeTransport;
  /** Field manager of status writes. */
  readonly statusManager: string;
  /** Namespaced kinds are watched in this namespace only; absent watches all. */
  readonly watchNamespace?: string;
  readonly now: () => number;
  readonly random: () => number;
  readonly timing?: Partial<ReflectorTiming>;
};

/**
 * ResourceStore on the Kubernetes API. Reads and lists go to the API server itself (consistent, so every replica reads
 * its own writes and those of others); only `watch` keeps a local copy. Writes are server-side apply with strict field
 * validation. Creation applies with `resourceVersion: "1"`, which no existing object can match: the answer is 201 or a
 * conflict.
 */
export function createKubeResourceStore(
  deps: KubeResourceStoreDeps,
): ResourceStore & { stop(): Promise<void> } {
  const { transport } = deps;
  const watches = new Set<{ stop(): Promise<void> }>();
  const slim = createObjectSlimmer();

  async function call<T>(what: string, run: () => Promise<unknown>): Promise<T> {
    try {
      return (await run()) as T;
    } catch (error) {
      throw toDomainError(error, what);
    }
  }

  async function apply<K extends Kind>(request: ApplyRequest<K>): Promise<Resources[K]> {
    const { kind, key } = request;
    checkNamespace(kind, key);
    const resourceVersion = request.create === true ? '1' : request.version;
    const uid = request.version === undefined ? undefined : await uidAt(kind, key, request.version);
    const body = {
      apiVersion,
      kind,
      metadata: {
        name: key.name,
        ...(key.namespace === undefined ? {} : { namespace: key.namespace }),
        ...(resourceVersion === undefined ? {} : { resourceVersion }),
        ...(uid === undefined ? {} : { uid }),
        ...(request.labels === undefined ? {} : { labels: request.labels }),
        ...(request.annotations === undefined ? {} : { annotations: request.annotations }),
      },
      spec: request.spec,
    };
    try {
      return (await transport.request({
        method: 'PATCH',
        path: objectPath(kind, key),
        query: {
          fieldManager: request.manager,
          force: String(request.force === true),
          fieldValidation: 'Strict',
        },
        body,
        contentType: 'application/apply-patch+yaml',
      })) as Resources[K];
    } catch (error) {
      const mapped = toDomainError(error, describe(kind, key));
      if (request.create !== true || mapped.code !== 'WRITE_CONFLICT') throw mapped;
      throw new DomainError('ALREADY_EXISTS', `${describe(kind, key)} exists`, { cause: error });
    }
  }

  /**
   * Apply is an upsert, even with a resourceVersion. Without the uid, a change to an object that was just deleted would
   * create it again.
   */
  async function uidAt(kind: Kind, key: ObjectKey, resourceVersion: string): Promise<string> {
    const what = describe(kind, key);
    const current = await call<KubeObject>(what, () =>
      transport.request({ method: 'GET', path: objectPath(kind, key) }),
    );
    if (current.metadata.resourceVersion === resourceVersion) return current.metadata.uid;
    throw new DomainError('WRITE_CONFLICT', `${what} was changed meanwhile`);
  }

  return {
    async get<K extends Kind>(kind: K, key: ObjectKey) {
      try {
        return (await transport.request({ method: 'GET', path: objectPath(kind, key) })) as Resources[K];
      } catch (error) {
        const mapped = toDomainError(error, describe(kind, key));
        if (mapped.code === 'NOT_FOUND') return undefined;
        throw mapped;
      }
    },

    async list<K extends Kind>(kind: K, options: ListOptions = {}) {
      const fields = Object.entries(options.fields ?? {});
      const fieldSelector = fields.map(([path, value]) => `${path}=${escapeSelector(value)}`).join(',');
      const items: Resources[K][] = [];
      let next: string | undefined;
      do {
        const page = await call<KubeList<Resources[K]>>(`${kind} list`, () =>
          transport.request({
            method: 'GET',
            path: collectionPath(kind, options.namespace),
            query: {
              limit: '500',
              ...(fieldSelector === '' ? {} : { fieldSelector }),
              ...(next === undefined ? {} : { continue: next }),
            },
          }),
        );
        items.push(...page.items);
        next = page.metadata.continue || undefined;
      } while (next !== undefined);
      return items;
    },

    apply,

    async delete(kind, key, options = {}) {
      await call(describe(kind, key), () =>
        transport.request({
          method: 'DELETE',
          path: objectPath(kind, key),
          ...(options.version === undefined
            ? {}
            : {
                body: {
                  apiVersion: 'v1',
                  kind: 'DeleteOptions',
                  preconditions: { resourceVersion: options.version },
                },
              }),
        }),
      );
    },

    async applyStatus<K extends Kind>(
      kind: K,
      key: ObjectKey,
      status: NonNullable<Resources[K]['status']>,
      options: { readonly version?: string } = {},
    ) {
      const body = {
        apiVersion,
        kind,
        metadata: {
          name: key.name,
          ...(key.namespace === undefined ? {} : { namespace: key.namespace }),
          ...(options.version === undefined ? {} : { resourceVersion: options.version }),
        },
        status,
      };
      // Forced: status has one author, and fields that an older release wrote must not stop a newer one.
      return call<Resources[K]>(describe(kind, key), () =>
        transport.request({
          method: 'PATCH',
          path: `${objectPath(kind, key)}/status`,
          query: { fieldManager: deps.statusManager, force: 'true', fieldValidation: 'Strict' },
          body,
          contentType: 'application/apply-patch+yaml',
        }),
      );
    },

    watch<K extends Kind>(kind: K, handler: (event: WatchEvent<K>) => void): Watch {
      const namespace = kindNames[kind].scope === 'Namespaced' ? deps.watchNamespace : undefined;
      const reflector = createReflector<Resources[K] & KubeObject>({
        transport,
        path: collectionPath(kind, namespace),
        kind,
        transform: (object) => slim(object) as Resources[K] & KubeObject,
        onEvent: handler,
        log: deps.log,
        metrics: deps.metrics,
        now: deps.now,
        random: deps.random,
        ...(deps.timing === undefined ? {} : { timing: deps.timing }),
      });
      watches.add(reflector);
      reflector.start();
      return {
        synced: reflector.synced,
        stop() {
          watches.delete(reflector);
          reflector
            .stop()
            .catch((error: unknown) =>
              deps.log.debug('a watch did not stop cleanly', { error: String(error) }),
            );
        },
      };
    },

    async stop() {
      await Promise.all([...watches].map((watch) => watch.stop()));
      watches.clear();
    },
  };
}

/** Without this check the server would look for another path and answer that it does not exist. */
function checkNamespace(kind: Kind, { namespace }: ObjectKey): void {
  const isNamespaced = kindNames[kind].scope === 'Namespaced';
  if (isNamespaced === (namespace !== undefined)) return;
  const expected = isNamespaced
    ? 'given, since the kind is namespaced'
    : 'left out, since the kind is cluster-scoped';
  throw invalidInput([{ field: 'metadata.namespace', expected }]);
}

function collectionPath(kind: Kind, namespace: string | undefined): string {
  const { plural } = kindNames[kind];
  const base = `/apis/${group}/${version}`;
  return namespace === undefined
    ? `${base}/${plural}`
    : `${base}/namespaces/${encodeURIComponent(namespace)}/${plural}`;
}

function objectPath(kind: Kind, key: ObjectKey): string {
  return `${collectionPath(kind, key.namespace)}/${encodeURIComponent(key.name)}`;
}

function describe(kind: Kind, key: ObjectKey): string {
  return `${kind} ${formatKey(key)}`;
}

/** Commas, equals signs and backslashes have a meaning in field selectors. */
function escapeSelector(value: string): string {
  return value.replace(/[\\,=]/g, '\\$&');
}
