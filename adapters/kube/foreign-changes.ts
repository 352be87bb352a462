import type { Ambient } from '../../core/ambient.js';
import type { ForeignChange } from '../../core/resources/foreign-change.js';
import { given } from '../../core/units/given.js';
import type { KubeObject } from './objects.js';
import { createReflector, type ReflectorTiming } from './reflector.js';
import type { KubeTransport } from './transport.js';

/** Objects of one kind that this process writes, all with the field manager {@link ours}. */
export type OwnObjects = {
  readonly kind: ForeignChange['kind'];
  readonly path: string;
  readonly fieldSelector?: string;
  readonly labelSelector?: string;
};

export const ours = 'paymaster-operator';

/**
 * Watches the objects that the operator writes, and reports those that are gone or that others have changed. Reads their
 * metadata only: that is enough to notice a change, and the repair reads the rest.
 */
export function watchForeignChanges(
  deps: Ambient & {
    readonly transport: KubeTransport;
    readonly random: () => number;
    readonly objects: readonly OwnObjects[];
    readonly timing?: Partial<ReflectorTiming>;
  },
  onChange: (change: ForeignChange) => void,
): { stop(): Promise<void> } {
  const reflectors = deps.objects.map(({ kind, ...collection }) => {
    const reflector = createReflector<Seen>({
      ...deps,
      ...collection,
      kind: `${kind} written`,
      metadataOnly: true,
      transform: toSeen,
      onEvent({ type, object }) {
        const { namespace = '', name } = object.metadata;
        // What is there at the start is compared with its sources anyway.
        if (reflector.hasSynced() && (type === 'DELETED' || object.isForeign))
          onChange({ kind, namespace, name });
      },
      now: () => deps.clock.now(),
      ...given({ timing: deps.timing }),
    });
    reflector.start();
    return reflector;
  });
  return { stop: async () => void (await Promise.all(reflectors.map((each) => each.stop()))) };
}

type Seen = KubeObject & { readonly isForeign: boolean };

/** There may be ten thousand of them. */
function toSeen({ metadata }: KubeObject): Seen {
  const { name, namespace, uid, resourceVersion, managedFields = [] } = metadata;
  return {
    metadata: {
      name,
      ...given({ namespace }),
      uid,
      resourceVersion,
      generation: 0,
      creationTimestamp: '',
    },
    isForeign: managedFields.some(({ manager }) => manager !== ours),
  };
}
