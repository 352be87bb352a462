import pg from 'pg';
import type { Ambient } from '../../../core/ambient.js';
import { DomainError } from '../../../core/errors.js';
import type { Logger } from '../../../core/log.js';
import type { RowStore, Wanted } from '../../../core/usage/row-store.js';
import type { ChainRow } from '../../../core/usage/rows.js';
import { balanceOf } from '../../../core/usage/accounts.js';
import { operationOf } from '../../../core/usage/reservations.js';
import { joinParts, stepsTo } from '../../../core/usage/taken-step.js';
import { graceMs, Turn } from '../../../core/usage/turn.js';
import type { Clock, EpochMs } from '../../../core/units/time.js';
import { clientConfig, clientOf, type ClientOptions } from '../../postgres/client.js';
import { openPipeline, sqlStateOf, type Pipeline, type Statement } from '../../postgres/pipeline.js';
import { parseOpenStep, parseStep } from '../step-text.js';
import type { UsageEpochs } from '../usage-epochs.js';
import { parseCounterRow, wantedRows } from './names.js';
import { assertSafe, hasMoved, safetyOf, serverOf, totalOf, waitedForStandby } from './server-facts.js';
import { Slot, unavailable, type Process } from './slot.js';
import type { Call, Expected } from './turn-reading.js';
import { TurnQueue } from './turn-queue.js';
import { begin, lockChain, readRows, readSafety, readServer, rollback } from './statements.js';
import { accountOf, chainRowOf, keyOf, reservationOf, textOf, TurnRows, type Row } from './turn-rows.js';
import { SeenEpochs, type WriterRow } from './writers.js';

export type PostgresRowsOptions = Pick<Ambient, 'log'> & {
  readonly client: ClientOptions;
  /** Replaces the time of the server: for tests. */
  readonly clock?: Clock;
  readonly epochs: () => UsageEpochs;
  /** Throws UNAVAILABLE while the tables are not up to date. */
  readonly assertOpen: () => void;
  readonly onTablesGone: (error: unknown) => void;
  readonly onCommit: (outcome: 'ok' | 'failed') => void;
};

/** Connections that write. Chains are dealt among them. */
const slotCount = 2;
const readers = 2;
const connectTimeoutMs = 2_000;
const answerMs = 5_000;

/**
 * Ends what a stopped process holds. The server's limit for a lock is larger than its limit for a process that is idle inside a turn, so
 * that a stopped replica costs others about a second and fails none of their turns.
 */
const turnSettings = {
  synchronous_commit: 'on',
  idle_in_transaction_session_timeout: 1_000,
  lock_timeout: 2_000,
  statement_timeout: 3_000,
  // The planner would scan the dead rows of small tables.
  plan_cache_mode: 'force_generic_plan',
  jit: 'off',
  enable_seqscan: 'off',
  enable_hashjoin: 'off',
  enable_mergejoin: 'off',
};

/** Rows in PostgreSQL, for any number of processes. */
export class PostgresRows implements RowStore, Process {
  readonly seen = new SeenEpochs();
  readonly pool: pg.Pool;
  readonly #options: PostgresRowsOptions;
  readonly #log: Logger;
  readonly #slots: readonly Slot[];
  readonly #queues: readonly TurnQueue[];
  readonly #lastTurn = new Map<number, number>();
  #stopping: Promise<void> | undefined;
  /** Add this to the monotonic time of this process to get the time of the server. */
  #ahead = Date.now() - performance.now();

  constructor(options: PostgresRowsOptions) {
    this.#options = options;
    this.#log = options.log;
    this.#slots = Array.from({ length: slotCount }, () => new Slot(this));
    this.#queues = this.#slots.map((slot) => new TurnQueue((...turn) => slot.run(...turn)));
    this.pool = new pg.Pool({
      ...clientConfig(options.client),
      Client: clientOf(options.client),
      max: readers,
      connectionTimeoutMillis: connectTimeoutMs,
      idleTimeoutMillis: 60_000,
      allowExitOnIdle: true,
      maxLifetimeSeconds: 1_800,
      options: '-c synchronous_commit=on',
      statement_timeout: answerMs,
      query_timeout: 2 * answerMs,
      types: {
        getTypeParser: (oid, format) =>
          Number(oid) === 20 ? Number : pg.types.getTypeParser(oid, format as 'text'),
      },
    });
    this.pool.on('error', () => {});
    this.pool.on('connect', (client) => client.on('error', () => {}));
  }

  now(): EpochMs {
    return this.#options.clock?.now() ?? (Math.floor(performance.now() + this.#ahead) as EpochMs);
  }

  turn<T>(
    chainId: number,
    wanted: Wanted,
    decide: (turn: Turn, now: EpochMs) => T,
    promisesNothing?: (result: T) => boolean,
  ): Promise<T> {
    return new Promise<T>((resolve, reject) => {
      if (this.#stopping !== undefined) return reject(stopped());
      const call = {
        wanted,
        decide,
        promisesNothing: promisesNothing as Call['promisesNothing'],
        resolve: resolve as Call['resolve'],
        reject,
      };
      this.#queues[chainId % slotCount]!.add(chainId, call);
    });
  }

  async look<T>(chainId: number, wanted: Wanted, see: (turn: Turn, now: EpochMs) => T): Promise<T> {
    const expected = await this.#expected(chainId);
    const names = wantedRows([wanted]);
    const lastTurn = this.#lastTurn.get(chainId) ?? 0;
    const answers = await this.#reading(async (client) => {
      const all = [];
      for (const { text, values = [] } of [begin(true), ...readRows(chainId, names), rollback])
        all.push((await client.query<Record<string, unknown>>(text, [...values])).rows);
      return all;
    });
    const [, chain, reservations = [], counters = [], accounts = [], fences = [], server = []] = answers;
    const { row, writers } = await this.#trusted(chainId, expected, { chain, server });
    // Before the next turn, at the last place of those that it has seen.
    const sequence = Math.max(lastTurn, ...writers.map(({ turn }) => turn));
    const at = { chain: chainRowOf(row, expected.since), sequence, place: Number.MAX_SAFE_INTEGER };
    const rows = new TurnRows(chainId, names, { reservations, counters, accounts, fences }, at);
    return see(new Turn(chainId, rows), this.now());
  }

  async chain(chainId: number): Promise<ChainRow> {
    const { since } = await this.epochOf(chainId);
    const [row] = await this.#trustedRows(chainId, 'SELECT * FROM usage.chain WHERE chain_id = $1', [
      chainId,
    ]);
    return chainRowOf(row ?? {}, since);
  }

  async reservations(
    ...[chainId, query]: Parameters<RowStore['reservations']>
  ): ReturnType<RowStore['reservations']> {
    const all = 'SELECT * FROM usage.reservation WHERE chain_id = $1';
    const rows =
      query === undefined
        ? await this.#trustedRows(chainId, all, [chainId])
        : await this.#trustedRows(
            chainId,
            `${all} AND operation = ANY($2::text[])
             UNION SELECT * FROM (${all} AND valid_until < $3 ORDER BY valid_until LIMIT $4) AS expired ORDER BY valid_until`,
            [chainId, query.operations.map(operationOf), query.expiredBefore, query.limit],
          );
    return rows.map((row) => reservationOf(chainId, row));
  }

  async liveCount(chainId: number): Promise<number> {
    const [row] = await this.#trustedRows(
      chainId,
      'SELECT count(*) AS live FROM usage.reservation WHERE chain_id = $1',
      [chainId],
    );
    return Number(row?.['live']);
  }

  async takenSteps(chainId: number): ReturnType<RowStore['takenSteps']> {
    const { cursor } = await this.chain(chainId);
    const rows = await this.#trustedRows(
      chainId,
      'SELECT number, step FROM usage.step WHERE chain_id = $1 ORDER BY number, part',
      [chainId],
    );
    const parts = rows.map((row) => ({
      number: Number(row['number']),
      step: parseStep(textOf(row, 'step')),
    }));
    return stepsTo(cursor, joinParts(parts));
  }

  async openStep(chainId: number): ReturnType<RowStore['openStep']> {
    const [row] = await this.#trustedRows(
      chainId,
      'SELECT step, open_sequence, open_done FROM usage.chain JOIN usage.open_step USING (chain_id) WHERE chain_id = $1',
      [chainId],
    );
    if (row === undefined || row['open_done'] === null) return undefined;
    const step = parseOpenStep(textOf(row, 'step'));
    return { step, sequence: Number(row['open_sequence']), done: Number(row['open_done']) };
  }

  async accounts(chainId: number): ReturnType<RowStore['accounts']> {
    const rows = await this.#trustedRows(
      chainId,
      'SELECT * FROM usage.account WHERE chain_id = $1 ORDER BY name',
      [chainId],
    );
    return rows.map(accountOf).map((account) => balanceOf(account, account));
  }

  async suspended(chainId: number): Promise<readonly string[]> {
    const rows = await this.#trustedRows(
      chainId,
      'SELECT id FROM usage.fence WHERE chain_id = $1 AND is_suspended ORDER BY id',
      [chainId],
    );
    return rows.map((row) => textOf(row, 'id'));
  }

  async dueCommits(
    ...[chainId, at, limit]: Parameters<RowStore['dueCommits']>
  ): ReturnType<RowStore['dueCommits']> {
    const rows = await this.#trustedRows(
      chainId,
      'SELECT * FROM usage.reservation WHERE chain_id = $1 AND commit_until <= $2 ORDER BY commit_until LIMIT $3',
      [chainId, at, limit],
    );
    return rows.map((row) => keyOf(chainId, row));
  }

  async endedCounters(
    ...[chainId, before, limit]: Parameters<RowStore['endedCounters']>
  ): ReturnType<RowStore['endedCounters']> {
    const rows = await this.#trustedRows(
      chainId,
      'SELECT name FROM usage.counter WHERE chain_id = $1 AND used > 0 AND until < $2 AND holders = 0 LIMIT $3',
      [chainId, before, limit],
    );
    return rows.map((row) => parseCounterRow(textOf(row, 'name')));
  }

  async forgetFences(chainId: number, before: EpochMs): Promise<void> {
    await this.alone(
      chainId,
      'DELETE FROM usage.fence WHERE chain_id = $1 AND NOT is_suspended AND seen_at < $2',
      [chainId, before],
    );
  }

  /** A change while no turn of the chain runs. */
  async alone(chainId: number, text: string, values: readonly unknown[]): Promise<void> {
    const lock = lockChain(chainId, true);
    await this.#reading(async (client) => {
      await client.query('BEGIN');
      await client.query(lock.text, [...(lock.values ?? [])]);
      await client.query(text, [...values]);
      await client.query('COMMIT');
    });
  }

  /** Statements of one transaction that nobody's promise depends on: their commit waits for no disk. */
  async write(statements: readonly Statement[]): Promise<void> {
    await this.#reading(async (client) => {
      await client.query('BEGIN; SET LOCAL synchronous_commit = off');
      for (const { name, text, values = [] } of statements)
        await client.query({ name, text, values: [...values] });
      await client.query('COMMIT');
    });
  }

  async query(text: string, values: readonly unknown[] = []): Promise<readonly Row[]> {
    return this.#reading(
      async (client) => (await client.query<Record<string, unknown>>(text, [...values])).rows,
    );
  }

  /**
   * Notes how far all writers have come, so that a process without requests sees it too when one ends. Throws UNAVAILABLE when writes are
   * missing.
   */
  async watch(chainId: number): Promise<void> {
    await this.#trustedRows(chainId, 'SELECT 1', []);
  }

  stop(): Promise<void> {
    return (this.#stopping ??= this.#stop());
  }

  async #stop(): Promise<void> {
    await Promise.all(this.#queues.map((queue) => queue.drained()));
    await Promise.all(this.#slots.map((slot) => slot.stop()));
    await this.pool.end();
  }

  assertUsable(): void {
    if (this.#stopping !== undefined) throw stopped();
  }

  // What slots need of the process.

  async connect(): Promise<Pipeline> {
    this.#options.assertOpen();
    const client = await openPipeline(this.#options.client, { settings: turnSettings, connectTimeoutMs });
    try {
      const [safety] = (await client.trip([readSafety], answerMs)).answers;
      assertSafe(safetyOf(safety?.rows ?? []));
      return client;
    } catch (error) {
      client.destroy();
      throw error;
    }
  }

  async epochOf(chainId: number) {
    const epochs = this.#options.epochs();
    return epochs.known(chainId) ?? (await epochs.of(chainId));
  }

  async mismatch(chainId: number): Promise<void> {
    const epochs = this.#options.epochs();
    const known = epochs.known(chainId);
    if (known === undefined) return;
    this.seen.forget(known.text);
    await epochs.mismatch(chainId, known);
  }

  async behind(chainId: number, epoch: string): Promise<never> {
    const epochs = this.#options.epochs();
    const known = await epochs.of(chainId);
    if (known.text !== epoch) throw unavailable(new Error('another epoch has begun'));
    this.seen.forget(epoch);
    this.#log.error('the data in PostgreSQL are older than data that this process has seen', { chainId });
    return epochs.behind(chainId, known);
  }

  async moved(): Promise<void> {
    const isIntact = this.seen.judge();
    const isLost = await this.#reading(async (client) => {
      await client.query('BEGIN');
      await client.query('SELECT id FROM usage.database FOR UPDATE');
      const server = serverOf((await client.query<Row>(readServer.text)).rows);
      const { stored, now, writers } = server;
      const isCertain = stored.system === now.system && isIntact(writers) && waitedForStandby(server);
      const isLoss = hasMoved(server) && !isCertain;
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
      return isLoss;
    });
    if (isLost)
      this.#log.error(
        'the database was promoted or exchanged, and nothing shows that it has every acknowledged write',
        {},
      );
    await this.#options.epochs().interrupted();
  }

  timeOf(clock: EpochMs, latest: number): EpochMs {
    const imposed = this.#options.clock?.now();
    if (imposed !== undefined) return imposed;
    this.#ahead = clock - performance.now();
    return Math.max(clock, latest) as EpochMs;
  }

  assertClock(clock: EpochMs, latest: number): void {
    if (this.#options.clock === undefined && clock < latest - graceMs)
      throw new DomainError('UNAVAILABLE', 'the clock of the usage store was set back', {
        reason: 'USAGE_STORE_CLOCK',
        retryAfterSeconds: 60,
      });
  }

  acknowledged(chainId: number, sequence: number, turn: number): void {
    this.#lastTurn.set(chainId, Math.max(turn, this.#lastTurn.get(chainId) ?? 0));
    if (sequence === 0) return;
    this.#options.onCommit('ok');
    this.#options.epochs().seen(chainId, sequence);
  }

  failed(error: unknown): void {
    this.#options.onCommit('failed');
    this.#log.warn('a turn of the usage store failed', { error });
    this.#noteTablesGone(error);
  }

  /** What must be in data that are read from now on. */
  async #expected(chainId: number): Promise<Expected & { readonly since: number }> {
    const { text, since, sequence } = await this.epochOf(chainId);
    return { text, since, sequence, isIntact: this.seen.of(text).judge() };
  }

  /** Rows of a statement, if the data are those of the epoch and no older than what this process has seen. */
  async #trustedRows(chainId: number, text: string, values: readonly unknown[]): Promise<readonly Row[]> {
    const expected = await this.#expected(chainId);
    const [rows, chain, server] = await this.#reading(async (client) => {
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
    await this.#trusted(chainId, expected, { chain, server: server ?? [] });
    return rows ?? [];
  }

  /** The chain's row. Throws UNAVAILABLE when what was read with it must not be trusted. */
  async #trusted(
    chainId: number,
    expected: Expected & { readonly since: number },
    read: { readonly chain: readonly Row[] | undefined; readonly server: readonly Row[] },
  ): Promise<{ readonly row: Row; readonly writers: readonly WriterRow[] }> {
    const server = serverOf(read.server);
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
    if (totalOf(server) < expected.sequence) return this.behind(chainId, expected.text);
    this.seen.of(expected.text).note(server.writers);
    return { row, writers: server.writers };
  }

  #noteTablesGone(error: unknown): void {
    // Undefined table, and undefined schema.
    if (['42P01', '3F000'].includes(sqlStateOf(error) ?? '')) this.#options.onTablesGone(error);
  }

  async #reading<T>(work: (client: pg.PoolClient) => Promise<T>): Promise<T> {
    this.assertUsable();
    this.#options.assertOpen();
    let client: pg.PoolClient | undefined;
    let isDone = false;
    try {
      client = await this.pool.connect();
      const result = await work(client);
      isDone = true;
      return result;
    } catch (error) {
      this.#noteTablesGone(error);
      throw error instanceof DomainError ? error : unavailable(error);
    } finally {
      client?.release(!isDone);
    }
  }
}

function stopped(): DomainError {
  return new DomainError('UNAVAILABLE', 'the usage store is stopped', { reason: 'USAGE_STORE_DOWN' });
}
