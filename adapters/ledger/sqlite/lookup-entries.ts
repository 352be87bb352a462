import type { RecordId } from '../../../core/ledger/record.js';

/** Entries of the lookup as bytes: a hash of 52 bits in 8 bytes, its low half first, and the 16 bytes of an id. */
export const entryBytes = 24;
const hashBytes = 8;

/** Entries on their way to the table. */
export class NewEntries {
  #bytes = Buffer.alloc(1_000 * entryBytes);
  #length = 0;

  /** An entry for each hash of an id. */
  add(id: RecordId, hashes: readonly number[]): void {
    while (this.#length + hashes.length * entryBytes > this.#bytes.length)
      this.#bytes = Buffer.concat([this.#bytes, this.#bytes]);
    const first = this.#length;
    for (const hash of hashes) {
      const at = this.#length;
      this.#bytes.writeUInt32BE(hash % 2 ** 32, at);
      this.#bytes.writeUInt32BE(Math.floor(hash / 2 ** 32), at + 4);
      // The id is read from its text once.
      if (at === first) this.#bytes.write(id.replaceAll('-', ''), at + hashBytes, 'hex');
      else this.#bytes.copy(this.#bytes, at + hashBytes, first + hashBytes, first + entryBytes);
      this.#length += entryBytes;
    }
  }

  /** Answers what was added since the last time. */
  take(): Buffer {
    const taken = Buffer.from(this.#bytes.subarray(0, this.#length));
    this.#length = 0;
    return taken;
  }
}

/** The first byte of entries with a hash. */
export function firstByte(hash: number): number {
  return (hash % 2 ** 32) >>> 24;
}

/** Entries by their first byte, in the order in which they are. */
export function entriesByFirstByte(entries: Buffer): ReadonlyMap<number, Buffer> {
  const sizes = new Map<number, number>();
  for (let at = 0; at < entries.length; at += entryBytes)
    sizes.set(entries[at]!, (sizes.get(entries[at]!) ?? 0) + entryBytes);
  const parts = new Map([...sizes].map(([first, size]) => [first, { bytes: Buffer.alloc(size), length: 0 }]));
  for (let at = 0; at < entries.length; at += entryBytes) {
    const part = parts.get(entries[at]!)!;
    entries.copy(part.bytes, part.length, at, at + entryBytes);
    part.length += entryBytes;
  }
  return new Map([...parts].map(([first, { bytes }]) => [first, bytes]));
}

/** Ids of a hash below `before`, the highest first. */
export function idsOfHash(entries: Buffer, hash: number, before: RecordId): readonly RecordId[] {
  const ids: RecordId[] = [];
  for (let at = 0; at < entries.length; at += entryBytes)
    if (hashAt(entries, at) === hash) ids.push(idAt(entries, at));
  return ids
    .filter((id) => id < before)
    .sort()
    .reverse();
}

function hashAt(entries: Buffer, at: number): number {
  return entries.readUInt32BE(at) + entries.readUInt32BE(at + 4) * 2 ** 32;
}

function idAt(entries: Buffer, at: number): RecordId {
  const hex = entries.toString('hex', at + hashBytes, at + entryBytes);
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-${hex.slice(12, 16)}-${hex.slice(16, 20)}-${hex.slice(20)}`;
}
