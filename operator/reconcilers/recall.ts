import type { Finding } from '../../core/meta/conditions.js';
import type { Condition } from '../../core/meta/meta.js';

/**
 * A finding about the chain. If the chain has not been asked yet: the finding of the former condition. Facts are kept
 * only in memory; without this, a restart would turn every condition into Unknown and back, and every `Ready` with it.
 * Only if the condition was found for the same spec.
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
