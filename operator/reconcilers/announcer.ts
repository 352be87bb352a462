import type { EventRecorder } from '../../core/resources/kubernetes-events.js';
import type { AnyResource } from '../../core/resources/kinds.js';
import { keyOf, type Condition } from '../../core/meta/meta.js';
import type { Cache } from '../cache.js';
import type { Timers } from '../../adapters/timers.js';
import { transitionsOf, type Transition } from './transitions.js';

/** Sends events for conditions that changed. A status shows a change at once; an event may wait. */
export type Announcer = ReturnType<typeof createAnnouncer>;

/** `kubectl apply` of a large folder takes seconds; a person who waits for an answer reads the status. */
export const graceMs = 5_000;

/**
 * A reference to something missing is a warning only if it is still missing after the grace. `kubectl apply` of a
 * folder sends objects in the order of file names, and would cause warnings about objects that arrive a moment later.
 */
export function createAnnouncer(deps: {
  readonly events: EventRecorder;
  readonly cache: Pick<Cache, 'get'>;
  readonly timers: Timers;
}) {
  const { events, cache, timers } = deps;
  /** Cancel functions by uid and condition. */
  const waiting = new Map<string, () => void>();

  function wait(id: string, object: AnyResource, transition: Transition): void {
    waiting.get(id)?.();
    const cancel = timers.after(graceMs, () => {
      waiting.delete(id);
      if (isStanding(object, transition)) events.record(transition.event);
    });
    waiting.set(id, cancel);
  }

  function isStanding({ kind, ...object }: AnyResource, { type, event }: Transition): boolean {
    const present = cache.get(kind, keyOf(object));
    return (
      present?.metadata.uid === object.metadata.uid &&
      present.status?.conditions?.some((each) => each.type === type && each.reason === event.reason) === true
    );
  }

  return {
    announce(object: AnyResource, before: readonly Condition[], after: readonly Condition[]): void {
      for (const transition of transitionsOf(object, before, after)) {
        const id = `${object.metadata.uid} ${transition.type}`;
        if (transition.mayArrive) {
          wait(id, object, transition);
          continue;
        }
        const cancel = waiting.get(id);
        cancel?.();
        // The fault was not announced, so its end is not news either.
        const isUnheard = waiting.delete(id) && transition.event.type === 'Normal';
        if (!isUnheard || transition.type === 'Ready') events.record(transition.event);
      }
    },
    /** Drops waiting events: this operator may have lost leadership. May be called twice. */
    stop(): void {
      for (const cancel of waiting.values()) cancel();
      waiting.clear();
    },
  };
}
