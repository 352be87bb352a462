import type { Finding } from '../../core/resources/conditions.js';
import type { Condition } from '../../core/resources/meta.js';
import { parseInstant, type EpochMs } from '../../core/units/time.js';
import { troubleMs } from '../facts/steady.js';

/** Whether a trouble has stood in the status for a minute. Reads the time of the status, so that it outlives a restart. */
export function hasLasted(
  conditions: readonly Condition[] | undefined,
  { type, status }: Finding,
  now: EpochMs,
): boolean {
  const known = conditions?.find((condition) => condition.type === type);
  if (status !== 'False' || known?.status !== 'False') return false;
  const since = parseInstant(known.lastTransitionTime);
  return since !== undefined && now - since >= troubleMs;
}
