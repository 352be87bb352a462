import type { Block, Chain } from '../../core/chain/chain.js';
import type { Head } from '../../core/chain/heads.js';
import type { ChainConfig } from '../../core/config/chain-config.js';
import { DomainError } from '../../core/errors.js';
import type { Logger } from '../../core/log.js';
import type { AccountBalance, AccountId, Cursor, UsageStore } from '../../core/policy/usage-store.js';
import type { AddressKey } from '../../core/units/address.js';
import { toSeconds, type Clock, type EpochMs, type EpochSeconds } from '../../core/units/time.js';
import { gwei, gweiCeil } from '../../core/units/wei.js';
import { accountName, charges, orphanedNeeds, stepBalances } from './balances.js';
import { History } from './history.js';
import { Scanner } from './scan.js';
import {
  chargeToLimits,
  contested,
  expired,
  promisedInTokens,
  settle,
  type MinedOperation,
  type Settlement,
  type TokenPaid,
} from './settlement.js';
import {
  blockAt,
  readPayers,
  readTokenPayments,
  readUsable,
  watched,
  watchedContracts,
  type Source,
} from './source.js';

export type ChainFollowerDeps = {
  readonly usage: Pick<UsageStore, 'reservations' | 'cursor' | 'advance' | 'addBalance' | 'accounts'>;
  readonly chainId: number;
  /** The config that is served now, and its connection. */
  readonly current: () => { readonly config: ChainConfig; readonly chain: Chain };
  /** Funding wallets of the served paymasters of this chain. */
  readonly fundingAccounts: () => readonly AccountId[];
  readonly clock: Clock;
  readonly log: Logger;
};

/** What one round has done; undefined cursor: nothing was due, or another follower was faster. */
export type Round = {
  readonly cursor: Cursor | undefined;
  readonly settled: number;
  readonly released: number;
  /** Of the settled ones, those in mode ERC20 that were charged no token. */
  readonly unpaid: number;
  /** False when more reservations than one step releases have expired: the next round is due at once. */
  readonly isComplete: boolean;
};

/** Balances are written again after this time at the latest, also when nothing happens on the chain. */
const refreshMs = 60_000;
/** Most reservations that one step releases: a few milliseconds, since sponsorships wait for it. */
const releasesPerStep = 1_000;
/** How far back to look when nothing is known that a reorganisation has left standing. */
const blindRescanBlocks = 256;
/**
 * A pending block shows the node's time. A real block that is still on its way may be this much older, so an expiry
 * counts only when it has passed by more.
 */
const pendingMarginSeconds = 30;
/** A node that lags shows a head that is at most this old. */
const lagSeconds = 120;
/** How long a node may show a shorter and older chain before that chain is taken for the real one. */
const catchUpMs = 15_000;

/**
 * Follows one chain: each round reads the head, settles what was mined up to `confirmations` below it, releases what
 * has expired unmined, and writes the balances of that block with it in one fenced step. A round that fails changes
 * nothing; the next one starts from the store's cursor again.
 */
export class ChainFollower {
  readonly #deps: ChainFollowerDeps;
  readonly #scanner = new Scanner();
  readonly #history = new History();
  /** Of every profile that this process has seen: also those of profiles that were taken away. */
  readonly #entryPoints = new Set<AddressKey>();
  /** Since when the node shows a shorter and older chain than the one that was settled. */
  #behindSince: EpochMs | undefined;
  #head: Head | undefined;
  #verified: Chain | undefined;
  /** Head block and time of the last step that was written. */
  #written: { readonly hash: string; readonly at: EpochMs; readonly accounts: number } | undefined;

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
    if (stored !== undefined && this.#isBehind(stored, head, startedAt)) return idle;

    const { from, rewound } = await this.#start(source, stored, head);
    const target = await blockAt(source, Math.max(0, head.number - source.confirmations, from - 1));
    const passedTime = await this.#passedTime(source, head, target);
    const due = await usage.reservations(chainId, {
      operations: [],
      expiredBefore: passedTime,
      limit: releasesPerStep,
    });
    const known = await usage.accounts(chainId);
    const accounts = this.#accounts(source, known);
    const isFresh =
      this.#written?.hash === head.hash &&
      this.#written.accounts === accounts.length &&
      startedAt - this.#written.at < refreshMs;
    if (isFresh && due.length === 0 && !rewound) return idle;

    // Gather: what was mined, who had promised it, what the accounts hold.
    const wanted = watched(source.contracts, known, this.#entryPoints);
    const mined = await this.#scanner.operations(source.chain, wanted, from, target.number);
    const fresh = mined.filter((operation) => !this.#history.isSettled(operation));
    const confirmed = await this.#settle(source, fresh);
    const above = Math.max(from, target.number + 1);
    const recent = await this.#scanner.operations(source.chain, wanted, above, head.number);
    const unsettled = await this.#settle(source, recent);
    const released = [...confirmed.released, ...expired(due, mined, passedTime)];
    const orphaned = orphanedNeeds(this.#history.orphansWithout(mined));
    const balances = await readUsable(source, accounts, target, head, charges(unsettled), orphaned);
    // Asked last: also proves that the node that gave the events has this block, and not only an older one.
    if ((await blockAt(source, target.number)).hash !== target.hash)
      throw new DomainError('UNAVAILABLE', `chain ${chainId} changed while it was read`);

    // Apply: one step, or nothing.
    const next = cursorOf(target);
    const isMine = await usage.advance({
      chainId,
      expected: stored,
      next,
      settled: confirmed.settled.map(({ reservation, operation }) => ({
        key: reservation.key,
        actualCost: gweiCeil(chargeToLimits(reservation, operation, confirmed.tokenPaid)),
      })),
      released: released.map(({ key, validUntil }) => ({ key, validUntil })),
      balances: stepBalances(accounts, balances, known, startedAt),
    });
    if (!isMine) return idle;
    this.#history.add(next, confirmed.settled, mined);
    this.#written = { hash: head.hash, at: startedAt, accounts: accounts.length };
    const unpaid = confirmed.settled.filter(
      ({ reservation, operation }) =>
        reservation.mode === 'ERC20' && confirmed.tokenPaid(operation) === false,
    );
    for (const { operation } of unpaid) {
      const { paymaster, blockNumber, transactionHash } = operation;
      log.warn('operation was mined and paid no token', {
        contract: paymaster,
        blockNumber,
        transactionHash,
      });
    }
    for (const { blockNumber, transactionHash } of confirmed.ambiguous)
      log.warn('operation settled for every paymaster that promised it', { blockNumber, transactionHash });
    return {
      cursor: next,
      settled: confirmed.settled.length,
      released: released.length,
      unpaid: unpaid.length,
      isComplete: due.length < releasesPerStep,
    };
  }

  /** Reads an account that the store does not know yet, e.g. a funding wallet that was just set. */
  async ensureAccount(account: AccountId): Promise<void> {
    const { usage, chainId, clock } = this.#deps;
    const name = accountName(account);
    const known = (await usage.accounts(chainId)).find((other) => accountName(other) === name);
    if (known?.balance !== undefined) return;
    // The first step begins at the head: what is promised before it could be mined before it, and be seen by nobody.
    if ((await usage.cursor(chainId)) === undefined)
      throw new DomainError('UNAVAILABLE', `chain ${chainId} was not followed yet`, {
        reason: 'DEPOSIT_UNKNOWN',
        retryAfterSeconds: 1,
      });
    const source = await this.#source();
    const readAt = clock.now();
    const head = await blockAt(source, 'latest');
    const target = await blockAt(source, Math.max(0, head.number - source.confirmations));
    const balances = await readUsable(source, [account], target, head, new Map(), new Map());
    const balance = balances.get(name);
    if (balance !== undefined)
      await usage.addBalance(chainId, { ...account, balance, reserved: gwei(0), readAt });
  }

  /** Balances of another chain would be promised as if they were ours, so each connection is asked once which it is. */
  async #source(): Promise<Source> {
    const { chainId } = this.#deps;
    const { config, chain } = this.#deps.current();
    if (chain !== this.#verified) {
      const answer = await chain.chainId();
      if (answer !== chainId)
        throw new DomainError('UNAVAILABLE', `the node of chain ${chainId} is one of chain ${answer}`, {
          reason: 'CHAIN_MISMATCH',
        });
      this.#verified = chain;
    }
    const contracts = watchedContracts(config);
    for (const { entryPoint } of contracts.values()) this.#entryPoints.add(entryPoint);
    return { chain, chainId, confirmations: config.confirmations, contracts };
  }

  async #readHead(source: Source, observedAt: EpochMs): Promise<Block> {
    const [block, priorityFeePerGas] = await Promise.all([
      blockAt(source, 'latest'),
      // Some nodes do not know the method; price guards have a floor of their own.
      source.chain.priorityFee().catch(() => this.#head?.priorityFeePerGas ?? 0n),
    ]);
    const { number, timestamp, baseFeePerGas } = block;
    this.#head = { number, timestamp, baseFeePerGas, priorityFeePerGas, observedAt };
    return block;
  }

  /** What the contracts hold themselves, what the configs name, and what reservations still draw on. */
  #accounts({ contracts }: Source, known: readonly AccountBalance[]): readonly AccountId[] {
    const accounts = new Map<string, AccountId>();
    for (const contract of contracts.keys()) accounts.set(accountName({ contract }), { contract });
    const promised = known.filter(({ reserved }) => reserved > 0);
    for (const { contract, fundingAddress } of [...this.#deps.fundingAccounts(), ...promised]) {
      const id = fundingAddress === undefined ? { contract } : { contract, fundingAddress };
      if (contracts.has(contract)) accounts.set(accountName(id), id);
    }
    return [...accounts.values()];
  }

  /**
   * True while the node shows the same chain, only shorter: one of several behind a load balancer that lags. That is no
   * reorganisation. Where that height is not remembered, a shorter chain whose newest block is older than ours, and yet
   * recent, is given some time to catch up; one that stopped long ago (a dev chain restored from a file) is not.
   */
  #isBehind(stored: Cursor, head: Block, now: EpochMs): boolean {
    const scanned = this.#history.points().find(({ blockNumber }) => blockNumber === head.number);
    const isRecent = now / 1000 - head.timestamp < lagSeconds;
    const isSame =
      scanned === undefined ? head.timestamp < stored.timestamp && isRecent : scanned.blockHash === head.hash;
    if (head.number >= stored.blockNumber || !isSame) {
      this.#behindSince = undefined;
      return false;
    }
    this.#behindSince ??= now;
    return scanned !== undefined || now - this.#behindSince < catchUpMs;
  }

  /** First block to scan: after the cursor while it stands, else after the last scanned block that still does. */
  async #start(
    source: Source,
    stored: Cursor | undefined,
    head: Block,
  ): Promise<{ readonly from: number; readonly rewound: boolean }> {
    // The first cursor ever: nothing was promised before it, so nothing needs to be found.
    if (stored === undefined)
      return { from: Math.max(0, head.number - source.confirmations) + 1, rewound: true };
    if (await stands(source, stored, head)) return { from: stored.blockNumber + 1, rewound: false };
    let common: Cursor | undefined;
    for (const point of this.#history.points())
      if (await stands(source, point, head)) {
        common = point;
        break;
      }
    this.#history.rollBack(common);
    const blind = Math.max(0, Math.min(stored.blockNumber, head.number) - blindRescanBlocks);
    const from = common === undefined ? blind : common.blockNumber + 1;
    this.#deps.log.warn('chain was reorganised or replaced below the settled block', {
      chainId: source.chainId,
      settledBlock: stored.blockNumber,
      head: head.number,
      rescanFrom: from,
    });
    return { from, rewound: true };
  }

  /**
   * Time before which it is certain what was mined: the settled block's. Where that block is the head and the chain is
   * idle (a dev chain), no block can be mined at an earlier time than the pending one.
   */
  async #passedTime({ chain, chainId }: Source, head: Block, target: Block): Promise<EpochSeconds> {
    const settledTime = target.timestamp as EpochSeconds;
    if (target.hash !== head.hash) return settledTime;
    const now = toSeconds(this.#deps.clock.now());
    const expiredBefore = now > settledTime ? now : settledTime;
    const query = { operations: [], expiredBefore, limit: 1 };
    if ((await this.#deps.usage.reservations(chainId, query)).length === 0) return settledTime;
    const pending = await chain.block('pending').catch(() => undefined);
    if (pending?.parentHash !== head.hash) return settledTime;
    return Math.max(settledTime, pending.timestamp - pendingMarginSeconds) as EpochSeconds;
  }

  async #settle(
    source: Source,
    mined: readonly MinedOperation[],
  ): Promise<Settlement & { readonly tokenPaid: TokenPaid }> {
    if (mined.length === 0) return { settled: [], released: [], ambiguous: [], tokenPaid: () => undefined };
    const query = { operations: mined, expiredBefore: 0 as EpochSeconds, limit: 0 };
    const reservations = await this.#deps.usage.reservations(source.chainId, query);
    const [payerOf, tokenPaid] = await Promise.all([
      readPayers(source, mined, contested(mined, reservations)),
      readTokenPayments(source, promisedInTokens(mined, reservations)),
    ]);
    return { ...settle(mined, reservations, payerOf, tokenPaid), tokenPaid };
  }
}

const idle: Round = { cursor: undefined, settled: 0, released: 0, unpaid: 0, isComplete: true };

async function stands({ chain }: Source, cursor: Cursor, head: Block): Promise<boolean> {
  if (cursor.blockNumber > head.number) return false;
  if (cursor.blockNumber === head.number) return cursor.blockHash === head.hash;
  return (await chain.block(cursor.blockNumber))?.hash === cursor.blockHash;
}

function cursorOf({ number, hash, timestamp }: Block): Cursor {
  return { blockNumber: number, blockHash: hash, timestamp: timestamp as EpochSeconds };
}
