import type { Finding } from '../../core/meta/conditions.js';
import type { Condition } from '../../core/meta/meta.js';

/**
 * A finding about the chain, or what its condition said before when the chain was not asked yet. Facts are kept in
 * memory only: without this a restart would turn every condition into Unknown and back, and every `Ready` with it.
 * Only for the spec that the condition was found for.
 */
export function recall(
  finding: Finding,
  conditions: readonly Condition[] | undefined,
  generation: number,
): Finding {
  if (finding.status !== 'Unknown') return finding;
  const known = conditions?.find(({ type }) => type === finding.type);
  if (known === undefined || known.observedGeneration !== generation) return finding;
  return { type: finding.type, status: known.status, reason: known.reason, message: known.message };
}
