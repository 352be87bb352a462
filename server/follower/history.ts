import type { Cursor, Reservation } from '../../core/policy/usage-store.js';
import { operationId, type MinedOperation } from './settlement.js';

const maxPoints = 256;

type Settled = { readonly reservations: readonly Reservation[]; readonly blockNumber: number };

/**
 * What the follower remembers of the last scanned blocks, so that a reorganisation below the confirmations does no
 * harm. Only in memory: after a restart a reorganisation is rescanned from further back, and what was settled in
 * removed blocks stays counted, which errs on the safe side of the limits.
 */
export class History {
  /** Scanned positions, the oldest first. */
  #points: Cursor[] = [];
  /** By operation: settled within the remembered blocks. */
  readonly #settled = new Map<string, Settled>();
  /** Settled in blocks that are no more, and not seen again yet. */
  readonly #orphans = new Map<string, readonly Reservation[]>();

  /** The newest first. */
  points(): readonly Cursor[] {
    return this.#points.toReversed();
  }

  /** Those that may still be mined after the given operations. */
  orphansWithout(seen: readonly MinedOperation[]): readonly Reservation[] {
    const mined = new Set(seen.map(operationId));
    return [...this.#orphans].flatMap(([id, reservations]) => (mined.has(id) ? [] : reservations));
  }

  /** True for an operation whose cost is counted already: seeing it again in a rescan must not count it twice. */
  isSettled(operation: MinedOperation): boolean {
    return this.#settled.has(operationId(operation));
  }

  /** Everything above `common` is scanned again; undefined when nothing that was scanned is known to stand. */
  rollBack(common: Cursor | undefined): void {
    const height = common?.blockNumber ?? -1;
    this.#points = this.#points.filter(({ blockNumber }) => blockNumber <= height);
    for (const [id, { reservations, blockNumber }] of this.#settled)
      if (blockNumber > height) this.#orphans.set(id, reservations);
  }

  /** Records a step that the store has taken. */
  add(
    cursor: Cursor,
    settled: readonly { readonly reservation: Reservation; readonly operation: MinedOperation }[],
    seen: readonly MinedOperation[],
  ): void {
    if (this.#points.at(-1)?.blockHash !== cursor.blockHash) this.#points.push(cursor);
    if (this.#points.length > maxPoints) this.#points.shift();
    for (const operation of seen) {
      const id = operationId(operation);
      this.#orphans.delete(id);
      const known = this.#settled.get(id);
      if (known !== undefined) this.#settled.set(id, { ...known, blockNumber: operation.blockNumber });
    }
    for (const [id, pairs] of Map.groupBy(settled, ({ operation }) => operationId(operation)))
      this.#settled.set(id, {
        reservations: pairs.map(({ reservation }) => reservation),
        blockNumber: pairs[0]?.operation.blockNumber ?? cursor.blockNumber,
      });
    this.#forget(cursor);
  }

  #forget(cursor: Cursor): void {
    const oldest = this.#points[0]?.blockNumber ?? cursor.blockNumber;
    for (const [id, { blockNumber }] of this.#settled)
      if (blockNumber < oldest && !this.#orphans.has(id)) this.#settled.delete(id);
    for (const [id, reservations] of this.#orphans)
      if (reservations.every(({ validUntil }) => validUntil < cursor.timestamp)) this.#orphans.delete(id);
  }
}
