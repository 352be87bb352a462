import { isDomainError } from '../../../core/errors.js';
import type { ReserveRequest } from '../../../core/usage/reserve-request.js';
import type { UsageStore } from '../../../core/usage/usage-store.js';
import type { Follower } from '../../follower/follower.js';
import type { ConfigView } from '../../view/config-view.js';

type DecidingUsage = Pick<UsageStore, 'now' | 'reserve' | 'peek' | 'counters' | 'capacity'>;

/**
 * A usage store that knows every account. The first operation that draws on a new wallet or contract reads its balance
 * from the chain, instead of failing until the follower has read it.
 */
export function withNewAccounts(
  usage: DecidingUsage,
  { ensureAccount }: Pick<Follower, 'ensureAccount'>,
  view: Pick<ConfigView, 'organisationOf'>,
): DecidingUsage {
  const twice = async <T>(request: ReserveRequest, ask: () => Promise<T>): Promise<T> => {
    try {
      return await ask();
    } catch (error) {
      if (!isDomainError(error, 'UNAVAILABLE') || error.details.reason !== 'DEPOSIT_UNKNOWN') throw error;
    }
    const { chainId, paymasterId } = request.key;
    const organisation = view.organisationOf(paymasterId) ?? paymasterId;
    await Promise.all(request.accounts.map((account) => ensureAccount(chainId, account, organisation)));
    return ask();
  };
  return {
    reserve: (request) => twice(request, () => usage.reserve(request)),
    peek: (request) => twice(request, () => usage.peek(request)),
    counters: (chainId, counters) => usage.counters(chainId, counters),
    now: () => usage.now(),
    capacity: () => usage.capacity(),
  };
}
