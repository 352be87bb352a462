import { readText, type Row } from './turn-rows.js';

/** How far each connection that writes had come. It counts its own turns, so nothing is shared that turns would queue for. */
export type WriterRow = {
  readonly id: string;
  readonly sequence: number;
  /** Number of its last turn. */
  readonly turn: number;
  /** The store's time of its last turn. */
  readonly at: number;
  /** Whether its last commit had to be on a standby, too. */
  readonly isSynchronous: boolean;
  readonly isRetired: boolean;
};

export function toWriterRow(row: Row): WriterRow {
  return {
    id: readText(row, 'id'),
    sequence: Number(row['sequence']),
    turn: Number(row['turn']),
    at: Number(row['at']),
    isSynchronous: row['is_synchronous'] === true,
    isRetired: row['retired_at'] !== null,
  };
}

/** What this process has seen of all writers since an epoch of a chain: with a new epoch begins what nobody has seen yet. */
export class SeenEpochs {
  readonly #seen = new Map<string, SeenWriters>();

  of(epoch: string): SeenWriters {
    const known = this.#seen.get(epoch);
    if (known !== undefined) return known;
    const next = new SeenWriters();
    this.#seen.set(epoch, next);
    return next;
  }

  /** Of the data of all chains; see {@link SeenWriters.expectation}. */
  expectation(): (rows: readonly WriterRow[]) => boolean {
    const all = [...this.#seen.values()].map((seen) => seen.expectation());
    return (rows) => all.every((isIntact) => isIntact(rows));
  }

  /** An epoch that has ended. */
  forget(epoch: string): void {
    this.#seen.delete(epoch);
  }
}

/**
 * What this process has seen of all writers. Data in which one of them is behind, or is gone without a word, are older than data
 * that were acknowledged.
 */
export class SeenWriters {
  readonly #seen = new Map<string, { sequence: number; isRetired: boolean }>();

  /**
   * For data that are read from now on: data that were read before an acknowledgement need not have what was acknowledged. The
   * function answers false when they have lost writes.
   */
  expectation(): (rows: readonly WriterRow[]) => boolean {
    const seen = [...this.#seen].map(([id, { sequence, isRetired }]) => ({ id, sequence, isRetired }));
    return (rows) => {
      const byId = new Map(rows.map((row) => [row.id, row]));
      return seen.every(({ id, sequence, isRetired }) => {
        const row = byId.get(id);
        return row === undefined ? isRetired : row.sequence >= sequence;
      });
    };
  }

  /** Of data that are intact. */
  note(rows: readonly WriterRow[]): void {
    for (const { id, sequence, isRetired } of rows) {
      const known = this.#seen.get(id)?.sequence ?? 0;
      this.#seen.set(id, { sequence: Math.max(known, sequence), isRetired });
    }
    const ids = new Set(rows.map(({ id }) => id));
    for (const id of this.#seen.keys()) if (!ids.has(id)) this.#seen.delete(id);
  }

  /** A turn of this process that was acknowledged. */
  committed(id: string, sequence: number): void {
    this.#seen.set(id, { sequence, isRetired: false });
  }
}
