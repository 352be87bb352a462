import type { Condition, ObjectMeta } from '../../../core/meta/meta.js';
import type { KubeObject } from '../../kube/objects.js';

/** A watched object with the shared members that its schema declares. */
type Watched = KubeObject & {
  readonly spec: { readonly abi?: string };
  readonly status?: { readonly conditions?: readonly Condition[] };
};

const lastApplied = 'kubectl.kubernetes.io/last-applied-configuration';

/**
 * Makes the copy of an object that a watch keeps. Ownership records are two thirds of a small object, and the
 * annotation of kubectl is a second copy of all of it; code that needs them reads the object itself. A text that many
 * objects hold is kept once.
 */
export function createObjectSlimmer(): (object: KubeObject) => KubeObject {
  const share = createSharedTexts();
  return (object) => {
    const { apiVersion, kind, metadata, spec, status, ...rest } = object as Watched;
    return Object.freeze({
      ...(apiVersion === undefined ? {} : { apiVersion: share(apiVersion) }),
      ...(kind === undefined ? {} : { kind: share(kind) }),
      ...rest,
      metadata: slimMetadata(metadata, share),
      spec: spec.abi === undefined ? spec : { ...spec, abi: share(spec.abi) },
      ...(status === undefined ? {} : { status: slimStatus(status, share) }),
    });
  };
}

function slimMetadata(metadata: ObjectMeta, share: SharedTexts): ObjectMeta {
  const { managedFields: _managedFields, annotations, namespace, ...kept } = metadata;
  const entries = Object.entries(annotations ?? {}).filter(([name]) => name !== lastApplied);
  return {
    ...kept,
    ...(namespace === undefined ? {} : { namespace: share(namespace) }),
    ...(entries.length === 0 ? {} : { annotations: Object.fromEntries(entries) }),
  };
}

function slimStatus<T extends NonNullable<Watched['status']>>(status: T, share: SharedTexts): T {
  if (status.conditions === undefined) return status;
  return { ...status, conditions: status.conditions.map((condition) => slimCondition(condition, share)) };
}

function slimCondition(condition: Condition, share: SharedTexts): Condition {
  return {
    type: share(condition.type),
    status: condition.status,
    reason: share(condition.reason),
    message: share(condition.message),
    observedGeneration: condition.observedGeneration,
    lastTransitionTime: share(condition.lastTransitionTime),
  };
}

/**
 * Returns one shared string for equal texts. Ten thousand objects have the same namespaces, ABIs, and reasons and
 * messages of conditions, and a parser makes a new string of each. Forgetting a text costs memory, never correctness,
 * so all are forgotten when they take too much.
 */
type SharedTexts = (text: string) => string;

const maxCharacters = 4 * 1024 * 1024;

export function createSharedTexts(): SharedTexts {
  const texts = new Map<string, string>();
  let characters = 0;
  return (text) => {
    const known = texts.get(text);
    if (known !== undefined) return known;
    if (characters + text.length > maxCharacters) {
      texts.clear();
      characters = 0;
    }
    texts.set(text, text);
    characters += text.length;
    return text;
  };
}
