import type { CompiledPaymaster } from '../../core/config/compile.js';
import { findCondition, type Finding } from '../../core/meta/conditions.js';
import type { Paymaster } from '../../core/resources/paymaster.js';
import type { Cache } from '../cache.js';

/** After how long its Secret is written again; empty for a Paymaster that names no Secret. */
export function secretWaits(
  cache: Pick<Cache, 'countSecrets'>,
  { status }: Paymaster,
  stored: CompiledPaymaster,
  secret: Finding | undefined,
): readonly number[] {
  if (secret === undefined) return [];
  const before = findCondition(status?.conditions, 'ConnectionSecret');
  const isNewFailure = secret.status === 'False' && before?.status !== 'False';
  return [isNewFailure ? firstSecretRetryMs : secretCheckMs(cache, stored)];
}

/** Access is still being granted when the Organisation is as new as the Paymaster. */
const firstSecretRetryMs = 3_000;

/**
 * The operator may not read Secrets, so it writes each again and again: one that somebody deleted or changed comes back, and one
 * that it may write by now is written. Within 25 seconds while there are few, about one a second of hundreds, and each within ten
 * minutes. The times are spread by id, so that thousands do not come at once.
 */
function secretCheckMs(cache: Pick<Cache, 'countSecrets'>, { config }: CompiledPaymaster): number {
  const spread = Number.parseInt(config.paymasterId.slice(-4), 16) / 0xffff;
  const longestMs = Math.min(Math.max(cache.countSecrets() * 1_000, 25_000), 600_000);
  return (longestMs / 2) * (1 + spread);
}
