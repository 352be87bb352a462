import type { Account } from './accounts.js';
import type { Counter, Counters } from './counters.js';
import type { Entries } from './entries.js';
import { toReservation, type Entry } from './reservations.js';
import type { FollowerStep, EndedReservation } from './follower-step.js';
import type { AccountId, Reservation, ReservationKey, StepRecord } from './reservation.js';
import { unitRow } from './units.js';

/** The parts of a turn that a step changes. */
type SettledLedger = {
  readonly counters: Counters;
  readonly entries: Pick<Entries, 'find' | 'restore' | 'keepSigned' | 'end'>;
  charge(counter: Counter, amount: number, until: number): void;
  setBalance(id: AccountId, balance: Account['balance'], readAt: Account['readAt']): void;
  addRecord(reservation: string | undefined, record: StepRecord | undefined): void;
};

/**
 * Applies a step of the follower and answers the reservations that it ended; see {@link FollowerStep} for the order.
 * The caller moves the cursor.
 */
export function applyStep(chain: SettledLedger, step: FollowerStep): readonly EndedReservation[] {
  const ended: EndedReservation[] = [];
  const decided = new Set<Entry>();
  const undecided = (key: ReservationKey): Entry | undefined => {
    const entry = chain.entries.find(key);
    if (entry === undefined || decided.has(entry)) return undefined;
    decided.add(entry);
    return entry;
  };

  for (const reservation of step.restored) chain.entries.restore(reservation);
  for (const { reservation, record } of step.records ?? []) chain.addRecord(reservation, record);

  for (const { key, actualCost, record } of step.settled) {
    const entry = undecided(key);
    if (entry === undefined || !chain.entries.keepSigned(entry)) continue;
    ended.push({ reservation: spend(chain, entry, actualCost), how: 'settled', actualCost });
    chain.addRecord(entry.recordId, record);
  }
  for (const { key, validUntil, record } of step.released) {
    const entry = undecided(key);
    if (entry === undefined || (validUntil !== undefined && entry.validUntil > validUntil)) continue;
    if (!chain.entries.keepSigned(entry)) continue;
    ended.push({ reservation: end(chain, entry), how: 'released', actualCost: undefined });
    chain.addRecord(entry.recordId, record);
  }
  for (const { key, record } of step.forfeited) {
    const entry = undecided(key);
    if (entry === undefined || !chain.entries.keepSigned(entry)) continue;
    const reservation = spend(chain, entry, Infinity);
    ended.push({ reservation, how: 'forfeited', actualCost: undefined });
    chain.addRecord(entry.recordId, record);
  }
  for (const charge of step.charges) chain.charge(chain.counters.of(charge), charge.amount, charge.until);
  for (const { balance, readAt, ...id } of step.balances) chain.setBalance(id, balance, readAt);
  return ended;
}

/** Ends a reservation. Each limit keeps at most what was reserved; undefined: the limits keep nothing. */
function spend(chain: SettledLedger, entry: Entry, actualCost: number | undefined): Reservation {
  if (actualCost !== undefined)
    for (const { of: counter, amount: cost, rate } of entry.limits) {
      const taken = rate === undefined ? { cost } : { cost, rate };
      chain.charge(counter, unitRow(counter.unit).spent(taken, actualCost), counter.until);
    }
  return end(chain, entry);
}

function end(chain: SettledLedger, entry: Entry): Reservation {
  chain.entries.end(entry);
  return toReservation(entry);
}
