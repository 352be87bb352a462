import type { Charge, Reservation } from '../../core/usage/usage-store.js';
import type { Ended } from './history.js';
import type { Settled } from './settlement.js';

// What a step counts, the other way round: for the case that a reorganisation removes its blocks.

export function endedBySettling({ reservation, actualCost }: Settled): Ended {
  if (actualCost === undefined) return { ...endedByRelease(reservation), isSettled: true };
  const undo = reservation.limits.map(({ counter, unit, until, cost }) => ({
    counter,
    unit,
    until,
    amount: -(unit === 'COUNT' ? cost : Math.min(actualCost, cost)),
  }));
  return { reservation, undo, isSettled: true };
}

export function endedByRelease(reservation: Reservation): Ended {
  return { reservation, undo: [] };
}

/** A forfeited reservation stays counted in full. */
export function endedByForfeit(reservation: Reservation): Ended {
  const undo = reservation.limits.map(({ counter, unit, until, cost }) => ({
    counter,
    unit,
    until,
    amount: -cost,
  }));
  return { reservation, undo };
}

export function negated(charges: readonly Charge[]): readonly Charge[] {
  return charges.map((charge) => ({ ...charge, amount: -charge.amount }));
}
