export const group = 'paymasters.dev';
export const version = 'v1alpha1';
export const apiVersion = `${group}/${version}` as const;

/** Which manager owns which leaf fields, in the Kubernetes form, so that the same reader works for every store. */
export type ManagedFields = {
  readonly manager: string;
  readonly operation: 'Apply' | 'Update';
  readonly apiVersion: string;
  readonly fieldsType?: 'FieldsV1';
  /** Nested `{"f:spec":{"f:active":{}}}`; lists are atomic leaves. */
  readonly fieldsV1?: FieldsV1;
  readonly subresource?: string;
  readonly time?: string;
};
export type FieldsV1 = { readonly [key: string]: FieldsV1 };

export type ObjectMeta = {
  readonly name: string;
  /** Absent on cluster-scoped kinds. */
  readonly namespace?: string;
  readonly uid: string;
  readonly resourceVersion: string;
  readonly generation: number;
  /** RFC 3339. */
  readonly creationTimestamp: string;
  readonly deletionTimestamp?: string;
  readonly labels?: Readonly<Record<string, string>>;
  readonly annotations?: Readonly<Record<string, string>>;
  readonly managedFields?: readonly ManagedFields[];
};

/** Who created a resource through the dashboard: shown as `createdBy`. Absent on resources created from YAML. */
export const createdByAnnotation = 'paymasters.dev/created-by';

/**
 * An annotation on a Chain: anyone who may edit Chains can use it to end the wait after a loss of usage data early.
 * Its value names the loss in the same way as the condition UsageStoreLost. Any other value has no effect.
 */
export const acceptedLossAnnotation = 'paymasters.dev/accept-usage-loss';

export type ConditionStatus = 'True' | 'False' | 'Unknown';

/** `metav1.Condition`. `message` is a stable sentence that says what to do, without times and changing figures. */
export type Condition = {
  readonly type: string;
  readonly status: ConditionStatus;
  readonly reason: string;
  readonly message: string;
  readonly observedGeneration: number;
  /** RFC 3339; moves only when `status` does. */
  readonly lastTransitionTime: string;
};

/** What the status of every kind that users write says. */
export type ObservedStatus = {
  readonly observedGeneration?: number;
  readonly conditions?: readonly Condition[];
};

export type Resource<Kind extends string, Spec, Status> = {
  readonly apiVersion: typeof apiVersion;
  readonly kind: Kind;
  readonly metadata: ObjectMeta;
  readonly spec: Spec;
  readonly status?: Status;
};

/** Names one object; `namespace` is absent for cluster-scoped kinds. */
export type ObjectKey = { readonly namespace?: string; readonly name: string };

/** `namespace/name`, or `name` for cluster-scoped kinds: the key of work queues and maps. */
export function formatKey(key: ObjectKey): string {
  return key.namespace === undefined ? key.name : `${key.namespace}/${key.name}`;
}

export function parseKey(text: string): ObjectKey {
  const slash = text.indexOf('/');
  return slash === -1 ? { name: text } : { namespace: text.slice(0, slash), name: text.slice(slash + 1) };
}

export function objectKey(object: { readonly metadata: ObjectMeta }): ObjectKey {
  const { name, namespace } = object.metadata;
  return namespace === undefined ? { name } : { namespace, name };
}
