import { isDeepStrictEqual } from 'node:util';
import type { AnyResource } from '../core/resources/kinds.js';
import { formatKey, objectKey } from '../core/meta/meta.js';
import type { Timers } from '../adapters/timers.js';
import type { Change } from './cache.js';

/**
 * Finds statuses that somebody else has changed. The watch delivers changes of our own as well, often before the answer to
 * the write: so each gets some seconds to be explained by an answer. Two operators that disagree write once in that time, not
 * without a pause.
 */
export function createForeignStatuses(deps: {
  readonly timers: Timers;
  readonly handle: (objects: readonly AnyResource[]) => void;
}) {
  const unexplained = new Map<string, AnyResource>();
  let cancel: (() => void) | undefined;

  function report(): void {
    cancel = undefined;
    const objects = [...unexplained.values()];
    unexplained.clear();
    deps.handle(objects);
  }

  return {
    /** A change from the watch. */
    saw({ before, after }: Change): void {
      if (before === undefined || after === undefined) return;
      if (before.metadata.resourceVersion === after.metadata.resourceVersion) return;
      if (isDeepStrictEqual(before.status, after.status)) return;
      unexplained.set(formatObjectName(after), after);
      cancel ??= deps.timers.after(graceMs, report);
    },
    /** The answer to a write of ours. */
    wrote(object: AnyResource): void {
      const name = formatObjectName(object);
      if (unexplained.get(name)?.metadata.resourceVersion === object.metadata.resourceVersion)
        unexplained.delete(name);
    },
    stop(): void {
      cancel?.();
    },
  };
}

const graceMs = 5_000;

function formatObjectName(object: AnyResource): string {
  return `${object.kind} ${formatKey(objectKey(object))}`;
}
