import { randomUUID } from 'node:crypto';
import { DomainError, isDomainError } from '../../../core/errors.js';
import { isLater } from '../../../core/pending.js';
import type { RowChanges } from '../../../core/usage/rows.js';
import { isSameCursor, Turn } from '../../../core/usage/turn.js';
import type { EpochMs } from '../../../core/units/time.js';
import { closing } from '../../postgres/client.js';
import { ConnectionLost, findSqlState, type Pipeline } from '../../postgres/pipeline.js';
import { answer, decideAll, isRefusal, type Decided } from '../calls.js';
import { needsOnly, wantedWithLocks, type WantedRows } from './names.js';
import type { PostgresProcess } from './process.js';
import {
  begin,
  commit,
  lockChain,
  lockWriter,
  nextTurn,
  readRows,
  readServer,
  rollback,
  serverNow,
  takeLocks,
  writeRows,
  writeWriter,
} from './statements.js';
import type { StoreTimings } from './timings.js';
import { toChainRow, TurnRows } from './turn-rows.js';
import { Again, passing, unavailable, valueErrors } from './turn-errors.js';
import type { SeenWriters } from './writers.js';
import { hasMoved, toServer, countTurns, type Server } from './server-facts.js';
import { changesSharedFence, readAnswers, type Call, type Expected, type Read } from './turn-reading.js';
import type { Join } from './turn-queue.js';

const noneJoins: Join = () => [];
const attempts = 4;

/**
 * One connection that writes, one turn at a time: two round trips, between which the core decides. While many calls come, a turn first
 * takes its locks, in one round trip more, and calls that came while it waited for them join it. Nothing that a turn promises is answered before its commit
 * is known: a commit in doubt counts as made only when a later commit of this writer was acknowledged.
 */
export class Slot {
  readonly #process: PostgresProcess;
  readonly #timings: StoreTimings;
  #client: Pipeline | undefined;
  #id = randomUUID();
  /** Of the last turn that is known to be committed; undefined while this writer has no row. */
  #sequence: number | undefined;
  #expectsMoreUntil = 0;

  constructor(process: PostgresProcess) {
    this.#process = process;
    this.#timings = process.timings;
  }

  /**
   * Resolves with the calls to answer, those that joined included. Refusals are answered before, while their turn commits. Never rejects.
   */
  async run(
    chainId: number,
    first: readonly Call[],
    isAlone: boolean,
    join: Join = noneJoins,
  ): Promise<readonly Decided[]> {
    const calls = [...first];
    const locks = new Set<string>();
    let alone = isAlone;
    const began = performance.now();
    for (let attempt = 1; ; attempt++)
      try {
        return await this.#turn(chainId, calls, { locks, isAlone: alone }, join);
      } catch (error) {
        const state = findSqlState(error);
        if (state !== undefined && valueErrors.test(state)) return this.#halves(chainId, calls, alone, error);
        if (error instanceof ConnectionLost) this.#drop();
        else if (state !== undefined && closing.test(state)) this.#drop();
        const isPassing =
          error instanceof Again ||
          error instanceof ConnectionLost ||
          (state !== undefined && (passing.has(state) || closing.test(state)));
        if (isPassing && attempt < attempts && performance.now() - began < this.#timings.patienceMs) {
          if (error instanceof Again) {
            for (const name of error.locks) locks.add(name);
            alone ||= error.isAlone;
          }
          continue;
        }
        this.#process.failed(error);
        return failed(calls, isDomainError(error) ? error : unavailable(error));
      }
  }

  /** Marks this writer as one that has ended, so that nobody misses it. */
  async stop(): Promise<void> {
    const client = this.#client;
    this.#client = undefined;
    if (client === undefined) return;
    try {
      await client.trip(
        [
          {
            name: 'retire',
            text: `UPDATE usage.writer SET retired_at = ${serverNow} WHERE id = $1`,
            values: [this.#id],
          },
        ],
        this.#timings.answerMs,
      );
      await client.end();
    } catch {
      // It is found by its age later.
      client.destroy();
    }
  }

  /** One bad text refuses one request. */
  async #halves(
    chainId: number,
    calls: readonly Call[],
    isAlone: boolean,
    cause: unknown,
  ): Promise<readonly Decided[]> {
    if (calls.length === 1) {
      this.#process.failed(cause);
      return failed(
        calls,
        new DomainError('INTERNAL', 'the usage store does not take a value of the request', { cause }),
      );
    }
    const middle = Math.ceil(calls.length / 2);
    // The good half does not wait for the search in the other one.
    (await this.run(chainId, calls.slice(0, middle), isAlone)).forEach(answer);
    return this.run(chainId, calls.slice(middle), isAlone);
  }

  async #turn(
    chainId: number,
    calls: Call[],
    { locks, isAlone }: { readonly locks: ReadonlySet<string>; readonly isAlone: boolean },
    join: Join,
  ): Promise<readonly Decided[]> {
    // Without a wait here, the first trip is sent before the callers of the previous turn are answered.
    const found = this.#process.epochOf(chainId);
    const epoch = isLater(found) ? await found : found;
    const client = this.#ready() ?? (await this.#connected());
    let wanted = wantedWithLocks(calls, locks);
    let isWritten = false;
    try {
      const locking = [
        begin(false),
        lockWriter(this.#id),
        lockChain(chainId, isAlone),
        takeLocks(chainId, wanted),
      ];
      // A call that comes alone would pay for the round trip, and finds its locks free.
      const isCrowded = !isAlone && performance.now() < this.#expectsMoreUntil;
      const locked = isCrowded ? (await client.trip(locking, this.#timings.answerMs)).answers : [];
      if (isCrowded) {
        calls.push(...join((call) => needsOnly(wanted.locks, call)));
        wanted = wantedWithLocks(calls, locks);
      }
      if (calls.length > 1) this.#expectsMoreUntil = performance.now() + this.#timings.crowdMs;
      // What has been acknowledged by now must be in what is read from now on.
      const seen = this.#process.seen.of(epoch.text);
      const expected = { isIntact: seen.expectation(), text: epoch.text, sequence: epoch.sequence };
      const reading = [...(isCrowded ? [] : locking), ...readRows(chainId, wanted), nextTurn];
      const { answers } = await client.trip(reading, this.#timings.answerMs);
      const read = readAnswers([...locked, ...answers]);
      await this.#assertCurrent(chainId, read, expected, wanted);
      const number = Number(read.turn['turn']);
      const latest = Math.max(0, ...read.server.writers.map(({ at }) => at));
      // Signing is stopped whatever the time is.
      if (!calls.every((call) => call.wanted.alone)) this.#process.assertClock(read.server.clock, latest);
      const now = this.#process.timeOf(read.server.clock, latest);
      const chain = toChainRow(read.chain, epoch.since);
      const rows = new TurnRows(chainId, wanted, read.rows, { chain, sequence: number, place: 0 });
      const turn = new Turn(chainId, rows);
      const decided: Decided[] = [];
      decideAll(calls, turn, now, decided);
      const changes = turn.changes();
      if (changes !== undefined && !isAlone && changesSharedFence(changes, rows))
        throw new Again('a fence changes', { isAlone: true });
      const { refused = [], promised = [] } = Object.groupBy(decided, (one) =>
        isRefusal(one) ? 'refused' : 'promised',
      );
      if (changes === undefined) {
        client.trip([rollback], this.#timings.answerMs).catch(() => this.#drop());
        this.#process.acknowledged(chainId, 0, number);
        return decided;
      }
      isWritten = true;
      const writing = this.#write(client, chainId, changes, {
        movesCursor:
          !isSameCursor(changes.chain.cursor, chain.cursor) || changes.chain.open?.done !== chain.open?.done,
        number,
        now,
        server: read.server,
        seen,
      });
      refused.forEach(answer);
      await writing;
      this.#process.acknowledged(chainId, countTurns(read.server) + 1, number);
      return promised;
    } catch (error) {
      // The transaction is open, or failed: either way nothing of it stays. What was lost with its connection is over, too.
      if (!isWritten && client.isOpen)
        client.trip([rollback], this.#timings.answerMs).catch(() => this.#drop());
      throw error;
    }
  }

  /** Throws when nothing may be decided over what was read. */
  async #assertCurrent(
    chainId: number,
    { server, ownSequence, chain, heldLocks, lateLocks }: Read,
    expected: Expected,
    wanted: WantedRows,
  ): Promise<void> {
    if (hasMoved(server)) {
      await this.#rolledBack();
      await this.#process.moved();
      throw new Again('the server is another one');
    }
    if (!expected.isIntact(server.writers)) return this.#process.behind(chainId, expected.text);
    if (chain['epoch'] !== expected.text) {
      await this.#rolledBack();
      await this.#process.mismatch(chainId);
      throw new Again('another epoch has begun');
    }
    if (countTurns(server) < expected.sequence) return this.#process.behind(chainId, expected.text);
    this.#process.seen.of(expected.text).note(server.writers);
    // Stopped for so long that its row was removed.
    if (ownSequence !== this.#sequence) {
      this.#abandon();
      throw new Again('this writer has no row any longer');
    }
    const late = lateLocks.filter((name) => !wanted.locks.has(name) && !heldLocks.has(name));
    if (late.length > 0) throw new Again('a reservation holds what was not locked', { locks: late });
  }

  async #write(
    client: Pipeline,
    chainId: number,
    changes: RowChanges,
    {
      movesCursor,
      number,
      now,
      server,
      seen,
    }: {
      readonly movesCursor: boolean;
      readonly number: number;
      readonly now: EpochMs;
      readonly server: Server;
      readonly seen: SeenWriters;
    },
  ): Promise<void> {
    const sequence = (this.#sequence ?? 0) + 1;
    const own = writeWriter(this.#id, { sequence, turn: number, at: now }, server.waitsForStandby);
    let isSure = false;
    try {
      const { answers, notices } = await client.trip(
        [...writeRows(chainId, changes, movesCursor), own, commit],
        this.#timings.answerMs,
      );
      if (answers.at(-1)?.tag !== 'COMMIT') throw new Again('the commit was answered with a rollback');
      // A notice: the commit is on this server, and perhaps on no other.
      isSure = notices === 0;
    } catch (error) {
      if (!(error instanceof ConnectionLost)) throw error;
    }
    if (!isSure) await this.#settleDoubt(sequence, number, server);
    else this.#sequence = sequence;
    seen.committed(this.#id, this.#sequence ?? sequence);
  }

  /** Resolves when the commit was made for certain. Throws {@link Again} when it was not made, and UNAVAILABLE when nobody knows. */
  async #settleDoubt(sequence: number, turn: number, server: Server): Promise<void> {
    const id = this.#id;
    try {
      this.#drop();
      const client = (this.#client = await this.#process.connect());
      const { answers } = await client.trip(
        [begin(false), lockWriter(id), readServer],
        this.#timings.answerMs,
      );
      const found = answers[1]?.rows[0]?.['sequence'];
      const there = toServer(answers[2]?.rows ?? []);
      const isSame = there.now.system === server.now.system && there.now.timeline === server.now.timeline;
      if (found === sequence - 1) {
        await client.trip([rollback], this.#timings.answerMs);
        throw new Again('the commit was not made');
      }
      if (found !== sequence || !isSame) throw new Error('the data are others since the commit');
      const next = writeWriter(id, { sequence: sequence + 1, turn, at: there.clock }, there.waitsForStandby);
      const confirmed = await client.trip([next, commit], this.#timings.answerMs);
      if (confirmed.answers.at(-1)?.tag !== 'COMMIT' || confirmed.notices > 0)
        throw new Error('a later commit was not confirmed either');
      this.#sequence = sequence + 1;
    } catch (error) {
      if (error instanceof Again) throw error;
      // The promises of the turn may be stored and are not signed. They expire like any other.
      this.#abandon();
      throw unavailable(error);
    }
  }

  #ready(): Pipeline | undefined {
    return this.#client?.isOpen === true && this.#sequence !== undefined ? this.#client : undefined;
  }

  async #connected(): Promise<Pipeline> {
    if (this.#client?.isOpen !== true) this.#client = await this.#process.connect();
    if (this.#sequence === undefined) {
      await this.#client.trip(
        [
          {
            name: 'add-writer',
            text: `INSERT INTO usage.writer (id, sequence, turn, at, is_synchronous) VALUES ($1, 0, 0, 0, true) ON CONFLICT (id) DO NOTHING`,
            values: [this.#id],
          },
        ],
        this.#timings.answerMs,
      );
      this.#sequence = 0;
    }
    return this.#client;
  }

  async #rolledBack(): Promise<void> {
    await this.#client?.trip([rollback], this.#timings.answerMs);
  }

  #drop(): void {
    this.#client?.destroy();
    this.#client = undefined;
  }

  /** Goes on as a new writer: how far the former one has come is not known. */
  #abandon(): void {
    this.#drop();
    this.#id = randomUUID();
    this.#sequence = undefined;
  }
}

function failed(calls: readonly Call[], error: unknown): readonly Decided[] {
  return calls.map((call) => ({ call, result: undefined, thrown: { error } }));
}
