import type { Gwei } from '../../core/units/wei.js';
import type { Charge, Cursor, TakenStep, EndedReservation } from '../../core/usage/follower-step.js';
import type { Reservation, OperationId } from '../../core/usage/reservation.js';
import { maxTakenEndings, maxTakenSteps } from '../../core/usage/taken-step.js';
import { unitRow, type Unit } from '../../core/usage/units.js';
import { operationId, reservationId } from './mined.js';
import type { Settled } from './settlement.js';

type Step = { readonly cursor: Cursor; readonly ended: readonly Ended[]; readonly undo: readonly Charge[] };

/** What is needed to take back steps whose blocks a reorganisation has removed. */
type Undone = {
  readonly restored: readonly Reservation[];
  readonly charges: readonly Charge[];
  /** Gwei that the steps had given back to limits. Others may have been promised this amount since. */
  readonly givenBack: number;
};

/**
 * What is known about the last steps, so that they can be taken back after a reorganisation below the confirmations. The usage
 * store keeps them with the cursor; this copy saves reading them in every round.
 */
export class History {
  /** Oldest first; each step begins where the previous one ended. */
  #steps: Step[] = [];
  #ended = 0;

  /** Positions at which steps ended, newest first. */
  points(): readonly Cursor[] {
    return this.#steps.map(({ cursor }) => cursor).toReversed();
  }

  /** Replaces what is known by the steps that the store has kept. */
  load(steps: readonly TakenStep[]): void {
    this.clear();
    for (const { from, next, ended, charges } of steps)
      this.add(from, { cursor: next, ended: endedIn(ended), undo: negated(charges) });
  }

  /** Records a step that the store has taken. A gap before it means that another follower was at work. */
  add(expected: Cursor | undefined, { cursor, ended, undo }: Step): void {
    if (this.#steps.at(-1)?.cursor.blockHash !== expected?.blockHash) this.clear();
    if (this.#steps.length === 0 && expected !== undefined)
      this.#steps.push({ cursor: expected, ended: [], undo: [] });
    const last = this.#steps.at(-1);
    if (last?.cursor.blockHash === cursor.blockHash) {
      this.#steps.pop();
      this.#steps.push({ cursor, ended: [...last.ended, ...ended], undo: [...last.undo, ...undo] });
    } else this.#steps.push({ cursor, ended, undo });
    this.#ended += ended.length;
    while (this.#steps.length > maxTakenSteps || (this.#ended > maxTakenEndings && this.#steps.length > 1))
      this.#ended -= this.#steps.shift()?.ended.length ?? 0;
  }

  /** What is needed to take back all steps after `common`, or all remembered steps if it is undefined. Changes nothing. */
  after(common: Cursor | undefined): Undone {
    const steps = this.#steps.filter(({ cursor }) => isAfter(cursor, common));
    const ended = steps.flatMap((step) => step.ended);
    return {
      restored: ended.map(({ reservation }) => reservation),
      charges: steps.flatMap((step) => [...step.undo, ...step.ended.flatMap(({ undo }) => undo)]),
      givenBack: ended.reduce((sum, one) => sum + givenBack(one), 0),
    };
  }

  /** Whether a remembered step has settled the operation with this name. */
  hasSettled(id: string): boolean {
    return this.#steps.some(({ ended }) =>
      ended.some(({ how, reservation }) => how === 'settled' && operationId(reservation.key) === id),
    );
  }

  /** Whether everything that ended since this block is remembered. */
  reaches(block: number): boolean {
    const oldest = this.#steps[0];
    return oldest !== undefined && oldest.cursor.blockNumber < block;
  }

  /** Whether a remembered step has ended a reservation of the operation with this name. */
  hasEnded(id: string): boolean {
    return this.#steps.some(({ ended }) =>
      ended.some(({ reservation }) => operationId(reservation.key) === id),
    );
  }

  /** Forgets the steps after `common`, once the store has taken them back. */
  rollBack(common: Cursor | undefined): void {
    this.#steps = this.#steps.filter(({ cursor }) => !isAfter(cursor, common));
    this.#ended = this.#steps.reduce((sum, { ended }) => sum + ended.length, 0);
  }

  clear(): void {
    this.#steps = [];
    this.#ended = 0;
  }
}

function isAfter({ blockNumber }: Cursor, common: Cursor | undefined): boolean {
  return common === undefined || blockNumber > common.blockNumber;
}

function givenBack({ reservation, undo }: Ended): number {
  const sumGwei = (amounts: readonly { readonly unit: Unit; readonly amount: number }[]): number =>
    amounts.reduce((sum, { unit, amount }) => sum + (unitRow(unit).measure === 'gwei' ? amount : 0), 0);
  const reserved = reservation.limits.map(({ unit, cost }) => ({ unit, amount: cost }));
  return sumGwei(reserved) + sumGwei(undo);
}

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
    if (costs.has(id)) return { reservation, how: 'settled', undo: undoCharges(reservation, costs.get(id)) };
    if (unspent.has(id)) return { reservation, how: 'released', undo: [] };
    return { reservation, how: 'forfeited', undo: undoCharges(reservation, Infinity) };
  });
}

export function countEnded(ended: readonly Ended[], how: Ended['how']): number {
  return ended.filter((one) => one.how === how).length;
}

/** Those of one operation. */
export function findEnded(operation: OperationId, ended: readonly Ended[]): readonly Ended[] {
  return ended.filter(({ reservation }) => operationId(reservation.key) === operationId(operation));
}

/** The same for a step that the store has kept. */
export function endedIn(ended: readonly EndedReservation[]): readonly Ended[] {
  return ended.map(({ reservation, how, actualCost }) => {
    const spent = { settled: actualCost, released: undefined, forfeited: Infinity }[how];
    return { reservation, how, undo: undoCharges(reservation, spent) };
  });
}

export function negated(charges: readonly Charge[]): readonly Charge[] {
  return charges.map((charge) => ({ ...charge, amount: -charge.amount }));
}

/** Undefined cost: nothing was spent. */
function undoCharges({ limits }: Reservation, actualCost: Gwei | number | undefined): readonly Charge[] {
  if (actualCost === undefined) return [];
  return limits.map(({ counter, unit, until, ...taken }) => ({
    counter,
    unit,
    until,
    amount: -unitRow(unit).spent(taken, actualCost),
  }));
}
