import { DomainError, throwIfAny } from '../../../core/errors.js';
import { isSameJson } from '../../../core/meta/field-tree.js';
import { type Kind, kindNames, type Resources } from '../../../core/resources/kinds.js';
import { formatKey, objectKey, parseKey, type ObjectKey } from '../../../core/meta/meta.js';
import type {
  ApplyRequest,
  PageOptions,
  ResourceStore,
  WatchEvent,
} from '../../../core/resources/resource-store.js';
import { validateStatus } from '../../../core/resources/validate.js';
import { given } from '../../../core/units/given.js';
import type { Clock } from '../../../core/units/time.js';
import type { Database } from '../../sqlite/database.js';
import { createSlicedWatches } from '../../sqlite/sliced-watches.js';
import { decideApply, plain } from './resource-decision.js';
import { createResourceRows, type StoredObject, typed } from './resource-rows.js';

type Change = { readonly type: WatchEvent<Kind>['type']; readonly object: StoredObject };

const sliceSize = 100;

/**
 * ResourceStore in one SQLite file. Each write is one transaction that reads, decides and stores. Watchers in this
 * process get the change after the commit and before the write resolves.
 */
export function createSqliteResourceStore(deps: {
  readonly db: Database;
  readonly clock: Clock;
}): ResourceStore {
  const { db, clock } = deps;
  const rows = createResourceRows(db);
  const watches = createSlicedWatches<Kind, ObjectKey, Change>({
    sliceSize,
    slice: (kind, after) =>
      db
        .run(() => rows.page(kind, after, sliceSize))
        .map((object) => [objectKey(object), { type: 'ADDED', object: freeze(object) }]),
    isAtOrBefore,
  });
  const now = () => new Date(clock.now()).toISOString();

  function publish(type: Change['type'], object: StoredObject): void {
    watches.publish(object.kind, objectKey(object), { type, object: freeze(object) });
  }

  function apply<K extends Kind>(request: ApplyRequest<K>): StoredObject {
    const { kind, key } = request;
    const { before, after } = db.transaction(() => {
      const stored = rows.get(kind, key);
      checkPreconditions(request, stored);
      const next = decideApply(request, stored, now());
      if (!next) return { before: stored, after: stored };
      if (request.dryRun === true) return { before: next, after: next };
      const written = withVersion(next, rows.nextVersion());
      rows.put(written);
      return { before: stored, after: written };
    });
    if (!after) throw new Error(`an apply of ${kind} ${formatKey(key)} stored nothing`);
    if (after !== before) publish(before ? 'MODIFIED' : 'ADDED', structuredClone(after));
    return after;
  }

  function update(
    kind: Kind,
    key: ObjectKey,
    version: string | undefined,
    change: (stored: StoredObject) => StoredObject | undefined,
  ): StoredObject {
    const { isChanged, object } = db.transaction(() => {
      const stored = rows.get(kind, key);
      if (!stored) throw notFound(kind, key);
      checkVersion(kind, key, stored, version);
      const next = change(stored);
      if (!next) return { isChanged: false, object: stored };
      const written = withVersion(next, rows.nextVersion());
      rows.put(written);
      return { isChanged: true, object: written };
    });
    if (isChanged) publish('MODIFIED', structuredClone(object));
    return object;
  }

  return {
    get: async (kind, key) => {
      const stored = db.run(() => rows.get(kind, key));
      return stored && typed(stored);
    },

    list: async <K extends Kind>(kind: K, options = {}) =>
      db.run(() => rows.list(kind, options)).map((object) => typed<K>(object)),

    page: async <K extends Kind>(kind: K, { limit, after, ...options }: PageOptions) => {
      const from = after === undefined ? undefined : parseKey(after);
      // One more says whether there is a next page.
      const found = db.run(() => rows.listAfter(kind, options, from, limit + 1));
      const items = found.slice(0, limit).map((object) => typed<K>(object));
      const last = found.length > limit ? found[limit - 1] : undefined;
      return { items, ...given({ next: last && formatKey(objectKey(last)) }) };
    },

    apply: async <K extends Kind>(request: ApplyRequest<K>) => typed<K>(apply(request)),

    delete: async (kind, key, options = {}) => {
      const gone = db.transaction(() => {
        const stored = rows.get(kind, key);
        if (!stored) throw notFound(kind, key);
        checkVersion(kind, key, stored, options.version);
        rows.delete(kind, key);
        return withVersion(stored, rows.nextVersion());
      });
      publish('DELETED', gone);
    },

    applyStatus: async <K extends Kind>(
      kind: K,
      key: ObjectKey,
      status: NonNullable<Resources[K]['status']>,
      options: { readonly version?: string } = {},
    ) => {
      const written = update(kind, key, options.version, (stored) => {
        const whole = plain(status);
        if (isSameJson(stored.status, whole)) return undefined;
        throwIfAny(validateStatus(kind, whole));
        return { ...stored, status: whole };
      });
      return typed<K>(written);
    },

    watch: <K extends Kind>(kind: K, handler: (event: WatchEvent<K>) => void) =>
      watches.watch([kind], ({ type, object }) => handler({ type, object: typed<K>(object) })),
  };
}

function withVersion(object: StoredObject, resourceVersion: string): StoredObject {
  return { ...object, metadata: { ...object.metadata, resourceVersion } };
}

function checkPreconditions<K extends Kind>(
  { kind, key, create, version }: ApplyRequest<K>,
  stored: StoredObject | undefined,
): void {
  if (create && stored) throw new DomainError('ALREADY_EXISTS', `${kind} ${formatKey(key)} exists already`);
  if (version === undefined) return;
  if (!stored) throw notFound(kind, key);
  checkVersion(kind, key, stored, version);
}

function checkVersion(kind: Kind, key: ObjectKey, stored: StoredObject, version: string | undefined): void {
  if (version !== undefined && version !== stored.metadata.resourceVersion)
    throw new DomainError(
      'WRITE_CONFLICT',
      `${kind} ${formatKey(key)} has changed: read it again (expected version ${version}, it is ${stored.metadata.resourceVersion})`,
    );
}

function notFound(kind: Kind, key: ObjectKey): DomainError {
  return new DomainError('NOT_FOUND', `${kindNames[kind].plural} "${formatKey(key)}" not found`);
}

/** In the order of namespace and name, in which slices are read. */
function isAtOrBefore(key: ObjectKey, end: ObjectKey): boolean {
  const [namespace, reached] = [key.namespace ?? '', end.namespace ?? ''];
  return namespace < reached || (namespace === reached && key.name <= end.name);
}

/** Several handlers share an event, so none may change it. */
function freeze<T>(value: T): T {
  if (typeof value === 'object' && value !== null && !Object.isFrozen(value)) {
    Object.freeze(value);
    Object.values(value).forEach(freeze);
  }
  return value;
}
