import { unitOf } from '../../core/usage/units.js';
import type { Charge, EndedReservation } from '../../core/usage/follower-step.js';
import type { OperationId, Reservation } from '../../core/usage/reservation.js';
import type { Gwei } from '../../core/units/wei.js';
import { operationId, reservationId } from './mined.js';
import type { Settled } from './settlement.js';

// The reverse of what a step counts, for the case that a reorganisation removes its blocks.

/** A reservation that a step has ended, and the charges that undo the step's counts for it. */
export type Ended = {
  readonly reservation: Reservation;
  /** `settled`: its operation was mined and counted. */
  readonly how: 'settled' | 'released' | 'forfeited';
  readonly undo: readonly Charge[];
};

/**
 * How the step has ended each reservation, with the charges that undo it. The reservations are those that the store answered:
 * promises that were added after the step had read a reservation ended with it, and must live again with it.
 */
export function endedInStep(
  ended: readonly Reservation[],
  by: {
    readonly settled: readonly Pick<Settled, 'reservation' | 'actualCost'>[];
    readonly released: readonly Pick<Reservation, 'key'>[];
  },
): readonly Ended[] {
  const { settled, released } = by;
  const costs = new Map(
    // The first settlement of a reservation decides, so that one is kept.
    settled.toReversed().map(({ reservation, actualCost }) => [reservationId(reservation.key), actualCost]),
  );
  const unspent = new Set(released.map(({ key }) => reservationId(key)));
  return ended.map((reservation): Ended => {
    const id = reservationId(reservation.key);
    if (costs.has(id)) return { reservation, how: 'settled', undo: undoOf(reservation, costs.get(id)) };
    if (unspent.has(id)) return { reservation, how: 'released', undo: [] };
    return { reservation, how: 'forfeited', undo: undoOf(reservation, Infinity) };
  });
}

export function countOf(ended: readonly Ended[], how: Ended['how']): number {
  return ended.filter((one) => one.how === how).length;
}

/** Those of one operation. */
export function endedOf(operation: OperationId, ended: readonly Ended[]): readonly Ended[] {
  return ended.filter(({ reservation }) => operationId(reservation.key) === operationId(operation));
}

/** The same for a step that the store has kept. */
export function endedIn(ended: readonly EndedReservation[]): readonly Ended[] {
  return ended.map(({ reservation, how, actualCost }) => {
    const spent = { settled: actualCost, released: undefined, forfeited: Infinity }[how];
    return { reservation, how, undo: undoOf(reservation, spent) };
  });
}

export function negated(charges: readonly Charge[]): readonly Charge[] {
  return charges.map((charge) => ({ ...charge, amount: -charge.amount }));
}

/** Undefined cost: nothing was spent. */
function undoOf({ limits }: Reservation, actualCost: Gwei | number | undefined): readonly Charge[] {
  if (actualCost === undefined) return [];
  return limits.map(({ counter, unit, until, ...taken }) => ({
    counter,
    unit,
    until,
    amount: -unitOf(unit).spent(taken, actualCost),
  }));
}
