import type { Timers } from '../../adapters/timers.js';
import { warnsWhenTrue } from '../../core/meta/condition-reasons.js';
import { objectKey, type Condition } from '../../core/meta/meta.js';
import type { AnyResource } from '../../core/resources/kinds.js';
import type { EventRecorder, ResourceEvent } from '../../core/resources/kubernetes-events.js';
import type { Cache } from '../cache.js';

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
    const present = cache.get(kind, objectKey(object));
    return (
      present?.metadata.uid === object.metadata.uid &&
      present.status?.conditions?.some((each) => each.type === type && each.reason === event.reason) === true
    );
  }

  return {
    announce(object: AnyResource, before: readonly Condition[], after: readonly Condition[]): void {
      for (const transition of listTransitions(object, before, after)) {
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

/** A condition that changed, and the event to report it with. */
type Transition = {
  /** Type of the condition. */
  readonly type: string;
  readonly event: ResourceEvent;
  /**
   * Something that the object refers to is missing. When objects are applied together, parents may arrive after
   * children.
   */
  readonly mayArrive: boolean;
};

/** Summaries and details of other conditions: their cause has a separate event. */
const toldOnlyByStatus: ReadonlySet<string> = new Set(['Programmed', 'Serving']);

/** Reasons that end by themselves when the rest of a folder has been applied, or an object has been replaced. */
const missing: Readonly<Record<string, ReadonlySet<string>>> = {
  Accepted: new Set(['NoOrganisation']),
  ResolvedRefs: new Set(['ChainNotFound', 'VersionNotFound', 'PaymasterNotFound', 'PaymasterDeleted']),
};

/**
 * The events for a status change: one for each condition that changed. A condition that is good from the start is not
 * news, except that the object as a whole is ready.
 */
export function listTransitions(
  object: ResourceEvent['object'],
  before: readonly Condition[],
  after: readonly Condition[],
): readonly Transition[] {
  const known = new Map(before.map((condition) => [condition.type, condition]));
  const isIncomplete = after.some(isMissing);
  return after.flatMap((condition) => {
    const previous = known.get(condition.type);
    if (condition.status === 'Unknown' || toldOnlyByStatus.has(condition.type)) return [];
    const isSame = previous?.status === condition.status && previous.reason === condition.reason;
    const isWarning = (condition.status === 'True') === warnsWhenTrue.has(condition.type);
    const isNews = isWarning || condition.type === 'Ready' || isRecovery(previous);
    if (isSame || !isNews) return [];
    const type = isWarning ? 'Warning' : 'Normal';
    const note = `${condition.type}: ${condition.message}`;
    const isSummary = condition.type === 'Ready' && condition.status === 'False';
    return [
      {
        type: condition.type,
        event: { object, type, reason: condition.reason, note },
        mayArrive: isMissing(condition) || (isSummary && isIncomplete),
      },
    ];
  });
}

function isRecovery(previous: Condition | undefined): boolean {
  return previous !== undefined && previous.status !== 'Unknown';
}

function isMissing({ type, reason }: Condition): boolean {
  return missing[type]?.has(reason) === true;
}
