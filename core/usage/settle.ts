import type { ChainLedger } from './ledger.js';
import type { Entry } from './reservations.js';
import type { FollowerStep, ReservationKey } from './usage-store.js';

/** Carries out a step of the follower; see {@link FollowerStep} for the order. The cursor is the caller's. */
export function settle(chain: ChainLedger, step: FollowerStep): void {
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
    if (entry !== undefined) spend(chain, entry, actualCost);
  }
  for (const { key, validUntil } of step.released) {
    const entry = undecided(key);
    if (entry !== undefined && (validUntil === undefined || entry.validUntil <= validUntil)) chain.end(entry);
  }
  for (const { key } of step.forfeited) {
    const entry = undecided(key);
    if (entry !== undefined) spend(chain, entry, Infinity);
  }
  for (const charge of step.charges) chain.charge(chain.counters.of(charge), charge.amount, charge.until);
  for (const { balance, readAt, ...id } of step.balances) chain.setBalance(id, balance, readAt);
}

/** Ends a reservation of which each limit keeps at most what was reserved; undefined: nothing. */
function spend(chain: ChainLedger, entry: Entry, actualCost: number | undefined): void {
  if (actualCost !== undefined)
    for (const { of: counter, amount } of entry.limits)
      chain.charge(counter, counter.unit === 'COUNT' ? amount : Math.min(actualCost, amount), counter.until);
  chain.end(entry);
}
