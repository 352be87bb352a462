import { randomUUID } from 'node:crypto';
import { DomainError } from '../../../core/errors.js';
import { noMetrics } from '../../../core/metrics.js';
import type { FollowerLease } from '../../../core/policy/follower-lease.js';
import type { Clock, EpochMs } from '../../../core/units/time.js';
import { createMemoryEpochMirror, type UsageRecovery } from '../../../core/usage/epoch.js';
import type {
  AccountBalance,
  AccountId,
  CounterId,
  CounterState,
  Cursor,
  Fence,
  FollowerStep,
  PeekResult,
  Reservation,
  ReservationQuery,
  ReserveRequest,
  ReserveResult,
  StepResult,
  UsageReading,
  TakenStep,
} from '../../../core/usage/usage-store.js';
import { UsageEpochs } from '../usage-epochs.js';
import { UsageFullness } from '../usage-fullness.js';
import { parseRedisAddress } from '../../redis/address.js';
import { advance, readCursor } from './advance.js';
import { ChainScripts, unknownReply } from './chain-scripts.js';
import { convertChain } from './convert.js';
import { dropCommits } from './drop-commits.js';
import { createFundingMessages } from './funding-messages.js';
import { createKeptEpochs } from './kept-epochs.js';
import { RedisLedgerFeed } from './ledger-feed.js';
import { accountName, chainKeys, counterName, kinds, parseAccountName, type ChainKeys } from './keys.js';
import { createRedisLease } from './lease.js';
import { RedisLink } from '../../redis/link.js';
import { listReservations, pages } from './listing.js';
import {
  balanceOf,
  firstLost,
  readPeek,
  readVerdict,
  requestPart,
  requireDecided,
  reserveCall,
  takenOf,
  type RequestPart,
} from './reserve-call.js';
import { peekScript, reserveScript } from './reserve-script.js';
import { listOf, textsOf } from '../../redis/reply.js';
import { orderOf } from '../../../core/usage/order.js';
import { replies, type Script } from './script.js';
import { addBalanceScript, forgetAccountsScript, noteGenerationsScript, suspendScript } from './scripts.js';
import { readTakenSteps } from './taken-steps.js';
import { TurnBatch } from './turn-batch.js';
import type { RedisUsageOptions, RedisUsageStore } from './usage-options.js';

/** As long as for a webhook: a disk that stalls for a second makes an answer late, and late is better than refused. */
const defaultTimeoutMs = 3_000;
/** Values that are read together, so that no single command blocks Redis for long. */
const perPage = 500;
/** Memory in Redis for a reservation with its two limits, three holds and one account, measured; rounded up. */
export const bytesPerReservation = 2_048;

/**
 * The usage store on Redis 7: one atomic script per request decides over everything in it, by the time of Redis. Throws
 * INVALID_INPUT for options that cannot work; connects in the background.
 */
export function createRedisUsageStore(options: RedisUsageOptions): RedisUsageStore {
  return new RedisStore(options);
}

type OfChain = {
  readonly keys: ChainKeys;
  readonly scripts: ChainScripts;
  readonly reserving: TurnBatch<RequestPart, Decided>;
  readonly peeking: TurnBatch<RequestPart, Decided>;
};

/** The reply of a script to one request, at the store's time, and its place among all. */
type Decided = { readonly now: EpochMs; readonly order: number; readonly reply: readonly unknown[] };

/**
 * `validUntil` is by the clock of the caller, but the time is that of Redis: an expiry of exactly the ten minutes that
 * are always noted must not count as twenty. The wait after a loss has a longer margin for clocks that differ.
 */
const clocksApartMs = 30_000;

type ReadKeys = (keys: readonly string[]) => Promise<readonly unknown[]>;

class RedisStore implements RedisUsageStore {
  /** {@link UsageReading} */
  readonly reading: UsageReading = {
    now: () => this.now(),
    counters: (chainId, counters) => this.#countersBy(this.#readPlain, chainId, counters),
    accounts: (chainId) => this.#accountsBy(this.#readPlain, chainId),
  };
  readonly #readPlain: ReadKeys = async (keys) => {
    this.#link.assertUsable();
    return listOf(await this.#link.read('mget', keys));
  };
  readonly lease: FollowerLease;
  readonly recovery: UsageRecovery & { raise(): Promise<boolean> };
  readonly feed: RedisLedgerFeed;
  readonly #link: RedisLink;
  readonly #epochs: UsageEpochs;
  readonly #messages: ReturnType<typeof createFundingMessages>;
  readonly #fullness: UsageFullness;
  readonly #prefix: string;
  readonly #processId = randomUUID();
  readonly #clock: Clock | undefined;
  readonly #chains = new Map<number, OfChain>();
  #running = 0;
  #idle: PromiseWithResolvers<void> | undefined;
  /** Add this to the monotonic time of this process to get the time of Redis. */
  #ahead = Date.now() - performance.now();

  constructor(options: RedisUsageOptions) {
    const { log, metrics = noMetrics, timeoutMs = defaultTimeoutMs } = options;
    const address = parseRedisAddress('url', options.url);
    this.#prefix = options.keyPrefix ?? 'paymaster:';
    this.#clock = options.clock;
    this.#link = new RedisLink({
      address,
      tls: options.tls,
      credentials: options.credentials,
      timeoutMs,
      durability: options.durability ?? 'always',
      acks: {
        replicas: options.replicaAcks ?? (address.kind === 'standalone' ? 0 : 1),
        timeoutMs: Math.ceil(timeoutMs / 2),
      },
      log,
      metrics,
      onInterrupted: () => void this.#epochs.interrupted(),
    });
    const imposedNow = (): EpochMs | 0 => this.#clock?.now() ?? 0;
    const link = this.#link;
    this.#epochs = new UsageEpochs({
      store: createKeptEpochs({
        link,
        imposedNow,
        keys: (chainId) => this.#chain(chainId).keys,
        convert: (chainId, kept) =>
          convertChain({ link, chain: this.#chain(chainId).keys, imposedNow, log }, kept),
      }),
      mirror: options.epochMirror ?? createMemoryEpochMirror(),
      clock: { now: () => this.now() },
      log,
      metrics,
    });
    this.recovery = this.#epochs;
    this.lease = createRedisLease({
      link,
      keys: (chainId) => this.#chain(chainId).keys,
      identity: options.identity,
    });
    this.#messages = createFundingMessages({ link, keyPrefix: this.#prefix, imposedNow });
    this.#fullness = new UsageFullness(metrics, { now: () => this.now() });
    this.feed = new RedisLedgerFeed({
      link,
      keyPrefix: this.#prefix,
      keys: (chainId) => this.#chain(chainId).keys,
      identity: options.identity,
      options: options.ledger ?? {},
    });
  }

  opened(): Promise<void> {
    return this.#link.opened();
  }

  now(): EpochMs {
    return this.#clock?.now() ?? (Math.floor(performance.now() + this.#ahead) as EpochMs);
  }

  async reserve(request: ReserveRequest): Promise<ReserveResult> {
    this.#begin();
    try {
      const { chainId } = request.key;
      const expiryMs = request.promise.validUntil * 1000 - this.now() - clocksApartMs;
      if (this.#epochs.known(chainId) === undefined) await this.#epochs.of(chainId);
      if (!this.#epochs.isNoted(chainId, expiryMs)) await this.#epochs.note(chainId, expiryMs);
      const listing = request.record && this.feed.list(chainId);
      if (listing !== undefined) await listing;
      const { reserving } = this.#chain(chainId);
      const { now, order, reply } = await reserving.add(requestPart(request, true));
      requireDecided(reply);
      const result = readVerdict(request, { verdict: reply, now });
      if (result === undefined) throw unknownReply();
      this.#noteFullness(request, result, reply);
      return request.ordered ? { ...result, order } : result;
    } finally {
      this.#end();
    }
  }

  async dropCommits(chainId: number): Promise<number> {
    return this.#counted(() => dropCommits(this.#stepDeps(chainId), this.now()));
  }

  async peek(request: ReserveRequest): Promise<PeekResult> {
    const { peeking } = this.#chain(request.key.chainId);
    const { now, order, reply } = await peeking.add(requestPart(request, false));
    requireDecided(reply);
    const result = readVerdict(request, { verdict: listOf(reply[0]), now });
    if (result === undefined) throw unknownReply();
    return readPeek(request, request.ordered ? { ...result, order } : result, reply);
  }

  async counters(chainId: number, counters: readonly CounterId[]): Promise<readonly CounterState[]> {
    this.#link.assertUsable();
    const { scripts } = this.#chain(chainId);
    return this.#countersBy((names) => scripts.read(names), chainId, counters);
  }

  async #countersBy(
    read: ReadKeys,
    chainId: number,
    counters: readonly CounterId[],
  ): Promise<readonly CounterState[]> {
    const { keys } = this.#chain(chainId);
    const states: CounterState[] = [];
    for (const page of pages(counters, perPage)) {
      const names = page.map(counterName);
      const values = await read(
        names.flatMap((name) => [
          `${keys.prefix}${kinds.counter}${name}`,
          `${keys.prefix}${kinds.used}${name}`,
        ]),
      );
      for (const i of names.keys()) {
        const used = Number(values[2 * i + 1] ?? 0);
        states.push({ used, reserved: Number(values[2 * i] ?? 0) - used });
      }
    }
    return states;
  }

  async noteGenerations(chainId: number, fences: readonly Fence[]): Promise<void> {
    this.#link.assertUsable();
    const { keys, scripts } = this.#chain(chainId);
    for (const page of pages(fences, perPage))
      await this.#counted(() =>
        scripts.run(
          noteGenerationsScript,
          page.map(({ id }) => `${keys.prefix}${kinds.generation}${id}`),
          page.map(({ generation }) => generation),
        ),
      );
  }

  async setSuspended(chainId: number, id: string, isSuspended: boolean): Promise<void> {
    const { keys, scripts } = this.#chain(chainId);
    const fence = `${keys.prefix}${kinds.generation}${id}`;
    await this.#counted(() => scripts.run(suspendScript, [fence, keys.suspended], [id, isSuspended ? 1 : 0]));
  }

  async suspended(chainId: number): Promise<readonly string[]> {
    const { keys, scripts } = this.#chain(chainId);
    await scripts.read([]);
    const ids = textsOf(await this.#link.read('smembers', [keys.suspended]));
    return ids.filter((id) => id !== undefined).toSorted();
  }

  async reservations(chainId: number, query?: ReservationQuery): Promise<readonly Reservation[]> {
    const { keys, scripts } = this.#chain(chainId);
    await scripts.read([]);
    return listReservations(this.#link, keys, chainId, query);
  }

  async liveCount(chainId: number): Promise<number> {
    const { keys, scripts } = this.#chain(chainId);
    await scripts.read([]);
    return Number(await this.#link.read('zcard', [keys.expiries]));
  }

  capacity(): number {
    const { maxmemory } = this.#link;
    return maxmemory === 0 ? Infinity : Math.floor(maxmemory / bytesPerReservation);
  }

  cursor(chainId: number): Promise<Cursor | undefined> {
    return this.#counted(() => readCursor(this.#stepDeps(chainId)));
  }

  advance(step: FollowerStep): Promise<StepResult> {
    return this.#counted(async () => {
      if (recordsAnything(step)) await this.feed.list(step.chainId);
      return advance(this.#stepDeps(step.chainId), step);
    });
  }

  takenSteps(chainId: number): Promise<readonly TakenStep[]> {
    return this.#counted(() => readTakenSteps(this.#stepDeps(chainId)));
  }

  async addBalance(chainId: number, account: AccountBalance): Promise<void> {
    const { balance, readAt } = account;
    if (balance === undefined || readAt === undefined) return;
    const { keys, scripts } = this.#chain(chainId);
    const name = accountName(account);
    const written = [`${keys.prefix}${kinds.balance}${name}`, keys.accounts];
    await this.#counted(() => scripts.run(addBalanceScript, written, [name, `${balance}:${readAt}`]));
  }

  async accounts(chainId: number): Promise<readonly AccountBalance[]> {
    const { scripts } = this.#chain(chainId);
    await scripts.read([]);
    return this.#accountsBy((names) => scripts.read(names), chainId);
  }

  async #accountsBy(read: ReadKeys, chainId: number): Promise<readonly AccountBalance[]> {
    const { keys } = this.#chain(chainId);
    const members = textsOf(await this.#link.read('smembers', [keys.accounts]));
    const names = members.filter((name) => name !== undefined).toSorted();
    const found: AccountBalance[] = [];
    for (const page of pages(names, perPage)) {
      const values = await read(page.flatMap((name) => accountKeys(keys, name)));
      for (const [i, name] of page.entries())
        found.push(balanceOf(parseAccountName(name), values[2 * i], values[2 * i + 1]));
    }
    return found;
  }

  async forgetAccounts(chainId: number, accounts: readonly AccountId[]): Promise<void> {
    this.#link.assertUsable();
    const { keys, scripts } = this.#chain(chainId);
    for (const page of pages(accounts, perPage)) {
      const names = page.map(accountName);
      const named = [keys.accounts, ...names.flatMap((name) => accountKeys(keys, name))];
      await this.#counted(() => scripts.run(forgetAccountsScript, named, names));
    }
  }

  putFundingMessage(paymasterId: string, message: string, expiresAt: EpochMs): Promise<void> {
    return this.#messages.putFundingMessage(paymasterId, message, expiresAt);
  }

  getFundingMessage(paymasterId: string): Promise<string | undefined> {
    return this.#messages.getFundingMessage(paymasterId);
  }

  consumeFundingMessage(paymasterId: string, message: string): Promise<boolean> {
    return this.#messages.consumeFundingMessage(paymasterId, message);
  }

  ping(): Promise<void> {
    return this.#link.ping();
  }

  async stop(): Promise<void> {
    await this.feed.stop();
    if (this.#running > 0) await (this.#idle ??= Promise.withResolvers<void>()).promise;
    await this.#epochs.stop();
    await this.#link.stop();
  }

  #noteFullness(request: ReserveRequest, result: ReserveResult, verdict: readonly unknown[]): void {
    const { limits } = request;
    if (result.outcome === 'reserved')
      for (let i = 0; i < limits.length; i++)
        this.#fullness.observe(limits[i]!, takenOf(verdict, i), request);
    if (result.outcome === 'limit') this.#fullness.observe(limits[result.index]!, result.used, request);
  }

  async #decide(
    { keys: chain, scripts }: Pick<OfChain, 'keys' | 'scripts'>,
    script: Script,
    parts: readonly RequestPart[],
    isWrite: boolean,
  ): Promise<readonly Decided[]> {
    const reply = await scripts.call(
      script,
      ({ since }, head) =>
        reserveCall(parts, {
          chain,
          head,
          lost: parts.map(({ request }) => firstLost(request, since)),
          room: this.feed.room(),
        }),
      isWrite,
    );
    const [code, now, sequence, writes, ...decided] = reply;
    if (code === replies.clockBack)
      throw new DomainError('UNAVAILABLE', 'the clock of the usage store was set back', {
        reason: 'USAGE_STORE_CLOCK',
        retryAfterSeconds: 60,
      });
    const hasWritten = isWrite && Number(writes) > 0;
    return decided.map((one, place) => ({
      now: Number(now) as EpochMs,
      order: orderOf(Number(sequence), hasWritten ? place : undefined),
      reply: listOf(one),
    }));
  }

  async #counted<T>(run: () => Promise<T>): Promise<T> {
    this.#begin();
    try {
      return await run();
    } finally {
      this.#end();
    }
  }

  /** Counts running calls: a stop waits for them. */
  #begin(): void {
    this.#running += 1;
  }

  #end(): void {
    this.#running -= 1;
    if (this.#running === 0) this.#idle?.resolve();
  }

  #stepDeps(chainId: number) {
    const { keys, scripts } = this.#chain(chainId);
    return { link: this.#link, chain: keys, scripts, chainId, ledgerBytes: this.feed.room().bytes };
  }

  #chain(chainId: number): OfChain {
    const known = this.#chains.get(chainId);
    if (known !== undefined) return known;
    const keys = chainKeys(this.#prefix, chainId, this.#processId);
    const scripts = new ChainScripts({
      link: this.#link,
      chain: keys,
      chainId,
      epochs: this.#epochs,
      imposedNow: () => this.#clock?.now() ?? 0,
      noteTime: (now) => {
        this.#ahead = now - performance.now();
      },
    });
    const batch = (script: Script, isWrite: boolean) =>
      new TurnBatch((parts: readonly RequestPart[]) =>
        this.#decide({ keys, scripts }, script, parts, isWrite),
      );
    const made = { keys, scripts, reserving: batch(reserveScript, true), peeking: batch(peekScript, false) };
    this.#chains.set(chainId, made);
    return made;
  }
}

function recordsAnything({ settled, released, forfeited, restoredRecords = [] }: FollowerStep): boolean {
  const endings = [settled, released, forfeited].flat();
  return restoredRecords.length > 0 || endings.some(({ record }) => record !== undefined);
}

function accountKeys({ prefix }: ChainKeys, name: string): readonly [balance: string, promised: string] {
  return [`${prefix}${kinds.balance}${name}`, `${prefix}${kinds.promised}${name}`];
}
