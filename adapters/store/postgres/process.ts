import pg from 'pg';
import type { Ambient } from '../../../core/ambient.js';
import { DomainError } from '../../../core/errors.js';
import type { Logger } from '../../../core/log.js';
import type { Later } from '../../../core/pending.js';
import { graceMs } from '../../../core/usage/entries.js';
import type { Clock, EpochMs } from '../../../core/units/time.js';
import { clientConfig, createClientClass, isBroken, type ClientOptions } from '../../postgres/client.js';
import { createOutageLog, type OutageLog } from '../../log/outage-log.js';
import { openPipeline, findSqlState, type Pipeline, type Statement } from '../../postgres/pipeline.js';
import type { ChainEpoch } from '../kept-epochs.js';
import type { UsageEpochs } from '../usage-epochs.js';
import { assertSafe, hasMoved, checkSafety, toServer, countTurns, waitedForStandby } from './server-facts.js';
import { begin, lockChain, readSafety, readServer } from './statements.js';
import { turnSettings, usualTimings, type StoreTimings } from './timings.js';
import { failureCause, unavailable } from './turn-errors.js';
import type { Expected } from './turn-reading.js';
import type { Row } from './turn-rows.js';
import { SeenEpochs, type WriterRow } from './writers.js';

type PostgresProcessOptions = Pick<Ambient, 'log'> & {
  readonly client: ClientOptions;
  readonly timings?: Partial<StoreTimings>;
  /** Replaces the time of the server: for tests. */
  readonly clock?: Clock;
  readonly epochs: () => UsageEpochs;
  /** Throws UNAVAILABLE while the tables are not up to date. */
  readonly assertOpen: () => void;
  readonly onTablesGone: (error: unknown) => void;
  readonly onCommit: (outcome: 'ok' | 'failed') => void;
};

const readers = 2;

/** What turns and questions of one process share: its connections, what it has seen of the data, and the time. */
export class PostgresProcess {
  readonly seen = new SeenEpochs();
  readonly timings: StoreTimings;
  readonly #pool: pg.Pool;
  readonly #options: PostgresProcessOptions;
  readonly #log: Logger;
  readonly #failures: OutageLog;
  readonly #lastTurn = new Map<number, number>();
  #isStopped = false;
  /** Add this to the monotonic time of this process to get the time of the server. */
  #ahead = Date.now() - performance.now();

  constructor(options: PostgresProcessOptions) {
    this.#options = options;
    this.timings = { ...usualTimings, ...options.timings };
    this.#log = options.log;
    this.#failures = createOutageLog({
      log: options.log,
      clock: { now: () => this.now() },
      messages: {
        begins: 'a turn of the usage store failed',
        goesOn: 'turns of the usage store still fail',
        ends: 'turns of the usage store pass again',
      },
    });
    this.#pool = new pg.Pool({
      ...clientConfig(options.client),
      Client: createClientClass(options.client),
      max: readers,
      connectionTimeoutMillis: this.timings.connectMs,
      idleTimeoutMillis: 60_000,
      allowExitOnIdle: true,
      maxLifetimeSeconds: 1_800,
      options: '-c synchronous_commit=on',
      statement_timeout: this.timings.answerMs,
      query_timeout: 2 * this.timings.answerMs,
      types: {
        getTypeParser: (oid, format) =>
          Number(oid) === 20 ? Number : pg.types.getTypeParser(oid, format as 'text'),
      },
    });
    this.#pool.on('error', () => {});
    this.#pool.on('connect', (client) => client.on('error', () => {}));
  }

  now(): EpochMs {
    return this.#options.clock?.now() ?? (Math.floor(performance.now() + this.#ahead) as EpochMs);
  }

  /** A change while no turn of the chain runs. It may be made twice. */
  async alone(chainId: number, text: string, values: readonly unknown[]): Promise<void> {
    const lock = lockChain(chainId, true);
    await this.reading(async (client) => {
      await client.query('BEGIN');
      await client.query(lock.text, [...(lock.values ?? [])]);
      await client.query(text, [...values]);
      await client.query('COMMIT');
    });
  }

  /** Statements of one transaction that nobody's promise depends on: their commit waits for no disk. They may be carried out twice. */
  async write(statements: readonly Statement[]): Promise<void> {
    await this.reading(async (client) => {
      await client.query('BEGIN; SET LOCAL synchronous_commit = off');
      for (const { name, text, values = [] } of statements)
        await client.query({ name, text, values: [...values] });
      await client.query('COMMIT');
    });
  }

  /** A statement that may be carried out twice. */
  async query(text: string, values: readonly unknown[] = []): Promise<readonly Row[]> {
    return this.reading(
      async (client) => (await client.query<Record<string, unknown>>(text, [...values])).rows,
    );
  }

  /** A statement whose answer would be another one the second time: it is carried out once at most. */
  async once(text: string, values: readonly unknown[]): Promise<readonly Row[]> {
    return this.reading(async (client) => {
      // A connection that broke while it was idle fails here, where another attempt is safe.
      await client.query('BEGIN');
      try {
        const { rows } = await client.query<Record<string, unknown>>(text, [...values]);
        await client.query('COMMIT');
        return rows;
      } catch (error) {
        throw unavailable(error);
      }
    });
  }

  /**
   * Notes how far all writers have come, so that a process without requests sees it too when one ends. Throws UNAVAILABLE when writes are
   * missing.
   */
  async watch(chainId: number): Promise<void> {
    await this.trustedRows(chainId, 'SELECT 1', []);
  }

  /** From now on everything throws UNAVAILABLE. */
  beginStop(): void {
    this.#isStopped = true;
  }

  end(): Promise<void> {
    return this.#pool.end();
  }

  assertUsable(): void {
    if (this.#isStopped)
      throw new DomainError('UNAVAILABLE', 'the usage store is stopped', { reason: 'USAGE_STORE_DOWN' });
  }

  async connect(): Promise<Pipeline> {
    this.#options.assertOpen();
    const client = await openPipeline(this.#options.client, {
      settings: turnSettings(this.timings),
      connectTimeoutMs: this.timings.connectMs,
    });
    try {
      const [safety] = (await client.trip([readSafety], this.timings.answerMs)).answers;
      assertSafe(checkSafety(safety?.rows ?? []));
      return client;
    } catch (error) {
      client.destroy();
      throw error;
    }
  }

  /** The epoch that the chain must have. Throws UNAVAILABLE. */
  epochOf(chainId: number): Later<ChainEpoch> {
    return this.#options.epochs().known(chainId) ?? this.#options.epochs().of(chainId);
  }

  /** The chain has another epoch. Resolves when it is established again, and throws UNAVAILABLE while it is lost. */
  async mismatch(chainId: number): Promise<void> {
    const epochs = this.#options.epochs();
    const known = epochs.known(chainId);
    if (known === undefined) return;
    this.seen.forget(known.text);
    await epochs.mismatch(chainId, known);
  }

  /** The data are older than data that this process has seen of that epoch. Throws UNAVAILABLE. */
  async behind(chainId: number, epoch: string): Promise<never> {
    const epochs = this.#options.epochs();
    const known = await epochs.of(chainId);
    if (known.text !== epoch) throw unavailable(new Error('another epoch has begun'));
    this.seen.forget(epoch);
    this.#log.error('the data in PostgreSQL are older than data that this process has seen', { chainId });
    return epochs.behind(chainId, known);
  }

  /** The server, or its timeline, is another. Resolves when that is written down. */
  async moved(): Promise<void> {
    const isIntact = this.seen.expectation();
    let isLost = false;
    await this.reading(async (client) => {
      await client.query('BEGIN');
      await client.query('SELECT id FROM usage.database FOR UPDATE');
      const server = toServer((await client.query<Row>(readServer.text)).rows);
      const { stored, now, writers } = server;
      const isCertain = stored.system === now.system && isIntact(writers) && waitedForStandby(server);
      const isLoss = hasMoved(server) && !isCertain;
      // Also when the commit was made and its answer lost.
      isLost ||= isLoss;
      if (isLoss)
        await client.query(
          `UPDATE usage.chain SET epoch = gen_random_uuid() || ':' || $1 WHERE epoch <> ''`,
          [this.now()],
        );
      await client.query('UPDATE usage.database SET system_identifier = $1, timeline = $2', [
        now.system,
        now.timeline,
      ]);
      await client.query('COMMIT');
    });
    if (isLost)
      this.#log.error(
        'the database was promoted or exchanged, and nothing shows that it has every acknowledged write',
        {},
      );
    await this.#options.epochs().interrupted();
  }

  /** The time of a turn, by the server's clock and the latest time that was given out. */
  timeOf(clock: EpochMs, latest: number): EpochMs {
    const imposed = this.#options.clock?.now();
    if (imposed !== undefined) return imposed;
    this.#ahead = clock - performance.now();
    return Math.max(clock, latest) as EpochMs;
  }

  /** Throws UNAVAILABLE when the server's clock was set back: windows and promises would last too long. */
  assertClock(clock: EpochMs, latest: number): void {
    if (this.#options.clock === undefined && clock < latest - graceMs)
      throw new DomainError('UNAVAILABLE', 'the clock of the usage store was set back', {
        reason: 'USAGE_STORE_CLOCK',
        retryAfterSeconds: 60,
      });
  }

  /** The number of the last turn of a chain that this process knows. */
  lastTurn(chainId: number): number {
    return this.#lastTurn.get(chainId) ?? 0;
  }

  acknowledged(chainId: number, sequence: number, turn: number): void {
    this.#lastTurn.set(chainId, Math.max(turn, this.lastTurn(chainId)));
    if (sequence === 0) return;
    this.#options.onCommit('ok');
    this.#options.epochs().seen(chainId, sequence);
  }

  failed(error: unknown): void {
    this.#options.onCommit('failed');
    this.#failures.failed(failureCause(error), { error });
    this.#noteTablesGone(error);
  }

  /** What must be in data that are read from now on. */
  async expected(chainId: number): Promise<Expected & { readonly since: number }> {
    const { text, since, sequence } = await this.epochOf(chainId);
    return { text, since, sequence, isIntact: this.seen.of(text).expectation() };
  }

  /** Rows of a statement, if the data are those of the epoch and no older than what this process has seen. */
  async trustedRows(chainId: number, text: string, values: readonly unknown[]): Promise<readonly Row[]> {
    const expected = await this.expected(chainId);
    const [rows, chain, server] = await this.reading(async (client) => {
      await client.query(begin(true).text);
      const all: Row[][] = [];
      for (const [one, given] of [
        [text, values],
        ['SELECT * FROM usage.chain WHERE chain_id = $1', [chainId]],
        [readServer.text, []],
      ] as const)
        all.push((await client.query<Record<string, unknown>>(one, [...given])).rows);
      await client.query('COMMIT');
      return all;
    });
    await this.trusted(chainId, expected, { chain, server: server ?? [] });
    return rows ?? [];
  }

  /** The chain's row. Throws UNAVAILABLE when what was read with it must not be trusted. */
  async trusted(
    chainId: number,
    expected: Expected & { readonly since: number },
    read: { readonly chain: readonly Row[] | undefined; readonly server: readonly Row[] },
  ): Promise<{ readonly row: Row; readonly writers: readonly WriterRow[] }> {
    const server = toServer(read.server);
    const [row = {}] = read.chain ?? [];
    if (hasMoved(server)) {
      await this.moved();
      throw unavailable(new Error('the server is another one'));
    }
    if (!expected.isIntact(server.writers)) return this.behind(chainId, expected.text);
    if (row['epoch'] !== expected.text) {
      await this.mismatch(chainId);
      throw unavailable(new Error('another epoch has begun'));
    }
    if (countTurns(server) < expected.sequence) return this.behind(chainId, expected.text);
    this.seen.of(expected.text).note(server.writers);
    return { row, writers: server.writers };
  }

  /**
   * Works with a connection that no turn uses, and again with another one when that breaks: one that broke while it was idle may be
   * noticed only when it is used. Work must be right when it is done twice. Throws UNAVAILABLE.
   */
  async reading<T>(work: (client: pg.PoolClient) => Promise<T>): Promise<T> {
    const began = performance.now();
    for (let broken = 0; ; broken++) {
      this.assertUsable();
      this.#options.assertOpen();
      let client: pg.PoolClient | undefined;
      let isDone = false;
      try {
        client = await this.#pool.connect();
        const result = await work(client);
        isDone = true;
        return result;
      } catch (error) {
        // After as many as the pool has, the next one is new.
        const mayGoOn = broken < readers && performance.now() - began < this.timings.patienceMs;
        if (client !== undefined && mayGoOn && isBroken(error)) continue;
        this.#noteTablesGone(error);
        throw error instanceof DomainError ? error : unavailable(error);
      } finally {
        client?.release(!isDone);
      }
    }
  }

  #noteTablesGone(error: unknown): void {
    // Undefined table, and undefined schema.
    if (['42P01', '3F000'].includes(findSqlState(error) ?? '')) this.#options.onTablesGone(error);
  }
}
