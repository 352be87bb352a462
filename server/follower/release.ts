import type { OperationId, Reservation } from '../../core/usage/usage-store.js';
import { operationId, type MinedOperation } from './mined.js';

/** After its last moment a reservation ends by what the chain says of its nonce, never by logs that a node did not show. */

/** A reservation whose nonce is used although no event of it was found: a node hid it, or none was emitted. */
export type Suspect = {
  /** The confirmed block at which its nonce was first seen used. */
  readonly since: number;
  /** How often its sender's events were read. */
  readonly looks: number;
};

/** Blocks after {@link Suspect.since} at which the sender's events are read again; after the last the reservation is forfeited. */
export const lookAfterBlocks = [0, 4, 16, 64] as const;
/** More of them at once are forfeited without a further look: limits keep the maximum, so nothing is given away. */
export const mostSuspects = 5_000;

export type NonceJudgement = {
  /** The operation can never be mined. */
  readonly released: readonly Reservation[];
  readonly spent: readonly Reservation[];
};

/**
 * What nonces of a block later than their last moment say of reservations. `nonceOf` answers the EntryPoint's `getNonce` for
 * sender and key; undefined, where it has no answer, is taken as used.
 */
export function judgeNonces(
  due: readonly Reservation[],
  nonceOf: (key: OperationId) => bigint | undefined,
): NonceJudgement {
  const isUnused = ({ key }: Reservation): boolean => {
    const next = nonceOf(key);
    return next !== undefined && next <= key.nonce;
  };
  return { released: due.filter(isUnused), spent: due.filter((reservation) => !isUnused(reservation)) };
}

/** Operations whose sender's events are to be read at this block. */
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

export type SpentJudgement = {
  /** Deposits and holds are free, limits keep the maximum until their window ends. */
  readonly forfeited: readonly Reservation[];
  readonly suspects: ReadonlyMap<string, Suspect>;
};

/** What becomes of reservations with a used nonce: `looked` were looked for, `found` are the operations that were found so. */
export function judgeSpent(
  spent: readonly Reservation[],
  looked: readonly Reservation[],
  found: readonly MinedOperation[],
  suspects: ReadonlyMap<string, Suspect>,
  block: number,
): SpentJudgement {
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
