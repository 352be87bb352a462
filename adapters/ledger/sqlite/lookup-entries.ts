import type { RecordId } from '../../../core/ledger/record.js';

/**
 * Entries of the lookup as bytes: a hash of 52 bits in 8 bytes, its low half first, and the 16 bytes of an id. So the
 * entries of a hash are side by side in the order of bytes, and in the order of their ids.
 */
export const entryBytes = 24;
const hashBytes = 8;

export function entryOf(hash: number, id: RecordId): Buffer {
  const entry = Buffer.allocUnsafe(entryBytes);
  writeHash(entry, hash);
  entry.write(id.replaceAll('-', ''), hashBytes, 'hex');
  return entry;
}

/** Another entry of the same id. */
export function withHash(entry: Buffer, hash: number): Buffer {
  const other = Buffer.from(entry);
  writeHash(other, hash);
  return other;
}

function writeHash(entry: Buffer, hash: number): void {
  entry.writeUInt32BE(hash % 2 ** 32);
  entry.writeUInt32BE(Math.floor(hash / 2 ** 32), 4);
}

export function entriesIn(bytes: Buffer): Buffer[] {
  const entries: Buffer[] = [];
  for (let at = 0; at < bytes.length; at += entryBytes) entries.push(bytes.subarray(at, at + entryBytes));
  return entries;
}

export function hashIn(bytes: Buffer, index: number): number {
  const at = index * entryBytes;
  return bytes.readUInt32BE(at) + bytes.readUInt32BE(at + 4) * 2 ** 32;
}

export function idIn(bytes: Buffer, index: number): RecordId {
  const from = index * entryBytes + hashBytes;
  const hex = bytes.toString('hex', from, from + entryBytes - hashBytes);
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-${hex.slice(12, 16)}-${hex.slice(16, 20)}-${hex.slice(20)}`;
}

/** Ids of a hash below `before` in sorted entries, the highest first. */
export function* sortedIds(bytes: Buffer, hash: number, before: RecordId): Generator<RecordId> {
  for (let index = placeOf(bytes, entryOf(hash, before)) - 1; index >= 0; index -= 1) {
    if (hashIn(bytes, index) !== hash) return;
    yield idIn(bytes, index);
  }
}

/** The number of entries below one, in sorted entries. */
function placeOf(bytes: Buffer, entry: Buffer): number {
  let [low, high] = [0, bytes.length / entryBytes];
  while (low < high) {
    const middle = (low + high) >>> 1;
    const at = middle * entryBytes;
    if (bytes.compare(entry, 0, entryBytes, at, at + entryBytes) < 0) low = middle + 1;
    else high = middle;
  }
  return low;
}
