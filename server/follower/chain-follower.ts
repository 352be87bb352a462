import type { Ambient } from '../../core/ambient.js';
import type { Block, Chain } from '../../core/chain/chain.js';
import type { Head } from '../../core/chain/heads.js';
import type { ChainConfig } from '../../core/config/chain-config.js';
import { DomainError } from '../../core/errors.js';
import { isSameCursor } from '../../core/usage/turn.js';
import { lossCharges } from '../../core/usage/token-losses.js';
import type {
  AccountBalance,
  AccountId,
  Charge,
  Cursor,
  FollowerStep,
  Reservation,
  StepResult,
  UsageStore,
} from '../../core/usage/usage-store.js';
import type { AddressKey } from '../../core/units/address.js';
import { toMs, type EpochMs, type EpochSeconds } from '../../core/units/time.js';
import { gweiCeil } from '../../core/units/wei.js';
import { AccountsInUse } from './accounts.js';
import { reportStep, suspendContracts } from './alarms.js';
import { isOlderHead, stepBalances } from './balances.js';
import { blockTimes } from './block-times.js';
import { commonPoint, continuityOf, type ContinuityState } from './continuity.js';
import { recordEndings, recordRestored } from './ending-inputs.js';
import { History } from './history.js';
import { joined } from './late.js';
import { operationId, type MinedOperation } from './mined.js';
import { ensureAccount } from './new-account.js';
import { passedTime } from './passed-time.js';
import { nothingEnded, Releaser } from './releaser.js';
import { reversals, settlementTexts, withRecord, type FollowerLedger, type StepEnds } from './records.js';
import { idle, type Round } from './round.js';
import { merged, Scanner } from './scan.js';
import { settledInStep } from './settlement.js';
import { endOfStep, settleAgain, settleMined, usableBalances } from './step-readings.js';
import { blockAt, watched, watchedContracts, type Source, type WatchedContract } from './source.js';
import { spentByPaymaster } from './spent-by-paymaster.js';
import { minedForSenders } from './spent-elsewhere.js';
import { endedInStep, negated, type Ended } from './undo.js';

export type ChainFollowerDeps = Pick<Ambient, 'clock' | 'log'> & {
  readonly usage: Pick<
    UsageStore,
    | 'now'
    | 'reservations'
    | 'cursor'
    | 'advance'
    | 'takenSteps'
    | 'addBalance'
    | 'accounts'
    | 'forgetAccounts'
    | 'setSuspended'
  >;
  readonly chainId: number;
  /** The config that is served now, its connection, and other connections to the same chain if there are any. */
  readonly current: () => {
    readonly config: ChainConfig;
    readonly chain: Chain;
    readonly elsewhere?: (attempt: number) => Chain;
  };
  /** The platform's wallets, which are followed even without live promises. */
  readonly platformAccounts: () => readonly AccountId[];
  /** What records for the ledger need. Absent: nothing is recorded. */
  readonly ledger?: FollowerLedger;
};

/** Balances are written again after this time at the latest, even when nothing happens on the chain. */
const refreshMs = 60_000;
/** Most reservations that one step releases: this takes a few milliseconds, in which sponsorships wait. */
const releasesPerStep = 1_000;
/** Most blocks that one step settles. */
const blocksPerStep = 10_000;
/** How far back to scan when we know no block that a reorganisation has left in the chain. */
const blindRescanBlocks = 256;
/** The longest expiry of any promise. For this long after a blind rescan, an operation that nobody has promised proves nothing. */
const longestExpirySeconds = 86_400;

/**
 * Follows one chain. Each round reads the head, settles the operations mined up to `confirmations` below it, ends expired reservations,
 * and writes the balances of that block, all in one fenced step. A round that fails changes nothing; the next one starts from the
 * store's cursor again. A reorganisation below the settled block gets a separate step, which takes back the steps after the last common
 * block.
 */
export class ChainFollower {
  readonly #deps: ChainFollowerDeps;
  readonly #scanner = new Scanner();
  readonly #releaser = new Releaser(this.#scanner);
  readonly #history = new History();
  readonly #inUse = new AccountsInUse();
  /** EntryPoints of every profile that this process has seen, including profiles that were removed. */
  readonly #entryPoints = new Set<AddressKey>();
  readonly #seenContracts = new Map<AddressKey, WatchedContract>();
  /** Blocks up to this one are scanned once more, and their operations may have been settled before. */
  #rescannedThrough = -1;
  /** Until this chain time a mined operation may be one that was settled before, without this process knowing. */
  #blindUntil = 0;
  #head: Head | undefined;
  #verified: Chain | undefined;
  /** True when the node of the last round did not show the settled block. */
  #isWaiting = false;
  /** Head block and time of the last step that was written, and how many contracts and accounts it read. */
  #written:
    | { readonly hash: string; readonly at: EpochMs; readonly contracts: number; readonly accounts: number }
    | undefined;

  constructor(deps: ChainFollowerDeps) {
    this.#deps = deps;
  }

  get head(): Head | undefined {
    return this.#head;
  }

  /** Only reads the head, for a chain that another replica follows. Throws UNAVAILABLE. */
  async observe(): Promise<void> {
    await this.#readHead(await this.#source(), this.#deps.clock.now());
  }

  /** One round. Throws UNAVAILABLE when the node or the store does not answer. */
  async round(): Promise<Round> {
    const { usage, chainId, clock, log } = this.#deps;
    const source = await this.#source();
    const startedAt = clock.now();
    const head = await this.#readHead(source, startedAt);
    const stored = await usage.cursor(chainId);
    const state = stored === undefined ? 'whole' : await this.#continuityOf(source, stored, head);
    if (state === 'waiting') return { ...idle, waitsAt: stored };
    if (stored !== undefined && state === 'broken') {
      const taken = await this.#takeBack(source, stored, head);
      if (taken !== undefined) return taken;
    }

    // Gather: mined operations, the promises for them, expired reservations, balances.
    const confirmed = Math.max(0, head.number - source.confirmations);
    const from =
      stored === undefined || state === 'broken'
        ? this.#blindStart(stored, head, confirmed)
        : stored.blockNumber + 1;
    const end = Math.min(Math.max(confirmed, from - 1), from - 1 + blocksPerStep);
    const last = end === head.number ? head : await blockAt(source, end);
    const expiredBefore = await passedTime({ source, head, target: last, usage, now: startedAt });
    const isBehindHead = last.number < confirmed;
    const due = isBehindHead ? [] : await this.#due(expiredBefore);
    const known = await usage.accounts(chainId);
    const { followed, forgotten } = this.#accounts(source, known, startedAt);
    const isOlder = stored !== undefined && isOlderHead(head, source.confirmations, stored);
    const isFresh =
      this.#written?.hash === head.hash &&
      this.#written.contracts === source.contracts.size &&
      this.#written.accounts === followed.length &&
      startedAt - this.#written.at < refreshMs;
    const isQuiet = state === 'whole' && this.#releaser.isWaiting(due, last.number);
    if (isFresh && isQuiet) return idle;

    const wanted = watched(source.contracts, known, this.#entryPoints);
    const found = merged(
      await this.#scanner.operations(source.chain, wanted, from, last.number),
      await minedForSenders(source, this.#scanner, usage, { from, to: last }),
    );
    const cut = endOfStep(found, last.number);
    const target = cut === last.number ? last : await blockAt(source, cut);
    const mined = found.filter(({ blockNumber }) => blockNumber <= cut);
    const isCaughtUp = !isBehindHead && cut === last.number;
    const ours = new Set(wanted.contracts);
    const isAgain = ({ blockNumber }: MinedOperation): boolean => blockNumber <= this.#rescannedThrough;
    const settlement = await settleMined(
      usage,
      source,
      mined.filter((operation) => !isAgain(operation)),
      ours,
    );
    const again = await settleAgain(usage, this.#history, source, mined.filter(isAgain), ours);
    const seen = new Set(mined.map(operationId));
    const expired = due.filter(({ key }) => !seen.has(operationId(key)));
    const ending = isCaughtUp
      ? await this.#releaser.end(source, expired, target, releasesPerStep)
      : nothingEnded;
    const late = joined(
      again,
      await settleAgain(usage, this.#history, source, ending.mined, ours, ending.spent),
    );
    // Most nodes have no balances for blocks far below the head; nothing is promised until the head is reached.
    const balances = isCaughtUp
      ? await usableBalances(usage, this.#scanner, source, followed, { from, target, head, wanted })
      : new Map<string, never>();
    // Read last, because this also proves that the node that gave the events has this block, and not only an older one.
    if ((await blockAt(source, target.number)).hash !== target.hash)
      throw new DomainError('UNAVAILABLE', `chain ${chainId} changed while it was read`);

    // Apply: one step, or nothing. A suspension is written before the step, so that a crash in between cannot lose it.
    const strange = target.timestamp < this.#blindUntil ? [] : settlement.unattributed;
    // Another follower that has settled these operations meanwhile has ended their promises, too. Only while the cursor is the
    // same do missing promises mean that nobody made them.
    if (strange.length > 0 && !isSameCursor(await usage.cursor(chainId), stored)) return idle;
    await suspendContracts(this.#deps, source, strange);
    const losses = [...settlement.losses, ...late.losses];
    const lossesCharged = losses.flatMap((operation) => this.#lossCharges(operation));
    const settled = [...settlement.settled, ...late.settled];
    const used = [...settlement.released, ...late.released];
    const forfeited = [...ending.forfeited, ...late.forfeited];
    const next = cursorOf(target);
    const ends = { settled, released: used, expired: ending.released, forfeited };
    const texts = await this.#settlementTexts(source, ends, target);
    const result = await this.#advance({
      chainId,
      expected: stored,
      next,
      settled: settledInStep(settled).map(withRecord(texts)),
      released: [
        ...used.map(({ key }) => ({ key })),
        ...ending.released.map(({ key, validUntil }) => ({ key, validUntil })),
      ].map(withRecord(texts)),
      forfeited: forfeited.map(({ key }) => ({ key })).map(withRecord(texts)),
      charges: lossesCharged,
      restored: [],
      balances: stepBalances(followed, balances, known, { readAt: startedAt, isOlder }),
      ...this.#ordered,
    });
    if (!result.isTaken) return idle;
    const ended = endedInStep(result.ended, { settled, released: [...used, ...ending.released] });
    if (this.#deps.ledger !== undefined) recordEndings(this.#deps.ledger, result, ended, settled);
    this.#history.add(stored, { cursor: next, ended, undo: negated(lossesCharged) });
    this.#releaser.remember(ending);
    const read = { contracts: source.contracts.size, accounts: followed.length };
    this.#written = isCaughtUp ? { hash: head.hash, at: startedAt, ...read } : undefined;
    if (forgotten.length > 0) await usage.forgetAccounts(chainId, forgotten);
    reportStep(log, { losses, ambiguous: settlement.ambiguous, forfeited });
    return {
      cursor: next,
      settled: countOf(ended, 'settled'),
      released: countOf(ended, 'released'),
      forfeited: countOf(ended, 'forfeited'),
      unpaid: losses.length,
      unattributed: strange.length,
      restored: 0,
      spent: spentByPaymaster(settled, result.ended),
      isComplete: isCaughtUp && ending.isComplete,
    };
  }

  /** Reads the balance of an account that the store does not know yet, e.g. a new funding wallet. */
  async ensureAccount(account: AccountId): Promise<void> {
    await ensureAccount({ ...this.#deps, source: () => this.#source() }, account);
  }

  /** Asks each connection once for its chain id: balances of another chain would be promised as if they were this chain's. */
  async #source(): Promise<Source> {
    const { chainId } = this.#deps;
    const { config, chain, elsewhere = () => chain } = this.#deps.current();
    if (chain !== this.#verified) {
      const answer = await chain.chainId();
      if (answer !== chainId)
        throw new DomainError('UNAVAILABLE', `the node of chain ${chainId} is one of chain ${answer}`, {
          reason: 'CHAIN_MISMATCH',
        });
      this.#verified = chain;
    }
    const contracts = watchedContracts(config);
    for (const watchedContract of contracts.values()) {
      this.#entryPoints.add(watchedContract.entryPoint);
      this.#seenContracts.set(watchedContract.contract, watchedContract);
    }
    const { confirmations } = config;
    return { chain, elsewhere, chainId, confirmations, contracts, seenContracts: this.#seenContracts };
  }

  async #readHead(source: Source, observedAt: EpochMs): Promise<Block> {
    const [block, priorityFeePerGas] = await Promise.all([
      blockAt(source, 'latest'),
      // Some nodes do not know the method; price guards have their own floor.
      source.chain.priorityFee().catch(() => this.#head?.priorityFeePerGas ?? 0n),
    ]);
    const { number, timestamp, baseFeePerGas } = block;
    this.#head = { number, timestamp, baseFeePerGas, priorityFeePerGas, observedAt };
    return block;
  }

  #accounts({ contracts }: Source, known: readonly AccountBalance[], now: EpochMs) {
    return this.#inUse.select(known, this.#deps.platformAccounts(), new Set(contracts.keys()), now);
  }

  async #continuityOf({ chain }: Source, stored: Cursor, head: Block): Promise<ContinuityState> {
    // Another follower has taken steps since, or this process has just begun: the known steps do not lead to the cursor.
    if (this.#history.points()[0]?.blockHash !== stored.blockHash) await this.#readHistory();
    const state = await continuityOf(chain, stored, head, this.#history.points());
    const isWaiting = state === 'waiting';
    // Logged once; after that the metric shows it.
    if (isWaiting && !this.#isWaiting)
      this.#deps.log.warn('node lags behind the settled block: waiting for it', {
        settledBlock: stored.blockNumber,
        head: head.number,
      });
    this.#isWaiting = isWaiting;
    return state;
  }

  /** Throws UNAVAILABLE. */
  async #readHistory(): Promise<void> {
    this.#history.load(await this.#deps.usage.takenSteps(this.#deps.chainId));
  }

  /**
   * Steps back to the last remembered block that is still in the chain. Reservations that ended after it are live again, and what they
   * counted is taken back, even if others have been promised the difference since. The next rounds settle the operations of the new
   * blocks. Undefined when nothing is remembered. When no remembered block is left the cursor does not move: whichever process scans
   * next must not mistake reservations that are live again for operations that nobody has promised.
   */
  async #takeBack(source: Source, stored: Cursor, head: Block): Promise<Round | undefined> {
    const { chainId, log } = this.#deps;
    // Another follower may have taken a step at the same block.
    await this.#readHistory();
    if (this.#history.points()[0]?.blockHash !== stored.blockHash) return undefined;
    const common = await commonPoint(source, this.#history.points(), head);
    const { restored, charges: undone, givenBack } = this.#history.after(common);
    if (common === undefined && restored.length === 0 && undone.length === 0) return undefined;
    const next = common ?? stored;
    const nothing = { settled: [], released: [], forfeited: [], balances: [] };
    const { ledger } = this.#deps;
    const result = await this.#advance({
      chainId,
      expected: stored,
      next,
      takesBackAfter: common?.blockNumber ?? -1,
      restored,
      restoredRecords: ledger === undefined ? [] : reversals(restored, { ...ledger, chainId }),
      charges: undone,
      ...nothing,
      ...this.#ordered,
    });
    if (!result.isTaken) return idle;
    if (ledger !== undefined) recordRestored(ledger, result, restored);
    this.#history.rollBack(common);
    this.#releaser.forget();
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

  /** What the ledger gets to know about a step; nothing is read when nothing is recorded. Throws UNAVAILABLE. */
  async #settlementTexts(
    source: Source,
    ends: StepEnds,
    target: Block,
  ): Promise<ReadonlyMap<string, string>> {
    const { ledger, chainId, current } = this.#deps;
    if (ledger === undefined) return new Map();
    const { feeTokens } = current().config;
    return settlementTexts(ends, {
      ...ledger,
      chainId,
      at: toMs(target.timestamp as EpochSeconds),
      timeOf: await blockTimes(
        source,
        ends.settled.map(({ operation }) => operation),
        target,
      ),
      decimalsOf: (token) => feeTokens.find(({ address }) => address.toLowerCase() === token)?.decimals,
    });
  }

  /** Records of inputs keep the places of a step's endings. */
  get #ordered(): Pick<FollowerStep, 'ordered'> {
    return this.#deps.ledger?.ending === undefined ? {} : { ordered: true };
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

  /**
   * The first block to scan for a step that does not begin where another ended. For the first cursor ever nothing was promised
   * before, so no earlier block is needed. Otherwise it lies some blocks back, and some of those may have been settled before.
   */
  #blindStart(stored: Cursor | undefined, head: Block, confirmed: number): number {
    if (stored === undefined) return confirmed + 1;
    const from = Math.max(0, Math.min(stored.blockNumber, head.number) - blindRescanBlocks);
    this.#blindUntil = head.timestamp + longestExpirySeconds;
    this.#rescannedThrough = Math.min(stored.blockNumber, head.number);
    this.#deps.log.warn('chain is scanned again from before the settled block', {
      settledBlock: stored.blockNumber,
      head: head.number,
      rescanFrom: from,
    });
    return from;
  }

  /** The oldest of the reservations whose time is over; those that wait for another check are among them. */
  #due(expiredBefore: EpochSeconds): Promise<readonly Reservation[]> {
    const limit = releasesPerStep + this.#releaser.waiting;
    return this.#deps.usage.reservations(this.#deps.chainId, { operations: [], expiredBefore, limit });
  }

  #lossCharges({ paymaster: contract, sender, actualGasCost }: MinedOperation): readonly Charge[] {
    const { chainId, usage } = this.#deps;
    return lossCharges({ chainId, contract }, sender, { loss: gweiCeil(actualGasCost), at: usage.now() });
  }
}

function countOf(ended: readonly Ended[], how: Ended['how']): number {
  return ended.filter((one) => one.how === how).length;
}

function cursorOf({ number, hash, timestamp }: Block): Cursor {
  return { blockNumber: number, blockHash: hash, timestamp: timestamp as EpochSeconds };
}
