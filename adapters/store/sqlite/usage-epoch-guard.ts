import type { LedgerWriter } from '../../../core/ledger/ledger.js';
import type { UsageRecovery } from '../../../core/usage/epoch.js';
import type { FundingMessages } from '../../../core/usage/funding-messages.js';
import type { ReserveRequest, ReserveResult, UsageStore } from '../../../core/usage/usage-store.js';
import type { Clock } from '../../../core/units/time.js';
import type { UsageEpochs } from '../usage-epochs.js';
import type { UsageOverRows } from '../../../core/usage/usage-over-rows.js';
import type { SqliteRows } from './sqlite-rows.js';

export type SqliteUsageStore = UsageStore & {
  readonly recovery: UsageRecovery;
  readonly messages: FundingMessages;
  /** For records of no promise; those that `reserve` and `advance` are given are written with them. */
  readonly ledger: LedgerWriter;
  /** Updates the epoch's copy now. It is also updated every few seconds and at a stop. Throws UNAVAILABLE. */
  mirror(): Promise<void>;
};

/**
 * Lets calls about a chain through to the store once its epoch has been found equal to the copy. After that no
 * comparison is needed: the file is locked, so no other process can put other data in its place.
 */
export function guardEpochs({
  store,
  usage,
  epochs,
  clock,
}: {
  readonly store: SqliteRows;
  readonly usage: UsageOverRows;
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
    await epochs.of(chainId);
    const expiryMs = expiryOf(request);
    if (!epochs.isNoted(chainId, expiryMs)) await epochs.note(chainId, expiryMs);
    return usage.reserve(request);
  }

  function expiryOf({ promise }: ReserveRequest): number {
    return promise.validUntil * 1000 - clock.now();
  }

  return {
    now: () => store.now(),
    reserve: (request) =>
      epochs.isNoted(request.key.chainId, expiryOf(request))
        ? usage.reserve(request)
        : finished(noted(request)),
    takeBack: (promise) => intact(promise.key.chainId, () => usage.takeBack(promise)),
    dropCommits: (chainId) => intact(chainId, () => usage.dropCommits(chainId)),
    peek: (request) => intact(request.key.chainId, () => usage.peek(request)),
    counters: (chainId, ids) => intact(chainId, () => usage.counters(chainId, ids)),
    noteGenerations: (chainId, fences) => intact(chainId, () => usage.noteGenerations(chainId, fences)),
    setSuspended: (chainId, id, isSuspended) =>
      intact(chainId, () => usage.setSuspended(chainId, id, isSuspended)),
    suspended: (chainId) => intact(chainId, () => usage.suspended(chainId)),
    reservations: (chainId, query) => intact(chainId, () => usage.reservations(chainId, query)),
    liveCount: (chainId) => intact(chainId, () => usage.liveCount(chainId)),
    capacity: () => Infinity,
    cursor: (chainId) => intact(chainId, () => usage.cursor(chainId)),
    advance: (step) => intact(step.chainId, () => usage.advance(step)),
    takenSteps: (chainId) => intact(chainId, () => usage.takenSteps(chainId)),
    addBalance: (chainId, balance) => intact(chainId, () => usage.addBalance(chainId, balance)),
    accounts: (chainId) => intact(chainId, () => usage.accounts(chainId)),
    forgetAccounts: (chainId, accounts) => intact(chainId, () => usage.forgetAccounts(chainId, accounts)),
    ping: () => store.ping(),
    async stop() {
      await Promise.allSettled(waiting);
      store.settle();
      await epochs.stop();
      await store.stop();
    },
    recovery: epochs,
    messages: store,
    ledger: store,
    mirror: async () => void (await epochs.raise()),
  };
}
