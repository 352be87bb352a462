import type { OperationId, Reservation } from '../../core/usage/reservation.js';
import { operationId, type MinedOperation } from './mined.js';

// How a reservation ends after its last moment: by the state of its nonce on the chain, never because a node showed no logs.

/** A reservation whose nonce is used, although no event of its operation was found: a node hid the event, or the chain emitted none. */
export type Suspect = {
  /** The confirmed block at which its nonce was first seen used. */
  readonly since: number;
  /** How often the sender's events have been read. */
  readonly looks: number;
};

/** Blocks after {@link Suspect.since} at which the sender's events are read again; after the last the reservation is forfeited. */
export const lookAfterBlocks = [0, 4, 16, 64] as const;
/** Most suspects at once. Further ones are forfeited without another check: limits keep the maximum, so nothing is given away. */
export const mostSuspects = 5_000;

/**
 * Splits expired reservations by their nonces at a block later than their last moment: operations of those that are released can
 * never be mined. `nonceOf` answers the EntryPoint's `getNonce` for sender and key; undefined means no answer, and the nonce counts
 * as used.
 */
export function decideNonces(due: readonly Reservation[], nonceOf: (key: OperationId) => bigint | undefined) {
  const isUnused = ({ key }: Reservation): boolean => {
    const next = nonceOf(key);
    return next !== undefined && next <= key.nonce;
  };
  return { released: due.filter(isUnused), spent: due.filter((reservation) => !isUnused(reservation)) };
}

/** The reservations whose senders' events are due to be read at this block. */
export function dueForLook(
  spent: readonly Reservation[],
  suspects: ReadonlyMap<string, Suspect>,
  block: number,
): readonly Reservation[] {
  return spent.filter(({ key }) => {
    const { since, looks } = suspects.get(operationId(key)) ?? { since: block, looks: 0 };
    const after = lookAfterBlocks[looks];
    return after !== undefined && block - since >= after;
  });
}

/**
 * Decides about reservations with a used nonce. `looked`: those whose senders' events were read; `found`: the operations found
 * there. For those that are forfeited, deposits and holds become free, and limits keep the maximum until their window ends.
 */
export function decideSpent(
  spent: readonly Reservation[],
  looked: readonly Reservation[],
  found: readonly MinedOperation[],
  suspects: ReadonlyMap<string, Suspect>,
  block: number,
) {
  const lookedFor = new Set(looked.map(({ key }) => operationId(key)));
  const mined = new Set(found.map(operationId));
  const next = new Map<string, Suspect>();
  const forfeited: Reservation[] = [];
  for (const reservation of spent) {
    const id = operationId(reservation.key);
    if (mined.has(id)) continue;
    const { since, looks } = suspects.get(id) ?? { since: block, looks: 0 };
    const done = looks + (lookedFor.has(id) ? 1 : 0);
    const isOver = done >= lookAfterBlocks.length || (next.size >= mostSuspects && !next.has(id));
    if (isOver) forfeited.push(reservation);
    else next.set(id, { since, looks: done });
  }
  return { forfeited, suspects: next };
}
