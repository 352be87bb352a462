import type { EpochMs } from '../../core/units/time.js';
import { accountName } from '../../core/usage/accounts.js';
import { partyName, reservationName } from '../../core/usage/reservations.js';
import {
  isEmptyAccount,
  isEmptyCounter,
  type AccountRow,
  type ChainRow,
  type CounterRow,
  type FenceRow,
  type RowChanges,
  type RowSource,
} from '../../core/usage/rows.js';
import { Turn } from '../../core/usage/turn.js';
import type { AccountId, CounterId, Reservation, ReservationKey } from '../../core/usage/reservation.js';

/** Rows of one chain in memory: the plain meaning of turns. */
export class MemoryRows implements RowSource {
  readonly chainId: number;
  chain: ChainRow = { cursor: undefined, since: 0, forgottenUntil: 0, open: undefined };
  sequence = 1;
  place = 0;
  readonly counters = new Map<string, CounterRow>();
  readonly accounts = new Map<string, AccountRow>();
  readonly fences = new Map<string, FenceRow>();
  readonly reservations = new Map<string, Reservation>();

  constructor(chainId: number) {
    this.chainId = chainId;
  }

  counter({ counter, unit }: CounterId): CounterRow | undefined {
    return this.counters.get(`${unit}/${counter}`);
  }

  account(id: AccountId): AccountRow | undefined {
    return this.accounts.get(accountName(id));
  }

  fence(id: string): FenceRow | undefined {
    return this.fences.get(id);
  }

  reservation(key: ReservationKey): Reservation | undefined {
    return this.reservations.get(reservationName(key));
  }

  committed(key: ReservationKey): readonly Reservation[] {
    const party = partyName(key);
    return [...this.reservations.values()].filter(
      (one) => one.commit !== undefined && partyName(one.key) === party,
    );
  }

  /** Counters with settled use whose window ended before this time. */
  endedCounters(before: EpochMs): readonly CounterId[] {
    return [...this.counters.values()].filter(({ used, until }) => used > 0 && until < before);
  }

  /** Reservations whose commit is over. */
  dueCommits(now: EpochMs): readonly ReservationKey[] {
    return [...this.reservations.values()]
      .filter(({ commit }) => commit !== undefined && commit.until <= now)
      .map(({ key }) => key);
  }

  /** One turn: its changes are the rows of the next one. */
  turn<T>(decide: (turn: Turn) => T, written?: (changes: RowChanges) => void): T {
    const turn = new Turn(this.chainId, this);
    const result = decide(turn);
    const changes = turn.changes();
    this.place = turn.place;
    if (changes !== undefined) {
      this.#take(changes);
      written?.(changes);
    }
    return result;
  }

  #take(changes: RowChanges): void {
    this.sequence += 1;
    this.place = 0;
    this.chain = changes.chain;
    for (const row of changes.counters) {
      const name = `${row.unit}/${row.counter}`;
      if (isEmptyCounter(row)) this.counters.delete(name);
      else this.counters.set(name, row);
    }
    for (const row of changes.accounts)
      if (isEmptyAccount(row)) this.accounts.delete(accountName(row));
      else this.accounts.set(accountName(row), row);
    for (const row of changes.fences) this.fences.set(row.id, row);
    for (const row of changes.reservations) this.reservations.set(reservationName(row.key), row);
    for (const key of changes.ended) this.reservations.delete(reservationName(key));
  }
}
