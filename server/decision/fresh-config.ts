import { DomainError } from '../../core/errors.js';
import type { ConfigView } from '../view/config-view.js';
import type { ServedPaymaster } from '../view/served-paymaster.js';

/**
 * Runs an attempt, and once more on a config that is read again when the first one answers `stale`: another replica has
 * served a newer one of this paymaster, or it changed while others were waited for. Throws UNAVAILABLE when that is not enough.
 */
export async function withFreshConfig<T>(
  view: Pick<ConfigView, 'refresh'>,
  paymaster: ServedPaymaster,
  attempt: (paymaster: ServedPaymaster) => Promise<T | 'stale'>,
): Promise<T> {
  const first = await attempt(paymaster);
  if (first !== 'stale') return first;
  const newer = await view.refresh(paymaster.paymasterId);
  const second = newer === undefined ? 'stale' : await attempt(newer);
  if (second !== 'stale') return second;
  throw new DomainError('UNAVAILABLE', 'The configuration of this paymaster is changing: try again.', {
    reason: 'CONFIG_BEHIND',
    retryAfterSeconds: 1,
  });
}
