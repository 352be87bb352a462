import type { ResourceEvent } from '../../core/resources/kubernetes-events.js';
import { warnsWhenTrue } from '../../core/meta/condition-reasons.js';
import type { Condition } from '../../core/meta/meta.js';

/** A condition that changed, and the event to report it with. */
export type Transition = {
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
export function transitionsOf(
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
