import type { ResourceEvent } from '../../core/kubernetes-events.js';
import type { Condition } from '../../core/resources/meta.js';

/** Conditions whose `True` is what somebody should know of. */
const warnsWhenTrue: ReadonlySet<string> = new Set([
  'OpenSponsorship',
  'ClockSkew',
  'TokenLoss',
  'UsageStoreLost',
]);
/** Summaries and details of others: their cause has an event of its own. */
const toldOnlyByStatus: ReadonlySet<string> = new Set(['Programmed']);

/**
 * The events of a status change: one for each condition that moved. What is good from the beginning is not news, except
 * that the object as a whole is ready.
 */
export function eventsOf(
  object: ResourceEvent['object'],
  before: readonly Condition[],
  after: readonly Condition[],
): readonly ResourceEvent[] {
  const known = new Map(before.map((condition) => [condition.type, condition]));
  return after.flatMap((condition) => {
    const previous = known.get(condition.type);
    if (condition.status === 'Unknown' || toldOnlyByStatus.has(condition.type)) return [];
    const isSame = previous?.status === condition.status && previous.reason === condition.reason;
    const isWarning = (condition.status === 'True') === warnsWhenTrue.has(condition.type);
    const isNews = isWarning || condition.type === 'Ready' || hasMended(previous);
    if (isSame || !isNews) return [];
    const type = isWarning ? 'Warning' : 'Normal';
    return [{ object, type, reason: condition.reason, note: `${condition.type}: ${condition.message}` }];
  });
}

function hasMended(previous: Condition | undefined): boolean {
  return previous !== undefined && previous.status !== 'Unknown';
}
