import type { Cursor } from '../../../core/usage/usage-store.js';
import type { Hex } from '../../../core/units/hex.js';

/** A cursor as Redis keeps it and scripts compare it: "number:hash:timestamp", or "" for no cursor. */
export function cursorText(cursor: Cursor | undefined): string {
  return cursor === undefined ? '' : `${cursor.blockNumber}:${cursor.blockHash}:${cursor.timestamp}`;
}

export function parseCursor(text: string): Cursor | undefined {
  const [blockNumber, blockHash, timestamp] = text.split(':');
  if (blockNumber === undefined || blockHash === undefined || timestamp === undefined) return undefined;
  return {
    blockNumber: Number(blockNumber),
    blockHash: blockHash as Hex,
    timestamp: Number(timestamp) as Cursor['timestamp'],
  };
}
