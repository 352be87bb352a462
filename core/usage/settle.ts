import type { Account } from './accounts.js';
import type { Counter, Counters } from './counters.js';
import { reservationOf, type Entry } from './reservations.js';
import type { AccountId, FollowerStep, Reservation, ReservationKey } from './usage-store.js';

/** The parts of a chain's ledger that a step changes. */
export type SettledLedger = {
  readonly counters: Counters;
  find(key: ReservationKey): Entry | undefined;
  restore(reservation: Reservation): void;
  charge(counter: Counter, amount: number, until: number): void;
  setBalance(id: AccountId, balance: Account['balance'], readAt: Account['readAt']): void;
  /** Frees what the entry's commit holds. False: nothing was signed, and the entry has ended with it. */
  keepSigned(entry: Entry): boolean;
  end(entry: Entry): void;
};

/**
 * Applies a step of the follower and answers the reservations that it ended; see {@link FollowerStep} for the order.
 * The caller moves the cursor.
 */
export function settle(chain: SettledLedger, step: FollowerStep): readonly Reservation[] {
  const ended: Reservation[] = [];
  const decided = new Set<Entry>();
  const undecided = (key: ReservationKey): Entry | undefined => {
    const entry = chain.find(key);
    if (entry === undefined || decided.has(entry)) return undefined;
    decided.add(entry);
    return entry;
  };

  for (const reservation of step.restored) chain.restore(reservation);
  for (const { key, actualCost } of step.settled) {
    const entry = undecided(key);
    if (entry !== undefined && chain.keepSigned(entry)) ended.push(spend(chain, entry, actualCost));
  }
  for (const { key, validUntil } of step.released) {
    const entry = undecided(key);
    if (entry === undefined || (validUntil !== undefined && entry.validUntil > validUntil)) continue;
    if (chain.keepSigned(entry)) ended.push(end(chain, entry));
  }
  for (const { key } of step.forfeited) {
    const entry = undecided(key);
    if (entry !== undefined && chain.keepSigned(entry)) ended.push(spend(chain, entry, Infinity));
  }
  for (const charge of step.charges) chain.charge(chain.counters.of(charge), charge.amount, charge.until);
  for (const { balance, readAt, ...id } of step.balances) chain.setBalance(id, balance, readAt);
  return ended;
}

/** Ends a reservation. Each limit keeps at most what was reserved; undefined: the limits keep nothing. */
function spend(chain: SettledLedger, entry: Entry, actualCost: number | undefined): Reservation {
  if (actualCost !== undefined)
    for (const { of: counter, amount } of entry.limits)
      chain.charge(counter, counter.unit === 'COUNT' ? amount : Math.min(actualCost, amount), counter.until);
  return end(chain, entry);
}

function end(chain: SettledLedger, entry: Entry): Reservation {
  chain.end(entry);
  return reservationOf(entry);
}
