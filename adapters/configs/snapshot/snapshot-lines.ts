import { createHash } from 'node:crypto';
import type { ConfigEvent } from '../../../core/config/config-store.js';

/** One line of a snapshot: a change, or the moment up to which the state is known to be current (EpochMs). */
export type SnapshotEntry = ConfigEvent | { readonly type: 'confirmed'; readonly at: number };

export type SnapshotState = {
  readonly configs: ReadonlyMap<string, ConfigEvent>;
  readonly confirmedAt: number;
};

const header = 'paymaster-configs 1';
const digits = 16;
const linesPerTurn = 256;

/** `<first 16 hex digits of the SHA-256 of the rest> <JSON>`, one line each, after a header that names the format. */
export function formatLine(entry: SnapshotEntry): string {
  const text = JSON.stringify(entry);
  return `${checksum(text)} ${text}\n`;
}

export const headerLine = `${header}\n`;

/**
 * The state that the lines add up to. A last line without a line break was being written when the process was killed,
 * and is left out. Any other wrong line throws: a state with a hole might sponsor what was forbidden. Yields to the
 * event loop in between: ten thousand configs take a quarter of a second, and requests may be served meanwhile.
 */
export async function readSnapshot(text: string): Promise<SnapshotState> {
  const lines = text.slice(0, text.lastIndexOf('\n') + 1).split('\n');
  if (lines[0] !== header) throw new Error('the snapshot has another format');
  const configs = new Map<string, ConfigEvent>();
  let confirmedAt = 0;
  for (const [index, line] of lines.slice(1).entries()) {
    if (index % linesPerTurn === linesPerTurn - 1) await new Promise((resolve) => setImmediate(resolve));
    if (line === '') continue;
    const entry = parseLine(line);
    if (entry.type === 'confirmed') confirmedAt = entry.at;
    else if (isForgotten(entry)) configs.delete(idOf(entry));
    else configs.set(idOf(entry), entry);
  }
  return { configs, confirmedAt };
}

/**
 * A deletion without a generation leaves nothing to keep. One with a generation is delivered again, so that the
 * generation stays known.
 */
export function isForgotten(event: ConfigEvent): boolean {
  if (event.type === 'delete-list') return true;
  const isDeletion = event.type === 'delete-chain' || event.type === 'delete-paymaster';
  return isDeletion && event.deletion === undefined;
}

/** The object that an event concerns, e.g. `chain 1`. */
export function idOf(event: ConfigEvent): string {
  switch (event.type) {
    case 'put-chain':
      return `chain ${event.config.chainId}`;
    case 'delete-chain':
      return `chain ${event.chainId}`;
    case 'put-paymaster':
      return `paymaster ${event.config.paymasterId}`;
    case 'delete-paymaster':
      return `paymaster ${event.paymasterId}`;
    case 'put-list':
      return `list ${event.list.hash}`;
    case 'delete-list':
      return `list ${event.hash}`;
  }
}

/** The event that undoes a put. */
export function deletionOf(event: ConfigEvent): ConfigEvent {
  switch (event.type) {
    case 'put-chain':
      return { type: 'delete-chain', chainId: event.config.chainId };
    case 'put-paymaster':
      return { type: 'delete-paymaster', paymasterId: event.config.paymasterId };
    case 'put-list':
      return { type: 'delete-list', hash: event.list.hash };
    case 'delete-chain':
    case 'delete-paymaster':
    case 'delete-list':
      return event;
  }
}

/** The checksum proves that the text is what `formatLine` wrote. */
function parseLine(line: string): SnapshotEntry {
  const text = line.slice(digits + 1);
  if (line.slice(0, digits) !== checksum(text)) throw new Error('a line of the snapshot is damaged');
  return JSON.parse(text) as SnapshotEntry;
}

function checksum(text: string): string {
  return createHash('sha256').update(text).digest('hex').slice(0, digits);
}
