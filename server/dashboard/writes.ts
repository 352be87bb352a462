import { eachObject } from '../../adapters/resources/pages.js';
import { pause } from '../../adapters/timers.js';
import { createTurns } from '../../adapters/turns.js';
import { inTime } from '../../adapters/within-deadline.js';
import type { Ambient } from '../../core/ambient.js';
import { deriveObjectId } from '../../core/config/ids.js';
import type { Tenant } from '../../core/config/tenant.js';
import { DomainError, fieldOwned, isDomainError } from '../../core/errors.js';
import type { ChangeLog, ChangeWrite } from '../../core/ledger/change.js';
import type { ObjectNames } from '../../core/ledger/object-names.js';
import { silentLogger } from '../../core/log.js';
import { formatPath, type Tree } from '../../core/meta/field-tree.js';
import { createdByAnnotation, formatKey, objectKey, type ObjectKey } from '../../core/meta/meta.js';
import type { AnyResource, Kind, Resources } from '../../core/resources/kinds.js';
import type { EventRecorder } from '../../core/resources/kubernetes-events.js';
import {
  fieldsOfOthers,
  ownedFields,
  listOwners,
  type OwnedFields,
} from '../../core/resources/managed-fields.js';
import { toChangeWrite, type Versions } from '../../core/resources/object-change.js';
import type { ApplyRequest, DeepPartial, ResourceStore } from '../../core/resources/resource-store.js';
import { wideningIn } from '../../core/resources/widening-fields.js';
import { given } from '../../core/units/given.js';
import type { Principal } from './auth.js';
import { createdAtAnnotation } from './views.js';

/** Field manager of everything that the dashboard API writes. */
export const dashboardManager = 'paymaster-dashboard';

export type Spec<K extends Kind> = DeepPartial<Resources[K]['spec']>;

/** All fields that the dashboard owns after the change; undefined when nothing changes. */
type Plan<K extends Kind> = (
  current: Resources[K],
  owned: Spec<K>,
) => Promise<Spec<K> | undefined> | Spec<K> | undefined;

/** What the dashboard owns after the change; undefined when nothing changes. */
type Edit<K extends Kind> = (
  current: Resources[K],
  owned: OwnedFields<Resources[K]['spec']>,
) => OwnedFields<Resources[K]['spec']> | undefined | Promise<OwnedFields<Resources[K]['spec']> | undefined>;

function asEdit<K extends Kind>(plan: Plan<K>): Edit<K> {
  return async (current, owned) => {
    const spec = await plan(current, owned.spec);
    return spec && { ...owned, spec };
  };
}

type Labels = Readonly<Record<string, string>>;

export type Writes = ReturnType<typeof createWrites>;

/**
 * Writes of the dashboard: server-side apply, forced only over a manual edit. An apply replaces all fields that its manager owned before.
 * So a change starts from the owned fields and adds only those whose value changes; the manifest keeps its own fields.
 */
export function createWrites(
  deps: Pick<Ambient, 'clock' | 'log'> & {
    readonly resources: Pick<ResourceStore, 'get' | 'page' | 'apply' | 'delete'>;
  },
) {
  const { resources, clock, log } = deps;
  // Concurrent changes of one object in this process would only make each other retry.
  const turns = createTurns();
  const inTurn = <T>(kind: Kind, key: ObjectKey, attempt: () => Promise<T>): Promise<T> =>
    turns.run(`${kind} ${formatKey(key)}`, () => retryConflicts(attempt));

  return {
    /** ALREADY_EXISTS when an object of that name exists. */
    create: <K extends Kind>(kind: K, key: ObjectKey, spec: Spec<K>, createdBy: string, labels?: Labels) =>
      resources.apply<K>({
        ...given({ labels }),
        manager: dashboardManager,
        kind,
        key,
        spec,
        annotations: {
          [createdByAnnotation]: createdBy,
          [createdAtAnnotation]: new Date(clock.now()).toISOString(),
        },
        create: true,
      }),

    /**
     * Reads, plans and applies; repeats this for ten seconds when another writer was faster, then throws WRITE_CONFLICT. NOT_FOUND
     * when the object is gone, FIELD_OWNED when another manager owns a field that would change.
     */
    change: <K extends Kind>(kind: K, key: ObjectKey, plan: Plan<K>) => edit(kind, key, asEdit(plan)),

    /** The same for all that the dashboard owns of an object. */
    edit,

    /**
     * The object as it was. `check` may throw. FIELD_OWNED when another manager declares fields of the object: that manager would create
     * it again, or miss it.
     */
    remove: <K extends Kind>(
      kind: K,
      key: ObjectKey,
      check?: (current: Resources[K]) => void,
    ): Promise<AnyResource> =>
      inTurn(kind, key, async () => {
        const current = await requirePresent(kind, key);
        check?.(current);
        const declared = fieldsOfOthers(current, isOurs);
        if (declared.length > 0) throw fieldOwned(`${kind} ${formatKey(key)}`, declared);
        await resources.delete(kind, key, { version: current.metadata.resourceVersion });
        return current;
      }),
  };

  function edit<K extends Kind>(kind: K, key: ObjectKey, plan: Edit<K>): Promise<Resources[K]> {
    return inTurn(kind, key, async () => {
      const current = await requirePresent(kind, key);
      const owned = ownedFields<K>(current, dashboardManager);
      const fields = await plan(current, owned);
      if (fields === undefined) return current;
      await requireOwnWidening(kind, current, owned.spec, fields.spec);
      const version = current.metadata.resourceVersion;
      return applyOverHand({ ...fields, manager: dashboardManager, kind, key, version });
    });
  }

  /** Throws FIELD_OWNED where a field changes that belongs to the owner of `active`. */
  async function requireOwnWidening<K extends Kind>(
    kind: K,
    current: Resources[K],
    owned: Spec<K>,
    next: Spec<K>,
  ): Promise<void> {
    const widening = wideningIn(kind, current.spec as Tree, owned as Tree, next as Tree);
    const owners = new Map<Kind, string | undefined>();
    for (const { of } of widening) if (!owners.has(of)) owners.set(of, await ownerOfActive(current, of));
    const lost = widening.flatMap(({ path, of }) => {
      const manager = owners.get(of);
      return manager === undefined ? [] : [{ field: formatPath(['spec', ...path]), manager }];
    });
    if (lost.length > 0) throw fieldOwned(`${kind} ${formatKey(objectKey(current))}`, lost);
  }

  /** Another manager that owns `active` of the object, or of one of this kind that belongs to it. */
  async function ownerOfActive(object: AnyResource, kind: Kind): Promise<string | undefined> {
    const among = (each: AnyResource): string | undefined =>
      listOwners(each, 'spec.active').find(({ manager }) => !isOurs(manager))?.manager;
    if (object.kind === kind) return among(object);
    const { namespace, name } = object.metadata;
    const fields = { 'spec.paymasterRef.name': name };
    for await (const each of eachObject(resources, kind, { ...given({ namespace }), fields })) {
      const manager = among(each);
      if (manager !== undefined) return manager;
    }
    return undefined;
  }

  async function applyOverHand<K extends Kind>(request: ApplyRequest<K>): Promise<Resources[K]> {
    try {
      return await resources.apply(request);
    } catch (error) {
      if (!isOwnedByHand(error)) throw error;
      log.info('field taken over from a manual edit', { kind: request.kind, object: formatKey(request.key) });
      return resources.apply({ ...request, force: true });
    }
  }

  async function requirePresent<K extends Kind>(kind: K, key: ObjectKey): Promise<Resources[K]> {
    const current = await resources.get(kind, key);
    if (!current) throw new DomainError('NOT_FOUND', `${kind} not found`);
    return current;
  }
}

/** The same, answered as if they were made: nothing is stored, and no deletion is among them. */
export function createDryWrites({
  resources,
  clock,
}: Parameters<typeof createWrites>[0]): Omit<Writes, 'remove'> {
  const apply = <K extends Kind>(request: ApplyRequest<K>) => resources.apply({ ...request, dryRun: true });
  return createWrites({ resources: { ...resources, apply }, clock, log: silentLogger });
}

/** Other replicas and the operator write too, each of them briefly: a conflict that lasts longer than this is a fault. */
const retryMs = 10_000;
const maxPauseMs = 200;

async function retryConflicts<T>(attempt: () => Promise<T>): Promise<T> {
  const deadline = performance.now() + retryMs;
  for (let pauseMs = 20; ; pauseMs = Math.min(pauseMs * 2, maxPauseMs)) {
    try {
      return await attempt();
    } catch (error) {
      if (!isDomainError(error, 'WRITE_CONFLICT') || performance.now() > deadline) throw error;
    }
    // Jitter, so that writers that collided do not collide again.
    await pause(Math.random() * pauseMs);
  }
}

/** `kubectl edit` owns the fields that a person edited: a one-off edit, not a manifest that would be applied again. */
const hands: readonly string[] = ['kubectl-edit'];

function isOwnedByHand(error: unknown): boolean {
  if (!isDomainError(error, 'FIELD_OWNED')) return false;
  return (error.details.owner ?? '').split(', ').every((owner) => hands.includes(owner));
}

/** Another manager that declares fields of the object, and would make it again. */
export function declaredBy(object: AnyResource): string | undefined {
  return fieldsOfOthers(object, isOurs)[0]?.manager;
}

/** Fields of the spec that others than the dashboard keep as they are, by manager. */
export function listManagers(object: AnyResource): readonly Managed[] {
  const byManager = Map.groupBy(fieldsOfOthers(object, isOurs), ({ manager }) => manager);
  return [...byManager].map(([manager, owned]) => ({
    manager,
    fields: [...new Set(owned.map(({ field }) => field))].sort(),
  }));
}

type Managed = { readonly manager: string; readonly fields: readonly string[] };

function isOurs(manager: string): boolean {
  return manager === dashboardManager || hands.includes(manager);
}

/** An answer waits no longer for a record. One that comes too late is missing, and the log says so. */
const patienceMs = 2_000;
/** As reasons of Kubernetes are written. */
const reasons = { created: 'Created', changed: 'Changed', deleted: 'Deleted' } as const;

type Recording = Pick<Ambient, 'clock' | 'log'> & {
  readonly writes: Writes;
  readonly events?: EventRecorder;
  readonly changes?: Pick<ChangeLog, 'record'>;
  readonly names?: Pick<ObjectNames, 'keep'>;
};

/**
 * The writes of one call, which are recorded with its token and request. The write comes first and stands, whatever becomes of its
 * record: a stop must work while the database is away.
 */
export function recordedWrites(
  { changes, names, events, writes, clock, log }: Recording,
  { tenant, tokenName }: Pick<Principal, 'tenant' | 'tokenName'>,
  requestId: string,
): Writes {
  const author = { name: tokenName, requestId };

  async function record(versions: Versions): Promise<void> {
    const object = versions.after ?? versions.before;
    const write = toChangeWrite(versions, { at: clock.now(), organisation: tenant, author });
    events?.record({ object, type: 'Normal', reason: reasons[write.action], note: formatNote(write) });
    const late = () => new DomainError('UNAVAILABLE', 'the database does not answer in time');
    const name = versions.after === undefined ? toObjectNames(tenant, object) : [];
    const kept = Promise.all([changes?.record(write), name.length > 0 && names?.keep(name)]);
    try {
      await inTime(patienceMs, kept, late);
    } catch (error) {
      log.warn('change not recorded', { requestId, kind: object.kind, object: object.metadata.name, error });
    }
  }

  const edit = async <K extends Kind>(kind: K, key: ObjectKey, plan: Edit<K>): Promise<Resources[K]> => {
    let before: Resources[K] | undefined;
    const after = await writes.edit<K>(kind, key, (current, owned) => {
      before = current;
      return plan(current, owned);
    });
    // A caller who asks for a state that exists already must not become its author.
    if (before?.metadata.generation !== after.metadata.generation) await record({ before, after });
    return after;
  };
  return {
    async create(...what) {
      const after = await writes.create(...what);
      await record({ before: undefined, after });
      return after;
    },
    change: (kind, key, plan) => edit(kind, key, asEdit(plan)),
    edit,
    async remove(...what) {
      const before = await writes.remove(...what);
      await record({ before, after: undefined });
      return before;
    },
  };
}

/** Values are left out: who may read events may not be meant to read them. */
function formatNote({ author, fields }: ChangeWrite): string {
  return `By token ${author.name}, request ${author.requestId}: ${fields.map(({ field }) => field).join(', ')}`;
}

function toObjectNames(organisation: Tenant, { kind, metadata, spec }: AnyResource) {
  if (kind !== 'Paymaster' && kind !== 'PaymasterPolicy') return [];
  return [{ organisation, kind, id: deriveObjectId[kind](organisation, metadata.name), shown: spec.name }];
}
