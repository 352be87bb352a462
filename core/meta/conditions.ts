import { formatInstant, type EpochMs } from '../units/time.js';
import {
  conditionReasons,
  type ConditionReason,
  type ConditionType,
  type ReasonText,
} from './condition-reasons.js';
import type { Condition, ConditionStatus } from './meta.js';

/** A condition before it is merged into the stored status: without generation and time. */
export type Finding = {
  readonly type: ConditionType;
  readonly status: ConditionStatus;
  readonly reason: string;
  readonly message: string;
};

/**
 * Longest message of a condition, in characters. When a message lists many things, readers need only the first ones.
 */
export const maxMessageLength = 32_768;

/**
 * A finding with a documented reason; its status follows from the reason. `message` says exactly what is wrong and
 * what to do, without times and changing figures; it defaults to the documented text. A message that is too long for
 * a condition is cut, because a store that refuses the whole status would show nothing.
 */
export function finding<T extends ConditionType>(
  type: T,
  reason: ConditionReason<T>,
  message?: string,
): Finding {
  const reasons: Readonly<Record<string, ReasonText>> = conditionReasons[type];
  const documented = reasons[reason];
  if (documented === undefined) throw new RangeError(`condition ${type} has no reason ${reason}`);
  return { type, status: documented.status, reason, message: shortened(message ?? documented.text) };
}

function shortened(message: string): string {
  if (message.length <= maxMessageLength) return message;
  // The cut may split a surrogate pair.
  return `${message.slice(0, maxMessageLength - 1).toWellFormed()}…`;
}

/**
 * The conditions with one of them set. `lastTransitionTime` moves only when `status` does. If nothing changes, it
 * returns the very same array, so that callers can compare by identity whether to write.
 */
export function setCondition(
  conditions: readonly Condition[],
  next: Finding,
  observedGeneration: number,
  now: EpochMs,
): readonly Condition[] {
  const present = conditions.find((condition) => condition.type === next.type);
  if (present === undefined)
    return [...conditions, { ...next, observedGeneration, lastTransitionTime: formatInstant(now) }];
  if (isSame(present, next, observedGeneration)) return conditions;
  const lastTransitionTime = present.status === next.status ? present.lastTransitionTime : formatInstant(now);
  const changed: Condition = { ...next, observedGeneration, lastTransitionTime };
  return conditions.map((condition) => (condition === present ? changed : condition));
}

/** Exactly the given findings as conditions, in their order; conditions of other types disappear. */
export function setConditions(
  conditions: readonly Condition[],
  findings: readonly Finding[],
  observedGeneration: number,
  now: EpochMs,
): readonly Condition[] {
  const types = new Set<string>(findings.map((next) => next.type));
  const kept = conditions.filter((condition) => types.has(condition.type));
  const start = kept.length === conditions.length ? conditions : kept;
  return findings.reduce((list, next) => setCondition(list, next, observedGeneration, now), start);
}

export function findCondition(
  conditions: readonly Condition[] | undefined,
  type: ConditionType,
): Condition | undefined {
  return conditions?.find((condition) => condition.type === type);
}

/** True when the condition holds for the present spec: a `True` for an older generation does not count. */
export function isConditionTrue(
  resource: { readonly metadata: { readonly generation: number }; readonly status?: StatusWithConditions },
  type: ConditionType,
): boolean {
  const condition = findCondition(resource.status?.conditions, type);
  return condition?.status === 'True' && condition.observedGeneration === resource.metadata.generation;
}

type StatusWithConditions = { readonly conditions?: readonly Condition[] };

function isSame(present: Condition, next: Finding, observedGeneration: number): boolean {
  return (
    present.status === next.status &&
    present.reason === next.reason &&
    present.message === next.message &&
    present.observedGeneration === observedGeneration
  );
}
