import type { Block } from '../../core/chain/chain.js';
import type { Head } from '../../core/chain/heads.js';
import { DomainError } from '../../core/errors.js';
import type { EpochMs, EpochSeconds } from '../../core/units/time.js';
import type { Charge, Cursor, FollowerStep, StepResult } from '../../core/usage/follower-step.js';
import type { AccountId, Reservation } from '../../core/usage/reservation.js';
import { isSameCursor } from '../../core/usage/turn.js';
import { reportStep, suspendContracts } from './alarms.js';
import { Backlog } from './backlog.js';
import { endOfDeposits } from './balance-events.js';
import { AccountsInUse, isOlderHead, stepBalances } from './balances.js';
import { Connection } from './connection.js';
import { checkContinuity, passedTime, Rescan, takeBackStep, type ContinuityState } from './continuity.js';
import { countEnded, endedInStep, findEnded, History, negated } from './history.js';
import { operationId, type MinedOperation } from './mined.js';
import { MovementRecorder } from './movement-recorder.js';
import { operationParts } from './movements.js';
import { ensureAccount } from './new-account.js';
import { nothingEnded, Releaser } from './releaser.js';
import { idle, type ChainFollowerDeps, type Round } from './round.js';
import { merged, Scanner } from './scan.js';
import {
  chargesOfLoss,
  joinSettlements,
  spentByPaymaster,
  unpaidIn,
  type Loss,
  type Unattributed,
} from './settlement.js';
import { blockAt, toCursor, finalityUnknown, gatherWatched, type Source } from './source.js';
import {
  countTries,
  endOfStep,
  settleAgain,
  settleMined,
  usableBalances,
  minedForSenders,
} from './step-readings.js';
import { stepRecords } from './step-records.js';

/** Balances are written again after this time at the latest, even when nothing happens on the chain. */
const refreshMs = 60_000;
/** Most reservations that one step releases: this takes a few milliseconds, in which sponsorships wait. */
const releasesPerStep = 1_000;
/** Most blocks that one step settles. */
const blocksPerStep = 10_000;

/**
 * Follows one chain. Each round reads the head, settles the operations mined up to `confirmations` below it or in final blocks, ends
 * expired reservations, and writes the balances of that block, all in one fenced step. A round that fails changes nothing; the next one
 * starts from the store's cursor again. A reorganisation below the settled block gets a separate step, which takes back the steps after
 * the last common block.
 */
export class ChainFollower {
  readonly #deps: ChainFollowerDeps;
  readonly #scanner = new Scanner();
  readonly #releaser = new Releaser(this.#scanner);
  readonly #history = new History();
  readonly #inUse = new AccountsInUse();
  readonly #backlog = new Backlog();
  readonly #connection: Connection;
  readonly #rescan = new Rescan();
  readonly #movements: MovementRecorder;
  #isWaiting = false;
  /** The last step that was written: its head, what decides whether there is a new one to take, and its time. */
  #written: { readonly head: number; readonly basis: string; readonly at: EpochMs } | undefined;

  constructor(deps: ChainFollowerDeps) {
    this.#deps = deps;
    this.#connection = new Connection(deps);
    this.#movements = new MovementRecorder(deps);
  }

  get head(): Head | undefined {
    return this.#connection.head;
  }

  get headHash(): string | undefined {
    return this.#connection.headHash;
  }

  /** Wei, by name of the account. */
  get held(): ReadonlyMap<string, bigint> {
    return this.#connection.held;
  }

  /** The newest block whose operations settle; undefined when the node does not say which one is final. */
  get confirmed(): number | undefined {
    return this.#connection.confirmed;
  }

  /** Only reads the head, for a chain that another replica follows. Throws UNAVAILABLE. */
  async observe(): Promise<void> {
    await this.#connection.readHead(await this.#connection.source(), this.#deps.clock.now());
  }

  /** One round. Throws UNAVAILABLE when the node or the store does not answer. */
  async round(): Promise<Round> {
    const { usage, chainId, clock, log, ledger } = this.#deps;
    const source = await this.#connection.source();
    const startedAt = clock.now();
    const { head, confirmed, final } = await this.#connection.readHead(source, startedAt);
    if (confirmed === undefined) throw finalityUnknown(chainId);
    const stored = await usage.cursor(chainId);
    const state = stored === undefined ? 'whole' : await this.#readContinuity(source, stored, head);
    // A final block above the head is one that another node has shown.
    if (state === 'waiting' || confirmed > head.number) return { ...idle, waitsAt: stored };
    if (stored !== undefined && state === 'broken') {
      const taken = await this.#takeBack(source, stored, head);
      if (taken !== undefined) return taken;
    }

    // Gather: mined operations, the promises for them, expired reservations, balances.
    const from =
      stored === undefined || state === 'broken'
        ? this.#rescan.start(stored, head, { confirmed, log })
        : stored.blockNumber + 1;
    const end = Math.min(Math.max(confirmed, from - 1), from - 1 + blocksPerStep);
    const last = [final, head].find((block) => block?.number === end) ?? (await blockAt(source, end));
    const expiredBefore = await passedTime({ source, head, target: last, usage, now: startedAt });
    const isBehindHead = last.number < confirmed;
    const due = isBehindHead || expiredBefore === undefined ? [] : await this.#due(expiredBefore);
    const known = await usage.accounts(chainId);
    const wanted = gatherWatched(source.contracts, known, this.#connection.entryPoints);
    await this.#backlog.takeOver({ usage, source }, this.#history, this.#scanner, wanted, startedAt);
    const platformAccounts = this.#deps.platformAccounts();
    const contracts = new Set(source.contracts.keys());
    const { followed, forgotten } = this.#inUse.select(known, platformAccounts, contracts, startedAt);
    const isOlder = stored !== undefined && isOlderHead(head, confirmed, stored, this.#written?.head);
    const basis = [head.hash, confirmed, source.contracts.size, followed.length].join(' ');
    const isFresh = this.#written?.basis === basis && startedAt - this.#written.at < refreshMs;
    const isQuiet = state === 'whole' && this.#releaser.isWaiting(due, last.number);
    if (isFresh && isQuiet && !this.#backlog.isDue(startedAt)) return idle;

    const refused: number[] = [];
    const { operations: unread } = this.#backlog;
    const retried = unread.due(startedAt);
    const blocks = await this.#backlog.blocks.read(source, this.#scanner, wanted, startedAt);
    const found = merged(
      await this.#scanner.operations(source.chain, wanted, from, last.number, (block) => refused.push(block)),
      await minedForSenders(source, this.#scanner, usage, { from, to: last }),
    );
    const paid = await this.#movements.read(source, wanted, [from, last.number], startedAt);
    const cut = endOfDeposits(paid.events, endOfStep(found, last.number));
    const target = cut === last.number ? last : await blockAt(source, cut);
    const mined = merged(
      found.filter(({ blockNumber }) => blockNumber <= cut),
      merged(
        retried.map(({ operation }) => operation),
        blocks.operations.filter((operation) => !this.#history.hasEnded(operationId(operation))),
      ),
    );
    const isCaughtUp = !isBehindHead && cut === last.number;
    const ours = new Set(wanted.contracts);
    const reading = { usage, source, history: this.#history, unread, ours };
    const lateOnes = new Set(retried.filter(({ isLate }) => isLate).map(({ operation }) => operation));
    const isAgain = (operation: MinedOperation): boolean =>
      operation.blockNumber <= this.#rescan.through || lateOnes.has(operation);
    const now = await settleMined(
      reading,
      mined.filter((operation) => !isAgain(operation)),
    );
    const again = await settleAgain(reading, mined.filter(isAgain));
    const seen = new Set(mined.map(operationId));
    const expired = due.filter(({ key }) => !seen.has(operationId(key)));
    const ending = isCaughtUp
      ? await this.#releaser.end(source, expired, target, releasesPerStep)
      : nothingEnded;
    const later = await settleAgain(reading, ending.mined, ending.spent);
    const { corrected } = now;
    const reads = [now, again, later];
    const { settled, losses, ambiguous, unattributed, ...others } = joinSettlements(
      ...reads.map(({ settlement }) => settlement),
    );
    // Most nodes have no balances for blocks far below the head; nothing is promised until the head is reached.
    const balances = isCaughtUp
      ? await usableBalances(usage, this.#scanner, source, followed, { from, target, head, wanted })
      : new Map<string, never>();
    const failed = reads.flatMap((read) => read.failed);
    const failures = await countTries(source, unread, failed);
    // Read last, because this also proves that the node that gave the events has this block, and not only an older one.
    if ((await blockAt(source, target.number)).hash !== target.hash)
      throw new DomainError('UNAVAILABLE', `chain ${chainId} changed while it was read`);

    // Apply: one step, or nothing. A suspension is written before the step, so that a crash in between cannot lose it.
    // An operation of an earlier block may have ended its promise already, in a step that nobody remembers.
    const isKnown = ({ operation }: Unattributed): boolean =>
      operation.blockNumber >= from ||
      (blocks.operations.includes(operation) && this.#history.reaches(operation.blockNumber));
    const strange = target.timestamp < this.#rescan.blindUntil ? [] : unattributed.filter(isKnown);
    // Another follower that has settled these operations meanwhile has ended their promises, too. Only while the cursor is the
    // same do missing promises mean that nobody made them.
    if (strange.length > 0 && !isSameCursor(await usage.cursor(chainId), stored)) return idle;
    await suspendContracts(this.#deps, source, strange);
    const passedOver = new Set(now.passedOver);
    const listCharges = (loss: Loss): readonly Charge[] =>
      chargesOfLoss(loss, { chainId, at: usage.now(), isProven: !passedOver.has(loss.operation) });
    const charges = [...corrected.charges, ...losses.flatMap(listCharges)];
    const forfeited = [...ending.forfeited, ...others.forfeited];
    const isNew = (operation: MinedOperation): boolean => !corrected.operations.has(operation);
    const next = toCursor(target);
    const ends = { settled, released: others.released, expired: ending.released, forfeited };
    const decided = reads.flatMap((read) => read.decided);
    const recorded = await stepRecords(this.#deps, this.#movements, ends, {
      restored: corrected.restored,
      source,
      wanted,
      from,
      target,
      previous: state === 'whole' ? stored : undefined,
      refused,
      isCaughtUp,
      platformAccounts,
      mined,
      losses,
      paid,
      late: new Set([...decided, ...blocks.operations]),
      before: (operation) =>
        unread.passed(operation)?.parts ?? (blocks.operations.includes(operation) ? [] : undefined),
    });
    const result = await this.#advance({
      chainId,
      expected: stored,
      next,
      ...recorded,
      charges,
      restored: corrected.restored,
      balances: stepBalances(followed, balances, known, { readAt: startedAt, isOlder }),
    });
    if (!result.isTaken) return idle;
    const ended = endedInStep(result.ended, { settled, released: [...others.released, ...ending.released] });
    this.#history.add(stored, { cursor: next, ended, undo: negated(charges) });
    this.#releaser.remember(ending);
    this.#written = isCaughtUp ? { head: head.number, basis, at: startedAt } : undefined;
    if (forgotten.length > 0) await usage.forgetAccounts(chainId, forgotten);
    this.#movements.taken(startedAt);
    unread.settled(decided);
    const passedBlocks = this.#backlog.blocks.taken(
      blocks,
      refused.filter((block) => block <= cut),
      startedAt,
    );
    const waiting = failures.filter((failure) => unread.failed(failure, startedAt));
    const listParts = operationParts(settled, losses, ledger?.organisationOf ?? (() => ''));
    for (const operation of now.passedOver) {
      const counted = losses.filter((loss) => loss.operation === operation).flatMap(listCharges);
      const passed = { ended: findEnded(operation, ended), charges: counted, parts: listParts(operation) };
      unread.pass(operation, passed, startedAt);
    }
    const withoutReading = reads.flatMap((read) => read.passedOver);
    reportStep(log, { losses, ambiguous, forfeited, waiting, withoutReading, passedBlocks });
    return {
      cursor: next,
      settled: countEnded(ended, 'settled'),
      released: countEnded(ended, 'released'),
      forfeited: countEnded(ended, 'forfeited'),
      ...unpaidIn(
        losses.filter(({ operation }) => isNew(operation)),
        source.contracts,
      ),
      unattributed: strange.length,
      passedOver: withoutReading.length + passedBlocks.length,
      unread: this.#backlog.waiting,
      restored: 0,
      spent: spentByPaymaster(
        settled.filter(({ operation }) => isNew(operation)),
        result.ended,
      ),
      isComplete: isCaughtUp && ending.isComplete,
    };
  }

  /** Reads the balance of an account that the store does not know yet, e.g. a new funding wallet. */
  async ensureAccount(account: AccountId): Promise<void> {
    const source = () => this.#connection.source();
    await ensureAccount({ ...this.#deps, source, newest: this.head?.number }, account);
  }

  async #readContinuity({ chain }: Source, stored: Cursor, head: Block): Promise<ContinuityState> {
    // Another follower has taken steps since, or this process has just begun: the known steps do not lead to the cursor.
    if (this.#history.points()[0]?.blockHash !== stored.blockHash) {
      await this.#readHistory();
      this.#backlog.overtaken();
      this.#movements.rollBack(0);
    }
    const state = await checkContinuity(chain, stored, head, this.#history.points());
    const at = { settledBlock: stored.blockNumber, head: head.number };
    // Logged once; after that the metric shows it.
    if (state === 'waiting' && !this.#isWaiting)
      this.#deps.log.warn('node lags behind the settled block: waiting for it', at);
    this.#isWaiting = state === 'waiting';
    return state;
  }

  /** Throws UNAVAILABLE. */
  async #readHistory(): Promise<void> {
    this.#history.load(await this.#deps.usage.takenSteps(this.#deps.chainId));
  }

  /** Undefined when nothing is taken back. Throws UNAVAILABLE. */
  async #takeBack(source: Source, stored: Cursor, head: Block): Promise<Round | undefined> {
    const { log } = this.#deps;
    // Another follower may have taken a step at the same block.
    await this.#readHistory();
    const back = await takeBackStep(this.#deps, source, this.#history, { stored, head });
    if (back === undefined) return undefined;
    const { common, restored, givenBack } = back;
    const { next } = back.step;
    const result = await this.#advance(back.step);
    if (!result.isTaken) return idle;
    this.#history.rollBack(common);
    this.#releaser.forget();
    this.#movements.rollBack(next.blockNumber);
    this.#backlog.rollBack(next.blockNumber);
    this.#written = undefined;
    log.error('chain was reorganised or replaced below the settled block', {
      settledBlock: stored.blockNumber,
      head: head.number,
      rescanFrom: next.blockNumber + 1,
      restored: restored.length,
      // Others may have been promised the same amount meanwhile: limits may then show more than their thresholds, and refuse.
      mostAboveLimitsGwei: givenBack,
    });
    return { ...idle, cursor: next, restored: restored.length, isComplete: false };
  }

  /** Throws UNAVAILABLE. */
  async #advance(step: FollowerStep): Promise<StepResult> {
    try {
      return await this.#deps.usage.advance(step);
    } catch (error) {
      // The store may have taken the step after all, and then we do not know what it ended. A moved cursor shows this; a
      // cursor that the step leaves in place does not.
      if (step.expected?.blockHash === step.next.blockHash) this.#history.clear();
      throw error;
    }
  }

  /** The oldest of the reservations whose time is over; those that wait for another check are among them. */
  async #due(expiredBefore: EpochSeconds): Promise<readonly Reservation[]> {
    const limit = releasesPerStep + this.#releaser.waiting + this.#backlog.operations.waiting;
    const { usage, chainId } = this.#deps;
    const due = await usage.reservations(chainId, { operations: [], expiredBefore, limit });
    return due.filter(({ key }) => !this.#backlog.operations.isWaiting(operationId(key)));
  }
}
