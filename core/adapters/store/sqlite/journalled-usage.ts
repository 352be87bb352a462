import { randomUUID } from 'node:crypto';
import { DomainError } from '../../../errors.js';
import type { Logger } from '../../../log.js';
import { noMetrics, type Metrics } from '../../../metrics.js';
import type {
  Cursor,
  FollowerStep,
  Reservation,
  ReservationKey,
  ReserveRequest,
  ReserveResult,
  UsageStore,
} from '../../../policy/usage-store.js';
import type { Hex } from '../../../units/hex.js';
import type { Clock, EpochMs } from '../../../units/time.js';
import { epochText, type KeptEpochs } from '../usage-epochs.js';
import { UsageFullness } from '../usage-fullness.js';
import type { Entry } from './usage-books.js';
import { applyOp, balanceOp, encodeReservation } from './usage-image.js';
import type { UsageJournal } from './usage-journal.js';
import { reserved } from './usage-judge.js';
import { parseOps, type Op } from './usage-ops.js';
import { UsageState, type Change } from './usage-state.js';
import { stepOps } from './usage-step.js';
import { UsageUpkeep } from './usage-upkeep.js';
import { balanceOf, findAccount, reservationOf } from './usage-views.js';

const defaultCompactAtBytes = 4 * 1024 * 1024;

export type JournalledUsageDeps = {
  readonly clock: Clock;
  readonly log: Logger;
  readonly metrics?: Metrics;
  /** Size of the journal from which it is replaced by an image. Default 4 MiB. */
  readonly compactAtBytes?: number;
  readonly journal: UsageJournal;
};

/** Decisions that will be committed together: those of one turn of the event loop. */
type Turn = {
  readonly changes: Change[];
  /** The changes as the journal writes them. */
  readonly rows: string[];
  readonly committed: PromiseWithResolvers<typeof reserved>;
  readonly timer: NodeJS.Immediate;
};

/**
 * Decides in memory and commits one journal row per turn of the event loop, before the answers of that turn leave. If
 * the commit fails, the decisions of the turn are undone and answered UNAVAILABLE.
 */
export class JournalledUsageStore implements UsageStore, KeptEpochs {
  readonly #state: UsageState;
  readonly #journal: UsageJournal;
  readonly #clock: Clock;
  readonly #log: Logger;
  readonly #upkeep: UsageUpkeep;
  readonly #commits: { inc(): void };
  readonly #failures: { inc(): void };
  readonly #fullness: UsageFullness;
  #turn: Turn | undefined;
  #failed = false;
  #stopped = false;

  /** Throws what the journal throws, and RangeError when its rows cannot be read. */
  constructor(deps: JournalledUsageDeps) {
    this.#state = new UsageState();
    let rows = 0;
    for (const row of deps.journal.recover()) {
      for (const op of parseOps(row)) applyOp(this.#state, op);
      rows += 1;
    }
    this.#state.definitions = [];
    deps.log.debug('usage store opened', { rows });
    this.#journal = deps.journal;
    this.#clock = deps.clock;
    this.#log = deps.log;
    this.#upkeep = new UsageUpkeep({
      state: this.#state,
      journal: deps.journal,
      log: deps.log,
      compactAtBytes: deps.compactAtBytes ?? defaultCompactAtBytes,
    });
    const commits = (deps.metrics ?? noMetrics).counter<'outcome'>({
      name: 'paymaster_usage_commits_total',
      help: 'Transactions of the embedded usage store, by outcome: ok or failed.',
      labels: ['outcome'],
    });
    this.#commits = commits.with({ outcome: 'ok' });
    this.#failures = commits.with({ outcome: 'failed' });
    this.#fullness = new UsageFullness(deps.metrics ?? noMetrics);
  }

  reserve(request: Parameters<UsageStore['reserve']>[0]): ReturnType<UsageStore['reserve']> {
    try {
      this.assertUsable();
      const decision = this.#state.reserve(request, this.#clock.now());
      this.#noteFullness(request, decision);
      // A refusal promises nothing, so it need not wait for a commit.
      if ('outcome' in decision) return Promise.resolve(decision);
      const turn = (this.#turn ??= this.#openTurn());
      turn.changes.push(decision);
      // Written out at once, while everything that it names is at hand.
      turn.rows.push(encodeReservation(decision.chain.chainId, decision.entry));
      return turn.committed.promise;
    } catch (error) {
      return Promise.reject(error);
    }
  }

  async peek(request: Parameters<UsageStore['peek']>[0]): ReturnType<UsageStore['peek']> {
    this.assertUsable();
    return this.#state.peek(request, this.#clock.now());
  }

  /** Kept in memory and in images only: losing it in a crash means that rivals are all settled, never too few. */
  noteSigned(key: ReservationKey, userOpHash: Hex): void {
    const entry = this.#state.find(key);
    if (entry !== undefined) entry.userOpHash = userOpHash;
  }

  async reservations(
    chainId: number,
    query?: Parameters<UsageStore['reservations']>[1],
  ): Promise<readonly Reservation[]> {
    this.#settle();
    const chain = this.#state.chains.get(chainId);
    if (chain === undefined) return [];
    if (query === undefined) return Array.from(chain.entries(), (entry) => reservationOf(chainId, entry));
    const found = new Set<Entry>();
    for (const operation of query.operations)
      for (const entry of this.#state.ofOperation(chain, operation)) found.add(entry);
    let expired = 0;
    for (const entry of chain.expired(query.expiredBefore)) {
      if (expired === query.limit) break;
      expired += 1;
      found.add(entry);
    }
    return Array.from(found, (entry) => reservationOf(chainId, entry));
  }

  async liveCount(chainId: number): Promise<number> {
    this.assertUsable();
    return this.#state.chains.get(chainId)?.size ?? 0;
  }

  async cursor(chainId: number): Promise<Cursor | undefined> {
    this.assertUsable();
    return this.#state.chains.get(chainId)?.cursor;
  }

  async advance(step: FollowerStep): Promise<boolean> {
    this.#settle();
    if (!isSameCursor(this.#state.chain(step.chainId).cursor, step.expected)) return false;
    this.#carryOut(stepOps(this.#state, step));
    return true;
  }

  async addBalance(...[chainId, balance]: Parameters<UsageStore['addBalance']>): Promise<void> {
    this.#settle();
    const chain = this.#state.chain(chainId);
    if (balance.balance === undefined || balance.readAt === undefined) return;
    if (findAccount(chain, balance)?.balance !== undefined) return;
    const names = this.#state.addresses;
    const funding = balance.fundingAddress === undefined ? undefined : names.of(balance.fundingAddress);
    const { balance: amount, readAt } = balance;
    this.#carryOut([
      balanceOp(chainId, {
        contract: names.of(balance.contract),
        funding,
        balance: amount,
        readAt,
        reserved: 0,
      }),
    ]);
  }

  async accounts(chainId: number): ReturnType<UsageStore['accounts']> {
    this.assertUsable();
    const contracts = this.#state.chains.get(chainId)?.accounts.values() ?? [];
    return [...contracts].flatMap((accounts) =>
      Array.from(accounts.values(), (account) =>
        balanceOf(
          {
            contract: account.contract.text,
            ...(account.funding === undefined ? {} : { fundingAddress: account.funding.text }),
          },
          account,
        ),
      ),
    );
  }

  async putFundingMessage(...[paymasterId, message, expiresAt]: Parameters<UsageStore['putFundingMessage']>) {
    this.#settle();
    this.#carryOut([['f', paymasterId, message, expiresAt]]);
  }

  async getFundingMessage(paymasterId: string): Promise<string | undefined> {
    this.assertUsable();
    const live = this.#state.messages.get(paymasterId);
    return live !== undefined && live.expiresAt > this.#clock.now() ? live.message : undefined;
  }

  async consumeFundingMessage(paymasterId: string, message: string): Promise<boolean> {
    this.#settle();
    const live = this.#state.messages.get(paymasterId);
    if (live?.message !== message || live.expiresAt <= this.#clock.now()) return false;
    this.#carryOut([['f', paymasterId, null, 0]]);
    return true;
  }

  async read(chainId: number): Promise<{ readonly kept: string; readonly now: EpochMs }> {
    this.assertUsable();
    return { kept: this.#epochText(chainId), now: this.#clock.now() };
  }

  async begin(chainId: number, expected: string, isFirst: boolean): Promise<string> {
    this.#settle();
    if (this.#epochText(chainId) === expected)
      this.#carryOut([['e', chainId, randomUUID(), isFirst ? 0 : this.#clock.now()]]);
    return this.#epochText(chainId);
  }

  async ping(): Promise<void> {
    this.assertUsable();
    try {
      this.#journal.ping();
    } catch (cause) {
      throw cannotWrite(cause);
    }
  }

  async stop(): Promise<void> {
    if (this.#stopped) return;
    this.#commitTurn();
    this.#stopped = true;
    this.#upkeep.stop();
    this.#journal.close();
  }

  #noteFullness({ limits }: ReserveRequest, decision: ReserveResult | Change): void {
    if (!('outcome' in decision)) {
      for (let i = 0; i < limits.length; i++) {
        const { used, reserved: held } = decision.asked[i]!;
        this.#fullness.observe(limits[i]!, used + held);
      }
      return;
    }
    if (decision.outcome === 'limit') this.#fullness.observe(limits[decision.index]!, decision.used);
  }

  #epochText(chainId: number): string {
    const epoch = this.#state.chains.get(chainId)?.epoch;
    return epoch === undefined ? '' : epochText(epoch);
  }

  assertUsable(): void {
    if (this.#stopped)
      throw new DomainError('UNAVAILABLE', 'the usage store is stopped', { reason: 'USAGE_STORE_DOWN' });
  }

  /** Leaves nothing in memory that is not in the journal. */
  #settle(): void {
    this.assertUsable();
    this.#commitTurn();
  }

  #openTurn(): Turn {
    const committed = Promise.withResolvers<typeof reserved>();
    return { changes: [], rows: [], committed, timer: setImmediate(() => this.#commitTurn()) };
  }

  #commitTurn(): void {
    const turn = this.#turn;
    if (turn === undefined) return;
    this.#turn = undefined;
    clearImmediate(turn.timer);
    try {
      this.#append(turn.rows);
      turn.committed.resolve(reserved);
    } catch (error) {
      for (const change of turn.changes.toReversed()) this.#state.undo(change);
      turn.committed.reject(error);
    }
  }

  /** Commits what is decided already, then makes it true in memory. */
  #carryOut(ops: readonly Op[]): void {
    this.#append(ops.map((op) => JSON.stringify(op)));
    for (const op of ops) applyOp(this.#state, op);
  }

  #append(ops: readonly string[]): void {
    const definitions = this.#state.definitions;
    try {
      this.#journal.append(`[${[...definitions.map((op) => JSON.stringify(op)), ...ops].join(',')}]`);
    } catch (cause) {
      this.#failures.inc();
      if (!this.#failed) this.#log.error('usage store cannot commit', { error: cause });
      this.#failed = true;
      throw cannotWrite(cause);
    }
    this.#failed = false;
    this.#commits.inc();
    if (definitions.length > 0) this.#state.definitions = [];
    this.#upkeep.afterCommit(this.#clock.now(), () => this.#isSettled());
  }

  #isSettled(): boolean {
    if (this.#stopped) return false;
    this.#commitTurn();
    // Left by requests that were refused.
    if (this.#state.definitions.length > 0) this.#append([]);
    return true;
  }
}

function isSameCursor(a: Cursor | undefined, b: Cursor | undefined): boolean {
  return a?.blockNumber === b?.blockNumber && a?.blockHash === b?.blockHash && a?.timestamp === b?.timestamp;
}

function cannotWrite(cause: unknown): DomainError {
  return new DomainError('UNAVAILABLE', 'the usage store cannot write', {
    reason: 'USAGE_STORE_DOWN',
    retryAfterSeconds: 1,
    cause,
  });
}
