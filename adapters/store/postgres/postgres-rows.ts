import { Pending } from '../../../core/pending.js';
import type { RowStore, Wanted } from '../../../core/usage/row-store.js';
import type { ChainRow } from '../../../core/usage/rows.js';
import { toAccountBalance } from '../../../core/usage/accounts.js';
import { operationKey } from '../../../core/usage/reservations.js';
import { joinParts, stepsTo } from '../../../core/usage/taken-step.js';
import { Turn } from '../../../core/usage/turn.js';
import type { EpochMs } from '../../../core/units/time.js';
import { parseOpenStep, parseStep } from '../step-text.js';
import { parseCounterRow, wantedRows } from './names.js';
import type { PostgresProcess } from './process.js';
import { Slot } from './slot.js';
import { begin, readRows, rollback } from './statements.js';
import { TurnQueue } from './turn-queue.js';
import { toAccountRow, toChainRow, toKey, toReservation, readText, TurnRows } from './turn-rows.js';

/** Connections that write. Chains are dealt among them. */
const slotCount = 2;

/** Rows in PostgreSQL, for any number of processes. */
export class PostgresRows implements RowStore {
  readonly #process: PostgresProcess;
  readonly #slots: readonly Slot[];
  readonly #queues: readonly TurnQueue[];
  #stopping: Promise<void> | undefined;

  constructor(process: PostgresProcess) {
    this.#process = process;
    this.#slots = Array.from({ length: slotCount }, () => new Slot(process));
    const { queueMs } = process.timings;
    this.#queues = this.#slots.map((slot) => new TurnQueue((...turn) => slot.run(...turn), queueMs));
  }

  now(): EpochMs {
    return this.#process.now();
  }

  turn<T>(
    chainId: number,
    wanted: () => Wanted,
    decide: (turn: Turn, now: EpochMs) => T,
    promisesNothing?: (result: T) => boolean,
  ): PromiseLike<T> {
    const answer = new Pending<T>();
    try {
      this.#process.assertUsable();
      const call = { wanted: wanted(), decide, promisesNothing, answer };
      this.#queues[chainId % slotCount]!.add(chainId, call);
    } catch (error) {
      answer.reject(error);
    }
    return answer;
  }

  async look<T>(chainId: number, wanted: () => Wanted, read: (turn: Turn, now: EpochMs) => T): Promise<T> {
    const expected = await this.#process.expected(chainId);
    const names = wantedRows([wanted()]);
    const lastTurn = this.#process.lastTurn(chainId);
    const answers = await this.#process.reading(async (client) => {
      const all = [];
      for (const { text, values = [] } of [begin(true), ...readRows(chainId, names), rollback])
        all.push((await client.query<Record<string, unknown>>(text, [...values])).rows);
      return all;
    });
    const [, chain, reservations = [], counters = [], accounts = [], fences = [], server = []] = answers;
    const { row, writers } = await this.#process.trusted(chainId, expected, { chain, server });
    // Before the next turn, at the last place of those that it has seen.
    const sequence = Math.max(lastTurn, ...writers.map(({ turn }) => turn));
    const at = { chain: toChainRow(row, expected.since), sequence, place: Number.MAX_SAFE_INTEGER };
    const rows = new TurnRows(chainId, names, { reservations, counters, accounts, fences }, at);
    return read(new Turn(chainId, rows), this.now());
  }

  async chain(chainId: number): Promise<ChainRow> {
    const { since } = await this.#process.epochOf(chainId);
    const [row] = await this.#process.trustedRows(chainId, 'SELECT * FROM usage.chain WHERE chain_id = $1', [
      chainId,
    ]);
    return toChainRow(row ?? {}, since);
  }

  async reservations(
    ...[chainId, query]: Parameters<RowStore['reservations']>
  ): ReturnType<RowStore['reservations']> {
    const all = 'SELECT * FROM usage.reservation WHERE chain_id = $1';
    const rows =
      query === undefined
        ? await this.#process.trustedRows(chainId, all, [chainId])
        : await this.#process.trustedRows(
            chainId,
            `${all} AND operation = ANY($2::text[])
             UNION SELECT * FROM (${all} AND valid_until < $3 ORDER BY valid_until LIMIT $4) AS expired ORDER BY valid_until`,
            [chainId, query.operations.map(operationKey), query.expiredBefore, query.limit],
          );
    return rows.map((row) => toReservation(chainId, row));
  }

  async liveCount(chainId: number): Promise<number> {
    const [row] = await this.#process.trustedRows(
      chainId,
      'SELECT count(*) AS live FROM usage.reservation WHERE chain_id = $1',
      [chainId],
    );
    return Number(row?.['live']);
  }

  async takenSteps(chainId: number): ReturnType<RowStore['takenSteps']> {
    const { cursor } = await this.chain(chainId);
    const rows = await this.#process.trustedRows(
      chainId,
      'SELECT number, step FROM usage.step WHERE chain_id = $1 ORDER BY number, part',
      [chainId],
    );
    const parts = rows.map((row) => ({
      number: Number(row['number']),
      step: parseStep(readText(row, 'step')),
    }));
    return stepsTo(cursor, joinParts(parts));
  }

  async openStep(chainId: number): ReturnType<RowStore['openStep']> {
    const [row] = await this.#process.trustedRows(
      chainId,
      'SELECT step, open_sequence, open_done FROM usage.chain JOIN usage.open_step USING (chain_id) WHERE chain_id = $1',
      [chainId],
    );
    if (row === undefined || row['open_done'] === null) return undefined;
    const step = parseOpenStep(readText(row, 'step'));
    return { step, sequence: Number(row['open_sequence']), done: Number(row['open_done']) };
  }

  async accounts(chainId: number): ReturnType<RowStore['accounts']> {
    const rows = await this.#process.trustedRows(
      chainId,
      'SELECT * FROM usage.account WHERE chain_id = $1 ORDER BY name',
      [chainId],
    );
    return rows.map(toAccountRow).map((account) => toAccountBalance(account, account));
  }

  async suspended(chainId: number): Promise<readonly string[]> {
    const rows = await this.#process.trustedRows(
      chainId,
      'SELECT id FROM usage.fence WHERE chain_id = $1 AND is_suspended ORDER BY id',
      [chainId],
    );
    return rows.map((row) => readText(row, 'id'));
  }

  async dueCommits(
    ...[chainId, at, limit]: Parameters<RowStore['dueCommits']>
  ): ReturnType<RowStore['dueCommits']> {
    const rows = await this.#process.trustedRows(
      chainId,
      'SELECT * FROM usage.reservation WHERE chain_id = $1 AND commit_until <= $2 ORDER BY commit_until LIMIT $3',
      [chainId, at, limit],
    );
    return rows.map((row) => toKey(chainId, row));
  }

  async endedCounters(
    ...[chainId, before, limit]: Parameters<RowStore['endedCounters']>
  ): ReturnType<RowStore['endedCounters']> {
    const rows = await this.#process.trustedRows(
      chainId,
      'SELECT name FROM usage.counter WHERE chain_id = $1 AND used > 0 AND until < $2 AND holders = 0 LIMIT $3',
      [chainId, before, limit],
    );
    return rows.map((row) => parseCounterRow(readText(row, 'name')));
  }

  async forgetFences(chainId: number, before: EpochMs): Promise<void> {
    await this.#process.alone(
      chainId,
      'DELETE FROM usage.fence WHERE chain_id = $1 AND NOT is_suspended AND seen_at < $2',
      [chainId, before],
    );
  }

  /** Resolves when no call waits. */
  async drain(): Promise<void> {
    await Promise.all(this.#queues.map((queue) => queue.drained()));
  }

  stop(): Promise<void> {
    return (this.#stopping ??= this.#stop());
  }

  async #stop(): Promise<void> {
    this.#process.beginStop();
    await this.drain();
    await Promise.all(this.#slots.map((slot) => slot.stop()));
    await this.#process.end();
  }
}
