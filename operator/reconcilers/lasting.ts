import type { ConditionReason } from '../../core/meta/condition-reasons.js';
import { findCondition, type Finding } from '../../core/meta/conditions.js';
import type { Condition } from '../../core/meta/meta.js';
import { parseInstant, type EpochMs } from '../../core/units/time.js';
import { recoveryMs, troubleMs } from '../facts/steady.js';

/** Whether a trouble of the object itself blocks `Ready`, and when to check again. */
export type Lasting = { readonly isBlocked: boolean; readonly lookAgainMs?: number };

/**
 * A trouble blocks `Ready` (with `reason`) after it has lasted for a minute, and until it has been over for half a
 * minute. Uses the times in the status, so that it survives a restart.
 */
export function lastingOf(
  conditions: readonly Condition[] | undefined,
  { type, status }: Finding,
  reason: ConditionReason<'Ready'>,
  now: EpochMs,
): Lasting {
  const known = findCondition(conditions, type);
  const wasBlocked = findCondition(conditions, 'Ready')?.reason === reason;
  const isTrouble = status === 'False';
  // A new finding is in the status from now on.
  const since = known?.status === status ? parseInstant(known.lastTransitionTime) : undefined;
  const lastedMs = since === undefined ? 0 : now - since;
  if (isTrouble) return { isBlocked: wasBlocked || lastedMs >= troubleMs };
  if (!wasBlocked || lastedMs >= recoveryMs) return { isBlocked: false };
  return { isBlocked: true, lookAgainMs: recoveryMs - lastedMs };
}
