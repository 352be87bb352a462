import { isDomainError } from '../../../core/errors.js';
import type { ReserveRequest, ReserveResult } from '../../../core/usage/reserve-request.js';
import type { DecidingUsage } from '../../../core/usage/usage-store.js';
import type { Follower } from '../../follower/follower.js';
import type { ConfigView } from '../../view/config-view.js';

/**
 * A usage store that knows every account. The first operation that draws on a new wallet or contract reads its balance
 * from the chain, instead of failing until the follower has read it.
 */
export function withNewAccounts(
  usage: DecidingUsage,
  { ensureAccount }: Pick<Follower, 'ensureAccount'>,
  view: Pick<ConfigView, 'organisationOf'>,
): DecidingUsage {
  const again = async <T>(error: unknown, request: ReserveRequest, ask: () => PromiseLike<T>): Promise<T> => {
    if (!isDomainError(error, 'UNAVAILABLE') || error.details.reason !== 'DEPOSIT_UNKNOWN') throw error;
    const { chainId, paymasterId } = request.key;
    const organisation = view.organisationOf(paymasterId) ?? paymasterId;
    await Promise.all(request.accounts.map((account) => ensureAccount(chainId, account, organisation)));
    return ask();
  };
  const reserve = (request: ReserveRequest): PromiseLike<ReserveResult> =>
    usage
      .reserve(request)
      .then(undefined, (error: unknown) => again(error, request, () => usage.reserve(request)));
  return {
    reserve,
    peek: (request) =>
      usage.peek(request).catch((error: unknown) => again(error, request, () => usage.peek(request))),
    counters: (chainId, counters) => usage.counters(chainId, counters),
    now: () => usage.now(),
    capacity: () => usage.capacity(),
  };
}
