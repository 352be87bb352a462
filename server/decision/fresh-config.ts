import { DomainError } from '../../core/errors.js';
import { after, type Later } from '../../core/pending.js';
import type { ConfigView } from '../view/config-view.js';
import { forKey } from '../view/served-keys.js';
import type { ServedPaymaster } from '../view/served-paymaster.js';

/**
 * Runs an attempt. When it answers `stale`, reads the config again and runs the attempt once more. An attempt is stale when another
 * replica has served a newer config of this paymaster, or the config changed while the attempt waited. Throws UNAVAILABLE when the
 * second attempt is stale too.
 */
export function withFreshConfig<T>(
  view: Pick<ConfigView, 'refresh'>,
  paymaster: ServedPaymaster,
  attempt: (paymaster: ServedPaymaster) => Later<T | 'stale'>,
): Later<T> {
  return after<T | 'stale', T>(attempt(paymaster), (first) =>
    first === 'stale' ? attemptAgain(view, paymaster, attempt) : first,
  );
}

async function attemptAgain<T>(
  view: Pick<ConfigView, 'refresh'>,
  paymaster: ServedPaymaster,
  attempt: (paymaster: ServedPaymaster) => Later<T | 'stale'>,
): Promise<T> {
  const newer = await view.refresh(paymaster.paymasterId);
  const second = newer === undefined ? 'stale' : await attempt(withSameKey(paymaster, newer));
  if (second !== 'stale') return second;
  throw new DomainError('UNAVAILABLE', 'The configuration of this paymaster is changing: try again.', {
    reason: 'CONFIG_BEHIND',
    retryAfterSeconds: 1,
  });
}

/** As the same key asks it. Throws KEY_UNKNOWN when that was revoked meanwhile: nothing may forget what it restricts. */
function withSameKey({ key }: ServedPaymaster, newer: ServedPaymaster): ServedPaymaster {
  if (key === undefined) return newer;
  const narrowed = forKey(newer, key.sha256);
  if (narrowed.key !== undefined) return narrowed;
  throw new DomainError('KEY_UNKNOWN', 'This API key is not known.');
}
