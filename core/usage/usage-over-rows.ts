import type { EpochMs } from '../units/time.js';
import type { RowStore, Wanted } from './row-store.js';
import { graceMs } from './entries.js';
import { rememberFenceMs } from './fences.js';
import { joinResults, sliceOfStep, type OpenStep, type StepProgress } from './step-parts.js';
import type { Turn } from './turn.js';
import type { FollowerStep, StepResult } from './follower-step.js';
import type { AccountId, CounterId } from './reservation.js';
import type { LimitShare, ReserveRequest, ReserveResult } from './reserve-request.js';
import type { UsageStore } from './usage-store.js';

const dueCommitsPerTurn = 100;
const forgottenPerTurn = 500;

/** A usage store over rows: every call is a turn, a look or a question. */
export type UsageOverRows = Omit<UsageStore, 'capacity' | 'ping' | 'stop'> & {
  /** Forgets windows that ended and fences that nobody names. True while there may be more. */
  forget(chainId: number): Promise<boolean>;
};

/** Told how full the limits of a request are, its own operation included where it fits. */
type LimitObserver = { observe(limit: LimitShare, taken: number, request: ReserveRequest): void };

export function usageOver(store: RowStore, limits: LimitObserver): UsageOverRows {
  function reserve(request: ReserveRequest, turn: Turn, now: EpochMs): ReserveResult {
    const result = turn.reserve(request, now);
    if (result.outcome === 'limit') limits.observe(request.limits[result.index]!, result.used, request);
    if (result.outcome === 'reserved')
      for (const [i, limit] of request.limits.entries()) limits.observe(limit, turn.taken(i), request);
    return result;
  }

  /** Carries out a step from where it is. Answers what this call has ended; not taken: another one has carried on. */
  async function carryOut(step: FollowerStep, open?: OpenStep): Promise<StepResult> {
    let from: StepProgress | undefined = open;
    let joined: StepResult | undefined;
    for (;;) {
      const part = sliceOfStep(step, from?.done ?? 0);
      const result = await store.turn(
        step.chainId,
        () => wantedByStep(part),
        (turn) => turn.advance(step, from),
      );
      if (!result.isTaken) return result;
      const { isDone, progress, ...ended } = result;
      joined = joined === undefined ? ended : joinResults(joined, ended);
      if (isDone) return joined;
      from = progress;
    }
  }

  async function advance(step: FollowerStep): Promise<StepResult> {
    const result = await carryOut(step);
    if (result.isTaken) return result;
    // A step that a process has left in the middle: nothing else may happen before it is carried out.
    const open = await store.openStep(step.chainId);
    if (open !== undefined) await carryOut(open.step, open);
    return result;
  }

  const push = (request: ReserveRequest): PromiseLike<ReserveResult> =>
    store.turn(
      request.key.chainId,
      () => wantedBy(request),
      (turn, now) => reserve(request, turn, now),
      promisesNothing,
    );

  return {
    now: () => store.now(),
    push,
    reserve: async (request) => push(request),
    peek: (request) =>
      store.look(
        request.key.chainId,
        () => wantedBy(request),
        (turn, now) => turn.peek(request, now),
      ),
    takeBack: async (promise) =>
      store.turn(
        promise.key.chainId,
        () => ({ reservations: [promise.key] }),
        (turn) => turn.takeBack(promise),
      ),
    counters: (chainId, counters) =>
      store.look(
        chainId,
        () => ({ counters }),
        (turn) => counters.map((id) => turn.counters.state(id)),
      ),
    noteGenerations: async (chainId, fences) =>
      store.turn(
        chainId,
        () => ({ fences: fences.map(({ id }) => id) }),
        (turn, now) => turn.noteGenerations(fences, now),
      ),
    setSuspended: async (chainId, id, isSuspended) =>
      // Alone: when it resolves, no turn that saw the id as it was before can still commit.
      store.turn(
        chainId,
        () => ({ fences: [id], alone: true }),
        (turn, now) => turn.setSuspended(id, isSuspended, now),
      ),
    advance,
    cursor: async (chainId) => (await store.chain(chainId)).cursor,
    addBalance: async (chainId, { balance, readAt, ...account }) =>
      store.turn(
        chainId,
        () => ({ accounts: [account] }),
        (turn) => turn.addBalance(account, balance, readAt),
      ),
    forgetAccounts: async (chainId, accounts) =>
      store.turn(
        chainId,
        () => ({ accounts }),
        (turn) => turn.forgetAccounts(accounts),
      ),

    async dropCommits(chainId) {
      let unfinished = 0;
      for (;;) {
        const due = await store.dueCommits(chainId, store.now(), dueCommitsPerTurn);
        if (due.length === 0) return unfinished;
        unfinished += await store.turn(
          chainId,
          () => ({ reservations: due }),
          (turn, now) => turn.entries.dropCommits(due, now),
        );
        if (due.length < dueCommitsPerTurn) return unfinished;
      }
    },
    async forget(chainId) {
      const now = store.now();
      const ended = await store.endedCounters(chainId, (now - graceMs) as EpochMs, forgottenPerTurn);
      if (ended.length > 0)
        await store.turn(
          chainId,
          () => ({ counters: ended }),
          (turn, at) => turn.forget(ended, at),
        );
      await store.forgetFences(chainId, (now - rememberFenceMs) as EpochMs);
      return ended.length === forgottenPerTurn;
    },

    suspended: (chainId) => store.suspended(chainId),
    reservations: (chainId, query) => store.reservations(chainId, query),
    liveCount: (chainId) => store.liveCount(chainId),
    takenSteps: (chainId) => store.takenSteps(chainId),
    accounts: (chainId) => store.accounts(chainId),
  };
}

function promisesNothing({ outcome }: ReserveResult): boolean {
  return outcome !== 'reserved';
}

function wantedBy({ key, fences, bars, limits, holds, accounts, phase }: ReserveRequest): Wanted {
  const counters: CounterId[] = [...bars, ...limits, ...holds];
  for (const { plusUsed = [], unit } of holds)
    for (const counter of plusUsed) counters.push({ counter, unit });
  return {
    reservations: [key],
    counters,
    accounts,
    fences: fences.map(({ id }) => id),
    ...(phase?.kind === 'commit' ? { committed: key } : {}),
  };
}

function wantedByStep(step: FollowerStep): Wanted {
  const { settled, released, forfeited, restored, charges, balances } = step;
  const counters: CounterId[] = [...charges];
  const accounts: AccountId[] = [...balances];
  for (const { limits, holds, accounts: needs } of restored) {
    counters.push(...limits, ...holds);
    accounts.push(...needs);
  }
  return {
    reservations: [...settled, ...released, ...forfeited, ...restored].map(({ key }) => key),
    counters,
    accounts,
    cursor: true,
  };
}
