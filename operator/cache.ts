import { unreachable } from '../core/errors.js';
import type { Logger } from '../core/log.js';
import { formatKey, objectKey, type ObjectKey } from '../core/meta/meta.js';
import { reconciledKinds, type AnyResource, type Kind, type Resources } from '../core/resources/kinds.js';
import type { ResourceStore, Watch } from '../core/resources/resource-store.js';

/** One change of the cache: `before` is absent for a new object, `after` for one that is gone. */
export type Change = { readonly before?: AnyResource; readonly after?: AnyResource };

/**
 * The operator's copy of the resources: fed by watches, read by reconciles without asking the store. It may lag behind.
 * An object with a deletionTimestamp counts as gone, although finalizers may keep it for days: only `leavingAt` has it still.
 * Writes carry the version that was read, so a write that is based on an old version conflicts instead of overwriting.
 * Objects are shared: never change one.
 */
export type Cache = ReturnType<typeof createCache>;

export function createCache(deps: {
  readonly resources: Pick<ResourceStore, 'watch'>;
  readonly log: Logger;
}) {
  const tables = {
    Chain: createTable<Resources['Chain']>(),
    FeeToken: createTable<Resources['FeeToken']>(),
    Organisation: createTable<Resources['Organisation']>(),
    Paymaster: createTable<Resources['Paymaster']>(),
    SmartContract: createTable<Resources['SmartContract']>(),
    PaymasterPolicy: createTable<Resources['PaymasterPolicy']>(),
    DashboardToken: createTable<Resources['DashboardToken']>(),
  };
  const byNamespace = tables.Paymaster.index(({ metadata }) => metadata.namespace ?? '');
  const byName = tables.Paymaster.index(contestedName);
  const bySecret = tables.Paymaster.index(({ spec }) =>
    String(spec.writeConnectionSecretToRef !== undefined),
  );
  const byChain = tables.Paymaster.index(({ spec }) => String(spec.chainId));
  const contracts = tables.SmartContract.index(ownerKey);
  const policies = tables.PaymasterPolicy.index(ownerKey);
  const organisations = tables.Organisation.index(({ spec }) => spec.namespace);
  const chains = tables.Chain.index(({ spec }) => String(spec.chainId));
  const feeTokens = tables.FeeToken.index(({ spec }) => String(spec.chainId));
  const leaving = createTable<AnyResource>((object) => `${object.kind} ${formatKey(objectKey(object))}`);
  const leavingByRoot = leaving.index((object) => JSON.stringify(findRoot(object)));
  const watches: Watch[] = [];

  return {
    get: <K extends Kind>(kind: K, key: ObjectKey): Resources[K] | undefined =>
      findTable(kind).get(formatKey(key)),
    all: <K extends Kind>(kind: K): readonly Resources[K][] => findTable(kind).all(),
    paymastersIn: (namespace: string): readonly Resources['Paymaster'][] => byNamespace.find(namespace),
    countPaymastersIn: (namespace: string): number => byNamespace.count(namespace),
    /** How many Paymasters name a connection Secret. */
    countSecrets: (): number => bySecret.count('true'),
    /** Paymasters of the same namespace, name and chain, including this one. */
    rivalsOf: (paymaster: Resources['Paymaster']): readonly Resources['Paymaster'][] =>
      byName.find(contestedName(paymaster)),
    paymastersOn: (chainId: number): readonly Resources['Paymaster'][] => byChain.find(String(chainId)),
    /** Contracts and policies whose `paymasterRef` names the paymaster, whether it exists or not. */
    contractsOf: (paymaster: string): readonly Resources['SmartContract'][] => contracts.find(paymaster),
    policiesOf: (paymaster: string): readonly Resources['PaymasterPolicy'][] => policies.find(paymaster),
    organisationsOf: (namespace: string): readonly Resources['Organisation'][] =>
      organisations.find(namespace),
    chainsWith: (chainId: number): readonly Resources['Chain'][] => chains.find(String(chainId)),
    feeTokensOn: (chainId: number): readonly Resources['FeeToken'][] => feeTokens.find(String(chainId)),
    /** Objects that are being deleted, by the root that they were compiled into. */
    leavingAt: (kind: RootKind, key: string): readonly AnyResource[] =>
      leavingByRoot.find(JSON.stringify({ kind, key })),
    allLeaving: (): readonly AnyResource[] => leaving.all(),
    /** Stores the answer to a write of our own, so that the next reconcile does not act on the state before it. */
    note<K extends Kind>(kind: K, object: Resources[K]): void {
      const present = findTable(kind).get(formatKey(objectKey(object)));
      // If the object was deleted meanwhile, it must not come back; if it was changed meanwhile, its old state must
      // not.
      if (present !== undefined && isNewer(object, present)) findTable(kind).put(object);
    },
    /** Starts watching; resolves when everything present has been delivered. */
    async start(onChange: (change: Change) => void): Promise<void> {
      const notify = (change: Change): void => {
        try {
          onChange(change);
        } catch (error) {
          deps.log.error('queueing a changed resource failed', { error });
        }
      };
      await Promise.all(reconciledKinds.map((kind) => follow(kind, notify)));
    },
    stop(): void {
      for (const watch of watches.splice(0)) watch.stop();
    },
  };

  function findTable<K extends Kind>(kind: K): Table<Resources[K]> {
    const table: { readonly [P in Kind]: Table<Resources[P]> } = tables;
    return table[kind];
  }

  function follow<K extends Kind>(kind: K, notify: (change: Change) => void): Promise<void> {
    const table = findTable(kind);
    const watch = deps.resources.watch(kind, ({ type, object }) => {
      const before = table.get(formatKey(objectKey(object)));
      const wasLeaving = leaving.has(object);
      const isLeaving = type !== 'DELETED' && object.metadata.deletionTimestamp !== undefined;
      const isGone = type === 'DELETED' || isLeaving;
      if (isGone) table.remove(object);
      else table.put(object);
      if (isLeaving) leaving.put(object);
      else leaving.remove(object);
      // Of an object that leaves nothing more is decided, until it has left.
      if (isLeaving && wasLeaving && before === undefined) return;
      notify({
        ...(before !== undefined ? { before } : isGone ? { before: object } : {}),
        ...(isGone ? {} : { after: object }),
      });
    });
    watches.push(watch);
    return watch.synced;
  }
}

/** `namespace/name` of the Paymaster that a contract or policy names: the key under which all of them are compiled. */
export function ownerKey(object: Resources['SmartContract'] | Resources['PaymasterPolicy']): string {
  return `${object.metadata.namespace ?? ''}/${object.spec.paymasterRef.name}`;
}

/** What is compiled as a whole; its key is as in mapping.ts. */
export type RootKind = 'Paymaster' | 'Chain' | 'Organisation' | 'DashboardToken';

/** The root that an object is compiled into. */
export function findRoot(object: AnyResource): { readonly kind: RootKind; readonly key: string } {
  switch (object.kind) {
    case 'SmartContract':
    case 'PaymasterPolicy':
      return { kind: 'Paymaster', key: ownerKey(object) };
    case 'Chain':
    case 'FeeToken':
      return { kind: 'Chain', key: String(object.spec.chainId) };
    case 'Organisation':
      return { kind: 'Organisation', key: object.spec.namespace };
    case 'Paymaster':
    case 'DashboardToken':
      return { kind: object.kind, key: formatKey(objectKey(object)) };
    default:
      return unreachable(object);
  }
}

/**
 * Versions of one object are whole numbers that rise. With other versions the watch decides, not the answer to a write.
 */
function isNewer(object: AnyResource, present: AnyResource): boolean {
  const [next, known] = [object, present].map(({ metadata }) => metadata.resourceVersion);
  if (object.metadata.uid !== present.metadata.uid || next === undefined || known === undefined) return false;
  return wholeNumber.test(next) && wholeNumber.test(known) && BigInt(next) > BigInt(known);
}

const wholeNumber = /^[0-9]+$/;

/** What only one paymaster of a namespace and chain may have. */
export function contestedName({ metadata, spec }: Resources['Paymaster']): string {
  return JSON.stringify([metadata.namespace, spec.chainId, spec.name]);
}

type Table<T extends AnyResource> = ReturnType<typeof createTable<T>>;

function createTable<T extends AnyResource>(nameOf = (object: T): string => formatKey(objectKey(object))) {
  const objects = new Map<string, T>();
  const indexes: { readonly valueOf: (object: T) => string; readonly groups: Map<string, Map<string, T>> }[] =
    [];

  function remove(object: T): void {
    const key = nameOf(object);
    const present = objects.get(key);
    if (present === undefined) return;
    objects.delete(key);
    for (const { valueOf, groups } of indexes) {
      const group = groups.get(valueOf(present));
      group?.delete(key);
      if (group?.size === 0) groups.delete(valueOf(present));
    }
  }

  return {
    get: (key: string): T | undefined => objects.get(key),
    all: (): readonly T[] => [...objects.values()],
    has: (object: T): boolean => objects.has(nameOf(object)),
    put(object: T): void {
      remove(object);
      const key = nameOf(object);
      objects.set(key, object);
      for (const { valueOf, groups } of indexes) {
        const value = valueOf(object);
        const group = groups.get(value) ?? new Map<string, T>();
        groups.set(value, group.set(key, object));
      }
    },
    remove,
    /** A look-up of objects by a value; `put` and `remove` keep it up to date. */
    index(valueOf: (object: T) => string) {
      const groups = new Map<string, Map<string, T>>();
      indexes.push({ valueOf, groups });
      return {
        find: (value: string): readonly T[] => [...(groups.get(value)?.values() ?? [])],
        count: (value: string): number => groups.get(value)?.size ?? 0,
      };
    },
  };
}
