import { isDeepStrictEqual } from 'node:util';
import type { Pace } from '../../adapters/pace.js';
import { isDomainError } from '../../core/errors.js';
import { setConditions, finding, type Finding } from '../../core/meta/conditions.js';
import { objectKey, type Condition } from '../../core/meta/meta.js';
import type { Kind, Resources } from '../../core/resources/kinds.js';
import type { ResourceStore } from '../../core/resources/resource-store.js';
import type { Clock } from '../../core/units/time.js';
import type { Cache, RootKind } from '../cache.js';
import type { Reconcile } from '../runtime/controller.js';
import type { Announcer } from './announcer.js';

type Status<K extends Kind> = NonNullable<Resources[K]['status']>;

/** Writes findings into the status of objects, and writes nothing when the status has them already. */
export type StatusWriter = ReturnType<typeof createStatusWriter>;

export function createStatusWriter(deps: {
  readonly resources: Pick<ResourceStore, 'applyStatus'>;
  readonly cache: Pick<Cache, 'note'>;
  readonly announcer: Pick<Announcer, 'announce'>;
  readonly clock: Clock;
}) {
  return {
    /** `rest`: the whole status without conditions and observedGeneration. Fields that are left out are removed. */
    async write<K extends Kind>(
      kind: K,
      object: Resources[K],
      findings: readonly Finding[],
      rest: Omit<Status<K>, 'conditions' | 'observedGeneration'>,
    ): Promise<void> {
      const { generation, resourceVersion } = object.metadata;
      const present: readonly Condition[] = object.status?.conditions ?? [];
      const conditions = setConditions(present, findings, generation, deps.clock.now());
      const status = { ...rest, observedGeneration: generation, conditions };
      if (isDeepStrictEqual(status, object.status)) return;
      try {
        // The version that was read: findings about an older version of the object must not overwrite newer ones.
        const options = { version: resourceVersion };
        deps.cache.note(kind, await deps.resources.applyStatus(kind, objectKey(object), status, options));
        deps.announcer.announce(object, present, conditions);
      } catch (error) {
        // Deleted meanwhile. The deletion causes a separate event.
        if (!isDomainError(error, 'NOT_FOUND')) throw error;
      }
    },
  };
}

/**
 * Parallel writes of one reconcile: enough to hide the latency of the API server, few compared with its connections.
 */
const atOnce = 4;

/**
 * Runs all actions, a few at once, and then throws the first error: if the status of one object cannot be written, the
 * others must still get theirs. `pace`: for thousands of actions, most of which find nothing to write.
 */
export async function runAll(
  actions: readonly (() => Promise<void>)[],
  pace?: Pick<Pace, 'rest'>,
): Promise<void> {
  const errors: unknown[] = [];
  const waiting = actions.values();
  async function work(): Promise<void> {
    for (const action of waiting) {
      const pause = pace?.rest();
      if (pause !== undefined) await pause;
      await action().catch((error: unknown) => errors.push(error));
    }
  }
  await Promise.all(Array.from({ length: Math.min(atOnce, actions.length) }, work));
  if (errors.length > 0) throw errors[0];
}

type Deps = { readonly cache: Pick<Cache, 'leavingAt'>; readonly statuses: StatusWriter };

/** After the root was reconciled without them, the statuses of its objects that are being deleted. */
export function withLeaving(root: RootKind, reconcile: Reconcile, deps: Deps): Reconcile {
  return async (key) => {
    const result = await reconcile(key);
    await runAll(
      deps.cache.leavingAt(root, key).map((object) => () => writeDeleting(deps, object.kind, object)),
    );
    return result;
  };
}

async function writeDeleting<K extends Kind>(
  { statuses }: Deps,
  kind: K,
  object: Resources[K],
): Promise<void> {
  const { conditions: _, observedGeneration: __, ...rest } = object.status ?? {};
  const findings = [finding('Programmed', 'Deleting'), finding('Ready', 'Deleting')];
  await statuses.write(kind, object, findings, rest as never);
}
