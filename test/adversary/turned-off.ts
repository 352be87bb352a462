import type { Chain } from '../../core/chain/chain.js';
import type { FollowerStep } from '../../core/usage/follower-step.js';
import type { ReserveRequest } from '../../core/usage/reserve-request.js';
import type { UsageStore } from '../../core/usage/usage-store.js';
import type { Switches } from './scene.js';

// Wrappers with which a test turns a rule off.

export function asked(change: (request: ReserveRequest) => ReserveRequest): NonNullable<Switches['usage']> {
  return (store) => ({
    ...bound(store),
    reserve: (request) => store.reserve(change(request)),
    peek: (request) => store.peek(change(request)),
  });
}

export function stepped(change: (step: FollowerStep) => FollowerStep): NonNullable<Switches['usage']> {
  return (store) => ({ ...bound(store), advance: (step) => store.advance(change(step)) });
}

type Found = Awaited<ReturnType<UsageStore['reservations']>>[number];

export function remembering(change: (reservation: Found) => Found): NonNullable<Switches['usage']> {
  return (store) => ({
    ...bound(store),
    reservations: async (chainId, query) => (await store.reservations(chainId, query)).map(change),
  });
}

/** Every method of a store, also of one that is a class. */
export function bound(store: UsageStore): UsageStore {
  return {
    now: () => store.now(),
    reserve: (request) => store.reserve(request),
    // Also where somebody puts another `reserve` in its place.
    push(request) {
      return this.reserve(request);
    },
    takeBack: (promise) => store.takeBack(promise),
    dropCommits: (chainId) => store.dropCommits(chainId),
    peek: (request) => store.peek(request),
    counters: (chainId, counters) => store.counters(chainId, counters),
    noteGenerations: (chainId, fences) => store.noteGenerations(chainId, fences),
    setSuspended: (chainId, id, isSuspended) => store.setSuspended(chainId, id, isSuspended),
    suspended: (chainId) => store.suspended(chainId),
    reservations: (chainId, query) => store.reservations(chainId, query),
    liveCount: (chainId) => store.liveCount(chainId),
    capacity: () => store.capacity(),
    cursor: (chainId) => store.cursor(chainId),
    advance: (step) => store.advance(step),
    takenSteps: (chainId) => store.takenSteps(chainId),
    addBalance: (chainId, balance) => store.addBalance(chainId, balance),
    accounts: (chainId) => store.accounts(chainId),
    forgetAccounts: (chainId, accounts) => store.forgetAccounts(chainId, accounts),
    ping: () => store.ping(),
    stop: () => store.stop(),
  };
}

export function boundChain(chain: Chain): Chain {
  return {
    chainId: () => chain.chainId(),
    block: (tag) => chain.block(tag),
    call: (request) => chain.call(request),
    words: (calls, block) => chain.words(calls, block),
    code: (address, tag) => chain.code(address, tag),
    balance: (address, tag) => chain.balance(address, tag),
    logs: (filter) => chain.logs(filter),
    priorityFee: () => chain.priorityFee(),
    transaction: (hash) => chain.transaction(hash),
    request: (method, params) => chain.request(method, params),
    stop: () => chain.stop(),
  };
}
