import { isDeepStrictEqual } from 'node:util';
import { isDomainError } from '../../core/errors.js';
import { setConditions } from '../../core/meta/conditions.js';
import type { Finding } from '../../core/meta/conditions.js';
import { keyOf } from '../../core/meta/meta.js';
import type { Condition } from '../../core/meta/meta.js';
import type { Kind, Resources } from '../../core/resources/kinds.js';
import type { ResourceStore } from '../../core/resources/resource-store.js';
import type { Clock } from '../../core/units/time.js';
import type { Cache } from '../cache.js';
import type { Announcer } from './announcer.js';

type Status<K extends Kind> = NonNullable<Resources[K]['status']>;

/** Writes what was found into the status of objects, and nothing when the status says it already. */
export type StatusWriter = {
  /** `rest`: the status without conditions and observedGeneration, whole: fields that are left out are removed. */
  write<K extends Kind>(
    kind: K,
    object: Resources[K],
    findings: readonly Finding[],
    rest: Omit<Status<K>, 'conditions' | 'observedGeneration'>,
  ): Promise<void>;
};

export function createStatusWriter(deps: {
  readonly resources: Pick<ResourceStore, 'applyStatus'>;
  readonly cache: Pick<Cache, 'note'>;
  readonly announcer: Pick<Announcer, 'announce'>;
  readonly clock: Clock;
}): StatusWriter {
  return {
    async write(kind, object, findings, rest) {
      const { generation, resourceVersion } = object.metadata;
      const present: readonly Condition[] = object.status?.conditions ?? [];
      const conditions = setConditions(present, findings, generation, deps.clock.now());
      const status = { ...rest, observedGeneration: generation, conditions };
      if (isDeepStrictEqual(status, object.status)) return;
      try {
        // The version that was read: what an older look at the object found must not overwrite a newer finding.
        const options = { version: resourceVersion };
        deps.cache.note(kind, await deps.resources.applyStatus(kind, keyOf(object), status, options));
        deps.announcer.announce(object, present, conditions);
      } catch (error) {
        // Gone meanwhile; its deletion is an event of its own.
        if (!isDomainError(error, 'NOT_FOUND')) throw error;
      }
    },
  };
}

/** Writes of one reconcile under way at once: enough to hide the way to the API server, few beside its connections. */
const atOnce = 4;

/**
 * Runs all actions, a few at once, and then throws the first error: one object whose status cannot be written must not
 * keep the others from theirs.
 */
export async function runAll(actions: readonly (() => Promise<void>)[]): Promise<void> {
  const errors: unknown[] = [];
  const waiting = actions.values();
  async function work(): Promise<void> {
    for (const action of waiting) await action().catch((error: unknown) => errors.push(error));
  }
  await Promise.all(Array.from({ length: Math.min(atOnce, actions.length) }, work));
  if (errors.length > 0) throw errors[0];
}
