import { createHash } from 'node:crypto';
import { DomainError } from '../../../errors.js';
import { noMetrics } from '../../../metrics.js';
import type { FollowerLease } from '../../../policy/follower-lease.js';
import { createMemoryEpochMirror, type UsageRecovery } from '../../../usage/epoch.js';
import type {
  AccountBalance,
  Cursor,
  FollowerStep,
  PeekResult,
  Reservation,
  ReservationKey,
  ReservationQuery,
  ReserveRequest,
  ReserveResult,
} from '../../../policy/usage-store.js';
import type { Hex } from '../../../units/hex.js';
import type { Clock, EpochMs } from '../../../units/time.js';
import { UsageEpochs, type KnownEpoch } from '../usage-epochs.js';
import { UsageFullness } from '../usage-fullness.js';
import { parseRedisAddress } from './address.js';
import { advance } from './advance.js';
import { cursorText, parseCursor } from './cursor.js';
import { createFundingMessages } from './funding-messages.js';
import { accountName, chainKeys, kinds, parseAccountName, type ChainKeys } from './keys.js';
import { createKeptEpochs } from './kept-epochs.js';
import { createRedisLease } from './lease.js';
import { RedisLink } from './link.js';
import { listReservations } from './listing.js';
import { balanceOf, readPeek, readVerdict, reserveCall, takenOf, type ReserveCall } from './reserve-call.js';
import { replies, reserveScript } from './reserve-script.js';
import { listOf, textOf, textsOf } from './reply.js';
import { addBalanceScript } from './scripts.js';
import { SignedHashes } from './signed-hashes.js';
import type { RedisUsageOptions, RedisUsageStore } from './usage-options.js';

/** As for a webhook: a disk that stands still for a second makes an answer late, and late is better than refused. */
const defaultTimeoutMs = 3_000;
/** The default bound of a paymaster: nearly no promise is noted in the copy. */
const expiryStepMs = 7_200_000;
/** Windows turn while a request is on its way; more than this and the clocks are at odds. */
const mostPlans = 3;

/**
 * The usage store on Redis 7: one atomic script per request decides over all limits and balances, by the time of
 * Redis. Throws INVALID_INPUT for options that cannot work; connects in the background.
 */
export function createRedisUsageStore(options: RedisUsageOptions): RedisUsageStore {
  return new RedisStore(options);
}

class RedisStore implements RedisUsageStore {
  readonly lease: FollowerLease;
  readonly recovery: UsageRecovery;
  readonly #link: RedisLink;
  readonly #epochs: UsageEpochs;
  readonly #signed: SignedHashes;
  readonly #messages: ReturnType<typeof createFundingMessages>;
  readonly #fullness: UsageFullness;
  readonly #prefix: string;
  readonly #clock: Clock | undefined;
  readonly #chains = new Map<number, ChainKeys>();
  #running = 0;
  #idle: PromiseWithResolvers<void> | undefined;
  /** What to add to the monotonic time of this process to get the time of Redis. */
  #ahead = Date.now() - performance.now();
  #stopped = false;

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
    });
    this.#epochs = new UsageEpochs({
      store: createKeptEpochs({
        link: this.#link,
        prefix: this.#prefix,
        imposedNow: () => this.#imposedNow(),
      }),
      mirror: options.epochMirror ?? createMemoryEpochMirror(),
      expiryStepMs,
      log,
      metrics,
    });
    this.recovery = this.#epochs;
    this.lease = createRedisLease({
      link: this.#link,
      keys: (chainId) => this.#keys(chainId),
      identity: options.identity,
    });
    this.#signed = new SignedHashes({ link: this.#link, keys: (chainId) => this.#keys(chainId), log });
    this.#messages = createFundingMessages({
      link: this.#link,
      keyPrefix: this.#prefix,
      imposedNow: () => this.#imposedNow(),
    });
    this.#fullness = new UsageFullness(metrics);
  }

  opened(): Promise<void> {
    return this.#link.opened();
  }

  async reserve(request: ReserveRequest): Promise<ReserveResult> {
    this.#begin();
    try {
      const { call, reply } = await this.#decide(request, true);
      const result = understood(readVerdict(request, call, reply));
      this.#noteFullness(request, result, reply);
      return result;
    } finally {
      this.#end();
    }
  }

  async peek(request: ReserveRequest): Promise<PeekResult> {
    const { call, reply } = await this.#decide(request, false);
    return readPeek(request, call, understood(readVerdict(request, call, listOf(reply[0]))), reply);
  }

  noteSigned(key: ReservationKey, userOpHash: Hex): void {
    if (!this.#stopped) this.#signed.add(key, userOpHash);
  }

  async reservations(chainId: number, query?: ReservationQuery): Promise<readonly Reservation[]> {
    await this.#signed.flush();
    await this.#assertEpoch(chainId);
    return listReservations(this.#link, this.#keys(chainId), chainId, query);
  }

  async liveCount(chainId: number): Promise<number> {
    await this.#assertEpoch(chainId);
    return Number(await this.#link.read('zcard', [this.#keys(chainId).expiries]));
  }

  async cursor(chainId: number): Promise<Cursor | undefined> {
    const [cursor] = await this.#readChecked(chainId, [this.#keys(chainId).cursor]);
    return parseCursor(textOf(cursor) ?? '');
  }

  async advance(step: FollowerStep): Promise<boolean> {
    return this.#withEpoch(step.chainId, (epoch) =>
      advance(this.#link, this.#keys(step.chainId), {
        step,
        epoch: epoch.text,
        imposedNow: this.#imposedNow(),
        cursorText,
        sha1: (text) => createHash('sha1').update(text).digest('hex'),
      }),
    );
  }

  async addBalance(chainId: number, account: AccountBalance): Promise<void> {
    const { balance, readAt } = account;
    if (balance === undefined || readAt === undefined) return;
    const chain = this.#keys(chainId);
    const name = accountName(account);
    await this.#withEpoch(chainId, async (epoch) => {
      const keys = [chain.epoch, `${chain.prefix}${kinds.balance}${name}`, chain.accounts];
      const args = [this.#imposedNow(), epoch.text, name, `${balance}:${readAt}`];
      const reply = await this.#link.run(addBalanceScript, keys, args, true);
      return Number(listOf(reply)[0]) === replies.epochLost ? undefined : true;
    });
  }

  async accounts(chainId: number): Promise<readonly AccountBalance[]> {
    await this.#assertEpoch(chainId);
    const chain = this.#keys(chainId);
    const members = textsOf(await this.#link.read('smembers', [chain.accounts]));
    const names = members.filter((name) => name !== undefined).toSorted();
    if (names.length === 0) return [];
    const keys = names.flatMap((name) => [
      `${chain.prefix}${kinds.balance}${name}`,
      `${chain.prefix}${kinds.promised}${name}`,
    ]);
    const values = listOf(await this.#link.read('mget', keys));
    return names.map((name, i) => balanceOf(parseAccountName(name), values[2 * i], values[2 * i + 1]));
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
    this.#stopped = true;
    await this.#signed.stop();
    if (this.#running > 0) await (this.#idle ??= Promise.withResolvers<void>()).promise;
    await this.#link.stop();
  }

  #noteFullness({ limits }: ReserveRequest, result: ReserveResult, reply: readonly unknown[]): void {
    if (result.outcome === 'reserved')
      for (let i = 0; i < limits.length; i++) this.#fullness.observe(limits[i]!, takenOf(reply, i));
    if (result.outcome === 'limit') this.#fullness.observe(limits[result.index]!, result.used);
  }

  /** The script's answer to a plan that was made for the right windows and the right epoch. */
  async #decide(
    request: ReserveRequest,
    isReal: boolean,
  ): Promise<{ readonly call: ReserveCall; readonly reply: readonly unknown[] }> {
    const { chainId } = request.key;
    const keys = this.#keys(chainId);
    let epoch = this.#epochs.known(chainId) ?? (await this.#epochs.of(chainId));
    const expiryMs = request.validUntil * 1000 - this.#now();
    if (isReal && expiryMs > epoch.longestExpiryMs) epoch = await this.#epochs.raise(chainId, expiryMs);
    for (let plan = 1; plan <= mostPlans; plan++) {
      const context = {
        keys,
        epoch: epoch.text,
        since: epoch.since,
        now: this.#now(),
        imposedNow: this.#imposedNow(),
      };
      const call = reserveCall(request, context, isReal);
      const reply = listOf(await this.#link.run(reserveScript, call.keys, call.args, isReal));
      const [code, now] = isReal ? reply : listOf(reply[0]);
      // Windows that are planned by a time that is none would be checked against nothing.
      this.#ahead = understood(typeof now === 'number' ? now : undefined) - performance.now();
      if (code === replies.clockBack)
        throw new DomainError('UNAVAILABLE', 'the clock of the usage store was set back', {
          reason: 'USAGE_STORE_CLOCK',
          retryAfterSeconds: 60,
        });
      if (code === replies.epochLost) epoch = await this.#epochs.mismatch(chainId, epoch);
      else if (code !== replies.turned) return { call, reply };
    }
    throw new DomainError('UNAVAILABLE', 'the clock of the usage store is not steady', {
      reason: 'USAGE_STORE_CLOCK',
      retryAfterSeconds: 1,
    });
  }

  /** Runs a step that answers undefined when it has found another epoch. */
  async #withEpoch<T>(chainId: number, step: (epoch: KnownEpoch) => Promise<T | undefined>): Promise<T> {
    this.#begin();
    try {
      const epoch = await this.#epochs.of(chainId);
      const done = await step(epoch);
      return done ?? understood(await step(await this.#epochs.mismatch(chainId, epoch)));
    } finally {
      this.#end();
    }
  }

  async #assertEpoch(chainId: number): Promise<void> {
    await this.#readChecked(chainId, []);
  }

  /** Values of keys of a chain, read together with its epoch. */
  async #readChecked(chainId: number, keys: readonly string[]): Promise<readonly unknown[]> {
    return this.#withEpoch(chainId, async ({ text }) => {
      const [epoch, ...values] = listOf(await this.#link.read('mget', [this.#keys(chainId).epoch, ...keys]));
      return epoch === text ? values : undefined;
    });
  }

  /** Counts what is under way: a stop waits for it. */
  #begin(): void {
    this.#running += 1;
  }

  #end(): void {
    this.#running -= 1;
    if (this.#running === 0) this.#idle?.resolve();
  }

  #keys(chainId: number): ChainKeys {
    const known = this.#chains.get(chainId);
    if (known !== undefined) return known;
    const keys = chainKeys(this.#prefix, chainId);
    this.#chains.set(chainId, keys);
    return keys;
  }

  #imposedNow(): EpochMs | 0 {
    return this.#clock?.now() ?? 0;
  }

  #now(): EpochMs {
    return this.#clock?.now() ?? (Math.floor(performance.now() + this.#ahead) as EpochMs);
  }
}

/** An answer that was read as far as it can be understood. */
function understood<T>(value: T | undefined): T {
  if (value !== undefined) return value;
  throw new DomainError('UNAVAILABLE', 'the usage store gave an answer that is not known', {
    reason: 'USAGE_STORE_DOWN',
    retryAfterSeconds: 1,
  });
}
