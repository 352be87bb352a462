import type { ObjectKey } from '../meta/meta.js';
import type { Kind, Resources } from './kinds.js';

/**
 * Port: the API of the resources, with the semantics of the Kubernetes API server.
 *
 * Guarantees (every implementation passes one conformance suite):
 * - `apply` is server-side apply, never forced unless asked. Managers own fields by leaf path (maps are granular,
 *   lists and ABI text atomic). A field that another manager owns with a different value is DomainError FIELD_OWNED,
 *   which names that manager; with `force` the ownership moves. A field that the manager owned before and leaves out
 *   now is removed, unless another manager owns it too.
 * - `create: true` fails with ALREADY_EXISTS when the object exists; `version` fails with WRITE_CONFLICT when the
 *   stored resourceVersion differs, and with NOT_FOUND when the object no longer exists.
 * - Every write is first validated by the schema and CEL rules of its kind (INVALID_INPUT with all problems).
 * - `generation` rises when the spec changes and `resourceVersion` with every change. A write that changes nothing
 *   raises neither.
 * - `apply` with `dryRun` is refused as the write would be, and answers the object as it would be; it stores and delivers nothing.
 * - Only `applyStatus` writes the status, and always as a whole. It never changes the spec, and spec writes never
 *   change the status.
 * - `watch` delivers the present state as ADDED, resolves `synced`, then delivers every change in order. An object
 *   that was deleted and created again between two deliveries arrives as DELETED and ADDED. Handlers must not throw.
 *   Watched objects may lack `managedFields`; a caller that needs them reads the object.
 * - During an outage methods throw DomainError UNAVAILABLE. Returned objects are frozen or private copies: never
 *   mutate them.
 */
export type ResourceStore = {
  get<K extends Kind>(kind: K, key: ObjectKey): Promise<Resources[K] | undefined>;
  list<K extends Kind>(kind: K, options?: ListOptions): Promise<readonly Resources[K][]>;
  /**
   * Some of what `list` answers, in the order of namespace and name, so that a long list needs little memory. Changes between two
   * pages may be missed. INVALID_INPUT (field `cursor`) when `after` is not a `next` of this store, or is too old.
   */
  page<K extends Kind>(kind: K, options: PageOptions): Promise<Page<Resources[K]>>;
  apply<K extends Kind>(request: ApplyRequest<K>): Promise<Resources[K]>;
  /** NOT_FOUND when it does not exist; WRITE_CONFLICT when `version` is given and differs. */
  delete(kind: Kind, key: ObjectKey, options?: { readonly version?: string }): Promise<void>;
  applyStatus<K extends Kind>(
    kind: K,
    key: ObjectKey,
    status: NonNullable<Resources[K]['status']>,
    options?: { readonly version?: string },
  ): Promise<Resources[K]>;
  watch<K extends Kind>(kind: K, handler: (event: WatchEvent<K>) => void): Watch;
};

/** Selectable fields: `spec.name`, `spec.chainId`, `spec.address`, `spec.paymasterRef.name`, `spec.policyType`, `spec.namespace`. */
export type ListOptions = {
  readonly namespace?: string;
  /** Equality on selectable fields, with values as text, e.g. `{'spec.paymasterRef.name': 'shop'}`. */
  readonly fields?: Readonly<Record<string, string>>;
};

export type PageOptions = ListOptions & { readonly limit: number; readonly after?: string };

/** `next`: of the page after it; undefined on the last one. */
type Page<T> = { readonly items: readonly T[]; readonly next?: string };

export type ApplyRequest<K extends Kind> = {
  /** Field manager: `paymaster-dashboard`, `manifests`, … */
  readonly manager: string;
  readonly kind: K;
  readonly key: ObjectKey;
  /** All fields of the spec that this manager wants to own from now on, and no others. */
  readonly spec: DeepPartial<Resources[K]['spec']>;
  readonly labels?: Readonly<Record<string, string>>;
  readonly annotations?: Readonly<Record<string, string>>;
  readonly create?: boolean;
  readonly version?: string;
  readonly force?: boolean;
  readonly dryRun?: boolean;
};

export type WatchEvent<K extends Kind> = {
  readonly type: 'ADDED' | 'MODIFIED' | 'DELETED';
  readonly object: Resources[K];
};

export type Watch = {
  /** Resolves when the state at the start has been delivered. */
  readonly synced: Promise<void>;
  stop(): void;
};

export type DeepPartial<T> = T extends readonly unknown[]
  ? T
  : T extends object
    ? { readonly [P in keyof T]?: DeepPartial<T[P]> }
    : T;
