import type { Ambient } from '../../../core/ambient.js';
import { DomainError, invalidInput } from '../../../core/errors.js';
import { kindNames, type Kind, type Resources } from '../../../core/resources/kinds.js';
import { apiVersion, formatKey, group, version, type ObjectKey } from '../../../core/meta/meta.js';
import type {
  ApplyRequest,
  ListOptions,
  PageOptions,
  ResourceStore,
  Watch,
  WatchEvent,
} from '../../../core/resources/resource-store.js';
import { given } from '../../../core/units/given.js';
import { createReflector, type ReflectorTiming } from '../../kube/reflector.js';
import type { KubeList, KubeObject } from '../../kube/objects.js';
import type { KubeTransport } from '../../kube/transport.js';
import { isExpired, isStatus } from '../../kube/api-error.js';
import { mapErrors, mapListErrors, toDomainError } from '../../kube/errors.js';
import { deleteObject, readList, readObject } from '../../kube/reads.js';
import { createObjectSlimmer } from './slim-object.js';

type KubeResourceStoreDeps = Pick<Ambient, 'log' | 'metrics'> & {
  readonly transport: KubeTransport;
  /** Field manager of status writes. */
  readonly statusManager: string;
  readonly now: () => number;
  readonly random: () => number;
  readonly timing?: Partial<ReflectorTiming>;
};

type Texts = Readonly<Record<string, string>>;

function filled(texts: Texts | undefined): Texts | undefined {
  return texts !== undefined && Object.keys(texts).length > 0 ? texts : undefined;
}

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

  async function apply<K extends Kind>(request: ApplyRequest<K>): Promise<Resources[K]> {
    const { kind, key } = request;
    // An empty map would own the whole map, and then nobody else could apply a label.
    const [labels, annotations] = [filled(request.labels), filled(request.annotations)];
    checkNamespace(kind, key);
    const resourceVersion = request.create === true ? '1' : request.version;
    const uid = request.version === undefined ? undefined : await uidAt(kind, key, request.version);
    const optional = given({ namespace: key.namespace, resourceVersion, uid, labels, annotations });
    const fields = { metadata: { name: key.name, ...optional }, spec: request.spec };
    try {
      return (await patch(kind, objectPath(kind, key), request, fields)) as Resources[K];
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
  function patch(
    kind: Kind,
    path: string,
    { manager, force = false, dryRun = false }: Pick<ApplyRequest<Kind>, 'manager' | 'force' | 'dryRun'>,
    fields: object,
  ): Promise<unknown> {
    return transport.request({
      method: 'PATCH',
      path,
      query: {
        fieldManager: manager,
        force: String(force),
        fieldValidation: 'Strict',
        ...(dryRun && { dryRun: 'All' }),
      },
      body: { apiVersion, kind, ...fields },
      contentType: 'application/apply-patch+yaml',
    });
  }

  async function uidAt(kind: Kind, key: ObjectKey, resourceVersion: string): Promise<string> {
    const what = describe(kind, key);
    const current = (await mapErrors(what, () =>
      transport.request({ method: 'GET', path: objectPath(kind, key) }),
    )) as KubeObject;
    if (current.metadata.resourceVersion === resourceVersion) return current.metadata.uid;
    throw new DomainError('WRITE_CONFLICT', `${what} was changed meanwhile`);
  }

  return {
    get: (kind, key) => mapErrors(describe(kind, key), () => readObject(transport, objectPath(kind, key))),

    list(kind, options = {}) {
      const path = collectionPath(kind, options.namespace);
      return mapListErrors(`${kind} list`, async () => {
        try {
          return await readList(transport, path, renderSelectors(options));
        } catch (error) {
          // No definition, no objects. Tokens may do without; of the others nothing else says that they are not there.
          if (kind === 'DashboardToken' && isStatus(error, 404)) return [];
          throw error;
        }
      });
    },

    async page<K extends Kind>(kind: K, { limit, after, ...options }: PageOptions) {
      const path = collectionPath(kind, options.namespace);
      const query = { ...renderSelectors(options), limit: String(limit), ...given({ continue: after }) };
      try {
        const { items, metadata } = (await transport.request({ method: 'GET', path, query })) as KubeList<
          Resources[K] & KubeObject
        >;
        return { items, ...given({ next: metadata.continue || undefined }) };
      } catch (error) {
        // The server keeps a list for some minutes.
        if (after !== undefined && (isExpired(error) || isStatus(error, 400)))
          throw invalidInput({ field: 'cursor', expected: 'of an answer of the last minutes: begin again' });
        throw toDomainError(error, `${kind} list`);
      }
    },

    apply,

    async delete(kind, key, { version: resourceVersion } = {}) {
      const path = objectPath(kind, key);
      await mapErrors(describe(kind, key), () => deleteObject(transport, path, given({ resourceVersion })));
    },

    async applyStatus<K extends Kind>(
      kind: K,
      key: ObjectKey,
      status: NonNullable<Resources[K]['status']>,
      options: { readonly version?: string } = {},
    ) {
      const optional = given({ namespace: key.namespace, resourceVersion: options.version });
      const fields = { metadata: { name: key.name, ...optional }, status };
      // Forced: status has one author, and fields that an older release wrote must not stop a newer one.
      const author = { manager: deps.statusManager, force: true };
      const written = await mapErrors(describe(kind, key), () =>
        patch(kind, `${objectPath(kind, key)}/status`, author, fields),
      );
      return written as Resources[K];
    },

    watch<K extends Kind>(kind: K, handler: (event: WatchEvent<K>) => void): Watch {
      const reflector = createReflector<Resources[K] & KubeObject>({
        transport,
        path: collectionPath(kind, undefined),
        kind,
        transform: (object) => slim(object) as Resources[K] & KubeObject,
        onEvent: handler,
        log: deps.log,
        metrics: deps.metrics,
        now: deps.now,
        random: deps.random,
        ...given({ timing: deps.timing }),
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
  throw invalidInput({ field: 'metadata.namespace', expected });
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

function renderSelectors({ fields = {} }: ListOptions): Readonly<Record<string, string>> {
  const selected = Object.entries(fields).map(([path, value]) => `${path}=${escapeSelector(value)}`);
  return selected.length === 0 ? {} : { fieldSelector: selected.join(',') };
}

/** Commas, equals signs and backslashes have a meaning in field selectors. */
function escapeSelector(value: string): string {
  return value.replace(/[\\,=]/g, '\\$&');
}
