import type { FollowerStep } from '../../core/usage/follower-step.js';
import { commitMs, type Reservation, type ReservationKey } from '../../core/usage/reservation.js';
import type {
  LimitShare,
  PeekResult,
  ReserveRequest,
  ReserveResult,
} from '../../core/usage/reserve-request.js';
import type { UsageStore } from '../../core/usage/usage-store.js';
import type { RefusalReason } from '../../core/refusal.js';
import { MemoryRows } from '../../core/usage/memory-rows.js';
import { given } from '../../core/units/given.js';
import { unitOf } from '../../core/usage/units.js';
import { graceMs } from '../../core/usage/entries.js';
import { reservationName } from '../../core/usage/reservations.js';
import type { EpochMs, EpochSeconds } from '../../core/units/time.js';
import type { DecidedInputs, EndingInputs } from '../decision/inputs.js';
import { plannedAt } from './recorded-ports.js';

/** The recorded refusal counts, because what refused belongs to others too: a deposit, a share, a suspension. */
export class AsRecorded extends Error {
  readonly reason: RefusalReason;
  constructor(reason: RefusalReason) {
    super(`refused as recorded: ${reason}`);
    this.name = 'AsRecorded';
    this.reason = reason;
  }
}

// The store decides these before limits, and those after them.
const beforeLimits: ReadonlySet<string> = new Set(['suspended', 'barred', 'usage-lost']);
const afterLimits: ReadonlySet<string> = new Set(['held', 'deposit', 'not-committed']);

/** An ending can be taken back while it is among so many that came last. */
const mostEnded = 20_000;
/** As often as a follower looks. */
const maintainEveryMs = 1_000;
/** Recorded commits and finalizes belong to each other by their operation. */
const anyCommitment = '0x';
const cursor: FollowerStep['next'] = { blockNumber: 0, blockHash: '0x', timestamp: 0 as EpochSeconds };

/**
 * Counters of one chain during a replay: the product's own decisions over rows in memory, at recorded times. Limits are decided. What others
 * draw on too (deposits, shares, bounds, budgets, bars, suspensions) is not copied: there the recorded answer counts.
 */
export class ReplayedUsage implements Pick<UsageStore, 'now' | 'reserve' | 'peek' | 'capacity'> {
  readonly #rows: MemoryRows;
  readonly #inputs: () => DecidedInputs;
  readonly #ended = new Map<string, { readonly reservation: Reservation; readonly spent: number }>();
  /** Operations whose commit was refused here and not there, with the time until which it could be finalized. */
  readonly #refusedCommits = new Map<string, EpochMs>();
  #maintainedAt = 0;

  /** `inputs`: those of the operation that is being decided. */
  constructor(chainId: number, inputs: () => DecidedInputs) {
    this.#rows = new MemoryRows(chainId);
    this.#inputs = inputs;
  }

  now(): EpochMs {
    return plannedAt(this.#inputs());
  }

  capacity(): number {
    return Number.POSITIVE_INFINITY;
  }

  async reserve(request: ReserveRequest): Promise<ReserveResult> {
    this.#keepUp();
    const asked = this.#own(request);
    const refused = this.#recordedRefusal(asked);
    if (refused !== undefined) return refused;
    return this.#rows.turn((turn) => turn.reserve(asked, this.now()));
  }

  async peek(request: ReserveRequest): Promise<PeekResult> {
    this.#keepUp();
    const asked = this.#own(request);
    const result = this.#recordedRefusal(asked) ?? this.#peek(asked);
    return { result, limits: [], holds: [], accounts: [] };
  }

  /** What was reserved before the replay and has not ended. */
  addLive(key: ReservationKey, limits: readonly LimitShare[], validUntil: Reservation['validUntil']): void {
    const held = limits.map(({ counter, unit, cost, rate, window }) => ({
      counter,
      unit,
      cost,
      ...given({ rate }),
      until: window.until,
    }));
    const reservation = { key, promises: [], folded: [], validUntil, limits: held, holds: [], accounts: [] };
    this.#rows.turn((turn) => turn.entries.restore(reservation));
  }

  /** What was spent before the replay. `actualCost`: of the mined operation. */
  addSpent(limits: readonly LimitShare[], actualCost: number): void {
    this.#rows.turn((turn) => {
      for (const limit of limits)
        turn.charge(turn.counters.of(limit), spentOf(limit, actualCost), limit.window.until);
    });
  }

  /** True: the reservation was live here, and has ended. */
  end(key: ReservationKey, { how, actualCost }: Pick<EndingInputs, 'how' | 'actualCost'>): boolean {
    if (how === 'restored') {
      this.#takeBack(key);
      return true;
    }
    const ended = this.#advance({
      settled: how === 'settled' ? [{ key, actualCost }] : [],
      released: how === 'released' ? [{ key }] : [],
      forfeited: how === 'forfeited' ? [{ key }] : [],
    });
    const [reservation] = ended;
    if (reservation === undefined) return false;
    const spent = how === 'forfeited' ? Number.POSITIVE_INFINITY : (actualCost ?? -1);
    this.#ended.delete(reservationName(key));
    this.#ended.set(reservationName(key), { reservation, spent: how === 'released' ? -1 : spent });
    const [oldest] = this.#ended.keys();
    if (this.#ended.size > mostEnded && oldest !== undefined) this.#ended.delete(oldest);
    return true;
  }

  /** A commit that was recorded as passing was refused here, so its finalize finds none. */
  noteRefusedCommit(key: ReservationKey): void {
    this.#refusedCommits.set(reservationName(key), (this.now() + commitMs) as EpochMs);
  }

  /** The limits alone. A finalize whose commit came before the replay, or was left out, is an ordinary reservation. */
  #own(request: ReserveRequest): ReserveRequest {
    const own = { ...request, fences: [], bars: [], holds: [], accounts: [] };
    const { phase, ...plain } = own;
    if (phase === undefined) return own;
    const isKnown =
      phase.kind === 'commit' ||
      this.#rows.reservation(request.key)?.commit !== undefined ||
      this.#refusedCommits.has(reservationName(request.key));
    return isKnown ? { ...own, phase: { kind: phase.kind, commitment: anyCommitment } } : plain;
  }

  #recordedRefusal(asked: ReserveRequest): ReserveResult | undefined {
    const { usage, verdict } = this.#inputs();
    if (usage === undefined || verdict.pass) return undefined;
    if (beforeLimits.has(usage.outcome)) throw new AsRecorded(verdict.reason);
    // Budgets come after the limits of the paymaster.
    if (!afterLimits.has(usage.outcome) && verdict.reason !== 'BUDGET_REACHED') return undefined;
    const result = this.#peek(asked);
    if (result.outcome === 'reserved' || result.outcome === 'not-committed')
      throw new AsRecorded(verdict.reason);
    return result;
  }

  #peek(asked: ReserveRequest): ReserveResult {
    return this.#rows.turn((turn) => turn.peek(asked, this.now()).result);
  }

  #takeBack(key: ReservationKey): void {
    const known = this.#ended.get(reservationName(key));
    if (known === undefined) return;
    this.#ended.delete(reservationName(key));
    const { reservation, spent } = known;
    const charges = reservation.limits.map((limit) => ({
      counter: limit.counter,
      unit: limit.unit,
      until: limit.until,
      amount: -spentOf(limit, spent),
    }));
    this.#advance({ restored: [reservation], charges: spent < 0 ? [] : charges });
  }

  #advance(part: Partial<FollowerStep>): readonly Reservation[] {
    const whole: FollowerStep = {
      chainId: this.#rows.chainId,
      expected: this.#rows.chain.cursor,
      next: cursor,
      settled: [],
      released: [],
      forfeited: [],
      charges: [],
      restored: [],
      balances: [],
      ...part,
    };
    const step = this.#rows.turn((turn) => turn.advance(whole));
    return step.isTaken ? step.ended : [];
  }

  #keepUp(): void {
    const now = this.now();
    if (now < this.#maintainedAt + maintainEveryMs) return;
    this.#maintainedAt = now;
    this.#rows.turn((turn) => {
      turn.entries.dropCommits(this.#rows.dueCommits(now), now);
      turn.forget(this.#rows.endedCounters((now - graceMs) as EpochMs), now);
    });
    for (const [id, until] of this.#refusedCommits) if (until <= now) this.#refusedCommits.delete(id);
  }
}

function spentOf(limit: Pick<LimitShare, 'unit' | 'cost' | 'rate'>, actualCost: number): number {
  return unitOf(limit.unit).spent(limit, actualCost);
}
