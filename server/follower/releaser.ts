import type { Block } from '../../core/chain/chain.js';
import type { Reservation, OperationId } from '../../core/usage/reservation.js';
import { operationId, type MinedOperation } from './mined.js';
import type { Scanner } from './scan.js';
import { readNonces, type Source } from './source.js';

/** How reservations whose last moment has passed end. */
export type Ending = {
  /** Their nonce is unused: they can never be mined. */
  readonly released: readonly Reservation[];
  /** Their nonce is used. */
  readonly spent: readonly Reservation[];
  readonly forfeited: readonly Reservation[];
  /** Operations that were found by the senders of `spent`, regardless of who paid for them. */
  readonly mined: readonly MinedOperation[];
  /** The suspects that wait for another check once the step is taken; undefined: no change. */
  readonly suspects: ReadonlyMap<string, Suspect> | undefined;
  /** False when more have expired than one step ends. */
  readonly isComplete: boolean;
};

export const nothingEnded: Ending = {
  released: [],
  spent: [],
  forfeited: [],
  mined: [],
  suspects: undefined,
  isComplete: true,
};

/** Most reservations whose senders' events one step reads. This needs two queries for each EntryPoint. */
const looksPerStep = 100;

/**
 * Ends expired reservations by their nonces at a confirmed block, which it reads in one batch. Remembers reservations with a
 * used nonce and no event until the store has taken the step that ends them; after a restart it looks for their events again.
 */
export class Releaser {
  readonly #scanner: Scanner;
  #suspects: ReadonlyMap<string, Suspect> = new Map();

  constructor(scanner: Scanner) {
    this.#scanner = scanner;
  }

  /** Number of reservations that wait for another check. */
  get waiting(): number {
    return this.#suspects.size;
  }

  /** Whether all of these only wait for a later block, so that there is nothing to do about them now. */
  isWaiting(due: readonly Reservation[], block: number): boolean {
    const areKnown = due.every(({ key }) => this.#suspects.has(operationId(key)));
    return areKnown && dueForLook(due, this.#suspects, block).length === 0;
  }

  /** `due`: expired, and not among the operations that the step has found. Throws UNAVAILABLE. */
  async end(source: Source, due: readonly Reservation[], block: Block, maxReleased: number): Promise<Ending> {
    if (due.length === 0) return { ...nothingEnded, suspects: new Map() };
    const isSuspect = ({ key }: Reservation): boolean => this.#suspects.has(operationId(key));
    const fresh = due.filter((reservation) => !isSuspect(reservation));
    const operations = [...new Map(fresh.map(({ key }) => [operationId(key), key])).values()];
    const nonces = await readNonces(source, operations, block);
    const { released, spent } = decideNonces(fresh, (key) => nonces.get(operationId(key)));
    const used = [...due.filter(isSuspect), ...spent];
    const looked = dueForLook(used, this.#suspects, block.number).slice(0, looksPerStep);
    const mined = await this.#look(source, looked, block);
    const { forfeited, suspects } = decideSpent(used, looked, mined, this.#suspects, block.number);
    return { released, spent: used, forfeited, mined, suspects, isComplete: fresh.length < maxReleased };
  }

  /** The store has taken the step. */
  remember({ suspects }: Ending): void {
    if (suspects !== undefined) this.#suspects = suspects;
  }

  /** A reorganisation has removed blocks, so what was read from them no longer counts. */
  forget(): void {
    this.#suspects = new Map();
  }

  /** The first check uses the normal connection; later checks use another one, if there is one. */
  async #look(
    source: Source,
    wanted: readonly Reservation[],
    block: Block,
  ): Promise<readonly MinedOperation[]> {
    const found: MinedOperation[] = [];
    const attempts = Map.groupBy(wanted, ({ key }) => this.#suspects.get(operationId(key))?.looks ?? 0);
    for (const [attempt, reservations] of attempts) {
      const chain = attempt === 0 ? source.chain : source.elsewhere(attempt);
      const keys = reservations.map(({ key }) => key);
      found.push(...(await this.#scanner.bySender(chain, keys, block.number)));
    }
    // Another node may be on another branch, or lie: then this check has found nothing.
    const own: MinedOperation[] = [];
    for (const operation of found)
      if ((await source.chain.block(operation.blockNumber))?.hash === operation.blockHash)
        own.push(operation);
    return own;
  }
}

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
export const maxSuspects = 5_000;

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
    const isOver = done >= lookAfterBlocks.length || (next.size >= maxSuspects && !next.has(id));
    if (isOver) forfeited.push(reservation);
    else next.set(id, { since, looks: done });
  }
  return { forfeited, suspects: next };
}
