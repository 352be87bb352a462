import type { ReserveRequest, ReserveResult, UsageStore } from '../../../policy/usage-store.js';
import type { Clock } from '../../../units/time.js';
import type { UsageEpochs } from '../usage-epochs.js';
import type { SqliteUsageStore } from './usage.js';

/**
 * Lets calls about a chain through to the store once its epoch was found to be that of the copy. After that nothing
 * needs to be compared: the file is locked, so no other process can put other data in its place.
 */
export function guardEpochs({
  store,
  epochs,
  clock,
}: {
  readonly store: UsageStore;
  readonly epochs: UsageEpochs;
  readonly clock: Clock;
}): SqliteUsageStore {
  // Calls that wait for the copy: a stop lets them finish.
  const waiting = new Set<Promise<unknown>>();

  async function finished<T>(work: Promise<T>): Promise<T> {
    waiting.add(work);
    try {
      return await work;
    } finally {
      waiting.delete(work);
    }
  }

  /** Throws UNAVAILABLE while the data of the chain are lost. */
  async function intact<T>(chainId: number, call: () => Promise<T>): Promise<T> {
    if (epochs.known(chainId) !== undefined) return call();
    return finished(epochs.of(chainId).then(call));
  }

  async function noted(request: ReserveRequest): Promise<ReserveResult> {
    const { chainId } = request.key;
    const { longestExpiryMs } = await epochs.of(chainId);
    const expiryMs = request.validUntil * 1000 - clock.now();
    if (expiryMs > longestExpiryMs) await epochs.raise(chainId, expiryMs);
    return store.reserve(request);
  }

  return {
    reserve(request) {
      const epoch = epochs.known(request.key.chainId);
      const isNoted = request.validUntil * 1000 - clock.now() <= (epoch?.longestExpiryMs ?? -Infinity);
      return isNoted ? store.reserve(request) : finished(noted(request));
    },
    peek: (request) => intact(request.key.chainId, () => store.peek(request)),
    noteSigned: (key, userOpHash) => store.noteSigned(key, userOpHash),
    reservations: (chainId, query) => intact(chainId, () => store.reservations(chainId, query)),
    liveCount: (chainId) => intact(chainId, () => store.liveCount(chainId)),
    cursor: (chainId) => intact(chainId, () => store.cursor(chainId)),
    advance: (step) => intact(step.chainId, () => store.advance(step)),
    addBalance: (chainId, balance) => intact(chainId, () => store.addBalance(chainId, balance)),
    accounts: (chainId) => intact(chainId, () => store.accounts(chainId)),
    putFundingMessage: (paymasterId, message, expiresAt) =>
      store.putFundingMessage(paymasterId, message, expiresAt),
    getFundingMessage: (paymasterId) => store.getFundingMessage(paymasterId),
    consumeFundingMessage: (paymasterId, message) => store.consumeFundingMessage(paymasterId, message),
    ping: () => store.ping(),
    async stop() {
      await Promise.allSettled(waiting);
      await store.stop();
    },
    recovery: epochs,
  };
}
