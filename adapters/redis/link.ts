import { Cluster, Command, type Redis } from 'ioredis';
import { DomainError, messageOf } from '../../core/errors.js';
import type { Logger } from '../../core/log.js';
import type { Metrics } from '../../core/metrics.js';
import { createClient, refreshCredentials, type ClientOptions } from './client.js';
import { checkServer, type RedisDurability, type RedisMemory } from './durability.js';
import { down, full, unconfirmed } from './link-errors.js';
import { createLinkMeter, type LinkMeter } from './link-meter.js';
import { listOf, textOf, textsOf } from './reply.js';
import { scriptCommand } from './script-command.js';
import type { Script } from '../usage/redis/script.js';

export type LinkOptions = Omit<ClientOptions, 'stopped'> & {
  readonly durability: RedisDurability;
  /** Replicas that must confirm a write before it counts, and how long they may take. 0: no replicas. */
  readonly acks: { readonly replicas: number; readonly timeoutMs: number };
  readonly log: Logger;
  readonly metrics: Metrics;
  /** Called when a connection has ended, or the servers are others than before: the next answer may come from other data. */
  readonly onInterrupted: () => void;
};

/** How often the settings of a connected server are checked again, also of a server that was refused. */
const recheckMs = 15_000;
const refusedRecheckMs = 1_000;
/** The wait before a client that has given up starts again. */
const revivalMs = 250;

type Argument = string | number;

/**
 * The connection to Redis. Everything fails closed: a call throws UNAVAILABLE when there is no connection to a server
 * that was found safe, after `timeoutMs`, on any error, and when too few replicas confirm. A failed call may still have
 * written; its writes may stay.
 */
export class RedisLink {
  readonly #options: LinkOptions;
  readonly #client: Redis | Cluster;
  readonly #meter: LinkMeter;
  readonly #firstSafe = Promise.withResolvers<void>();
  /** Undefined while the servers are known to be safe. */
  #problem: DomainError | undefined = down('the usage store is not connected yet');
  /** Of the smallest server in bytes; 0: no bound, or not known yet. */
  #maxmemory = 0;
  /** Counts connections: a confirmation only counts on the connection that sent the write. */
  #connection = 0;
  #recheck: NodeJS.Timeout | undefined;
  #revival: NodeJS.Timeout | undefined;
  #confirmation: Promise<void> | undefined;
  #isDownLogged = false;
  readonly #stopped = new AbortController();

  constructor(options: LinkOptions) {
    this.#options = options;
    this.#client = createClient({ ...options, stopped: this.#stopped.signal });
    this.#meter = createLinkMeter(options.metrics);
    this.#firstSafe.promise.catch(() => {});
    this.#watch();
    this.#client.connect().catch(() => {});
  }

  /** Resolves when a safe server answers; rejects when the link is stopped before. */
  opened(): Promise<void> {
    return this.#firstSafe.promise;
  }

  /** The present problem of the servers. */
  get problem(): DomainError | undefined {
    return this.#problem;
  }

  /** `maxmemory` of the smallest server in bytes; 0: no bound, or not known yet. */
  get maxmemory(): number {
    return this.#maxmemory;
  }

  /**
   * Runs a script in one round trip (two the first time a server sees it). With `isWrite` it resolves after the
   * required number of replicas have it.
   */
  async run(
    script: Script,
    keys: readonly string[],
    args: readonly Argument[],
    isWrite: boolean,
  ): Promise<unknown> {
    this.assertUsable();
    try {
      return await this.#send('evalsha', script.sha, keys, args, isWrite);
    } catch (error) {
      if (!(error instanceof Error) || !error.message.startsWith('NOSCRIPT')) throw this.#failure(error);
    }
    try {
      return await this.#send('eval', script.lua, keys, args, isWrite);
    } catch (error) {
      throw this.#failure(error);
    }
  }

  /** One command that only reads. */
  async read(name: string, args: readonly Argument[]): Promise<unknown> {
    this.assertUsable();
    try {
      return await this.#client.sendCommand(new Command(name, [...args], { replyEncoding: 'utf8' }));
    } catch (error) {
      throw this.#failure(error);
    }
  }

  /** Keys that begin with `prefix`, page by page; a key may occur twice. All servers are searched. */
  async *scan(prefix: string): AsyncGenerator<readonly string[]> {
    const pattern = `${prefix.replace(/[[\]*?\\]/g, '\\$&')}*`;
    for (const server of this.#servers()) {
      let cursor = '0';
      do {
        this.assertUsable();
        let reply: unknown;
        try {
          reply = await server.call('SCAN', cursor, 'MATCH', pattern, 'COUNT', '1000');
        } catch (error) {
          throw this.#failure(error);
        }
        const [next, keys] = listOf(reply);
        yield textsOf(keys).filter((key) => key !== undefined);
        cursor = textOf(next) ?? '0';
      } while (cursor !== '0');
    }
  }

  async ping(): Promise<void> {
    await this.read('ping', []);
  }

  async stop(): Promise<void> {
    if (this.#stopped.signal.aborted) return;
    this.#stopped.abort();
    clearTimeout(this.#recheck);
    clearTimeout(this.#revival);
    await this.#confirmation?.catch(() => {});
    this.#problem = down('the usage store is stopped');
    this.#firstSafe.reject(this.#problem);
    this.#meter.connected.set(0);
    // A TLS handshake that is cut off ends in an error that nobody listens to.
    if (['connecting', 'connect'].includes(this.#client.status)) await this.#next(['ready', 'close', 'end']);
    // Between two connections the client has nothing to close and does not report that it has ended.
    if (this.#client.status !== 'ready') return this.#client.disconnect();
    const ended = this.#next(['end']);
    this.#client.disconnect();
    await ended;
  }

  /** Resolves with the first of these events, or after the timeout of a call. */
  async #next(events: readonly string[]): Promise<void> {
    const seen = Promise.withResolvers<void>();
    const deadline = setTimeout(seen.resolve, this.#options.timeoutMs);
    for (const event of events) this.#client.once(event, seen.resolve);
    await seen.promise;
    clearTimeout(deadline);
  }

  assertUsable(): void {
    if (this.#problem === undefined) return;
    this.#meter.failures.down.inc();
    throw this.#problem;
  }

  #send(
    name: 'evalsha' | 'eval',
    source: string,
    keys: readonly string[],
    args: readonly Argument[],
    isWrite: boolean,
  ): Promise<unknown> {
    const { replicas } = this.#options.acks;
    const isConfirmed = isWrite && replicas > 0;
    if (isConfirmed && this.#client instanceof Cluster)
      return this.#sendConfirmed(this.#client, name, [source, keys.length, ...keys, ...args]);
    const answer = this.#answer(scriptCommand(name, source, keys, args));
    if (!isConfirmed || this.#client instanceof Cluster) return answer;
    const confirmation = (this.#confirmation ??= this.#confirm(this.#client));
    // The first failure decides; the other one must not become an unhandled rejection.
    return Promise.all([answer, confirmation]).then(([reply]) => reply);
  }

  async #answer(command: Command): Promise<unknown> {
    return this.#client.sendCommand(command);
  }

  /** One WAIT for everything that this turn of the event loop has sent, directly after it on the same connection. */
  async #confirm(client: Redis): Promise<void> {
    const connection = this.#connection;
    await new Promise(setImmediate);
    this.#confirmation = undefined;
    if (this.#connection !== connection) throw down('the connection to the usage store was lost');
    const { replicas, timeoutMs } = this.#options.acks;
    const confirmed = await client.wait(replicas, timeoutMs);
    if (confirmed < replicas) throw this.#unconfirmed(confirmed);
  }

  /** A pipeline goes to the node of its keys, and takes the WAIT with it, which has no keys. */
  async #sendConfirmed(client: Cluster, name: string, args: readonly Argument[]): Promise<unknown> {
    const { replicas, timeoutMs } = this.#options.acks;
    const pipeline = client.pipeline();
    pipeline.call(name, [...args]);
    pipeline.wait(replicas, timeoutMs);
    const results = (await pipeline.exec()) ?? [];
    const [[error, reply] = [down('no answer'), undefined], [waitError, confirmed] = [null, 0]] = results;
    if (error !== null) throw error;
    if (waitError !== null) throw waitError;
    if (Number(confirmed) < replicas) throw this.#unconfirmed(Number(confirmed));
    return reply;
  }

  #unconfirmed(confirmed: number): DomainError {
    this.#meter.failures.unconfirmed.inc();
    return unconfirmed(confirmed, this.#options.acks.replicas);
  }

  #failure(error: unknown): DomainError {
    if (error instanceof DomainError) return error;
    const message = messageOf(error);
    if (message.startsWith('OOM ')) {
      this.#meter.failures.full.inc();
      return full(message);
    }
    const isRefused = error instanceof Error && error.name === 'ReplyError';
    this.#meter.failures[isRefused ? 'refused' : 'down'].inc();
    // Errors of the client contain the command with its arguments, which may be a password.
    return down('the usage store does not answer', message);
  }

  #watch(): void {
    const client = this.#client;
    client.on('ready', () => void this.#check());
    client.on('error', (error: Error) => this.#lost(error));
    client.on('close', () => {
      this.#connection += 1;
      this.#lost(undefined);
      this.#refresh();
      this.#options.onInterrupted();
    });
    client.on('end', () => this.#revive());
    client.on('node error', () => this.#refresh());
    client.on('+node', () => {
      this.#options.onInterrupted();
      void this.#check();
    });
    client.on('-node', () => this.#options.onInterrupted());
  }

  /**
   * The client gives up for good when Sentinel reports a failover while it is being asked for the master: it mistakes
   * its own attempt for one that somebody has cancelled.
   */
  #revive(): void {
    if (this.#stopped.signal.aborted) return;
    this.#lost(undefined);
    clearTimeout(this.#revival);
    this.#revival = setTimeout(() => {
      if (this.#client.status === 'end') this.#client.connect().catch(() => {});
    }, revivalMs);
  }

  #refresh(): void {
    try {
      refreshCredentials(this.#client, this.#options.credentials);
    } catch (error) {
      this.#options.log.warn('credentials of the usage store cannot be read', { error });
    }
  }

  #lost(error: Error | undefined): void {
    if (this.#stopped.signal.aborted) return;
    // The close that follows an error says less than the error did.
    if (error !== undefined || this.#problem === undefined)
      this.#problem = down('the usage store is not connected', error?.message);
    this.#meter.connected.set(0);
    if (error === undefined || this.#isDownLogged) return;
    this.#isDownLogged = true;
    this.#options.log.error('usage store is not connected: nothing is signed', {
      cause: error.message,
    });
  }

  #servers(): readonly Redis[] {
    return this.#client instanceof Cluster ? this.#client.nodes('master') : [this.#client];
  }

  #noteMemory(servers: readonly RedisMemory[]): void {
    const [fullest] = servers.toSorted((a, b) => shareOf(b) - shareOf(a));
    this.#meter.memory.used.set(fullest?.used ?? 0);
    this.#meter.memory.maxmemory.set(fullest?.maxmemory ?? 0);
    const bounded = servers.map(({ maxmemory }) => maxmemory).filter((bytes) => bytes > 0);
    this.#maxmemory = bounded.length === 0 ? 0 : Math.min(...bounded);
  }

  /** Checks the settings of every master; nothing is sent until it has found them safe. */
  async #check(): Promise<void> {
    clearTimeout(this.#recheck);
    const connection = this.#connection;
    const { log, durability } = this.#options;
    // A Cluster announces its nodes before it is ready.
    if (this.#client.status !== 'ready') return;
    try {
      const checked = this.#servers().map((server) => checkServer(server, nameOf(server), durability));
      const memory = await Promise.all(checked);
      if (this.#stopped.signal.aborted || connection !== this.#connection) return;
      if (this.#problem !== undefined) log.info('usage store is connected');
      this.#noteMemory(memory);
      this.#problem = undefined;
      this.#isDownLogged = false;
      this.#meter.connected.set(1);
      this.#firstSafe.resolve();
    } catch (error) {
      if (this.#stopped.signal.aborted || connection !== this.#connection) return;
      const problem = this.#failure(error);
      if (problem.message !== this.#problem?.message)
        log.error('usage store is refused: nothing is signed', {
          cause: problem.message,
          reason: problem.details.reason,
        });
      this.#problem = problem;
      this.#meter.connected.set(0);
    }
    this.#recheck = setTimeout(
      () => void this.#check(),
      this.#problem === undefined ? recheckMs : refusedRecheckMs,
    );
    this.#recheck.unref();
  }
}

function shareOf({ used, maxmemory }: RedisMemory): number {
  return maxmemory === 0 ? 0 : used / maxmemory;
}

function nameOf({ options }: Redis): string {
  return `Redis at ${options.name ?? `${options.host}:${options.port}`}`;
}
