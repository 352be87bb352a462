import { mkdir, open, readFile, rename, type FileHandle } from 'node:fs/promises';
import { join } from 'node:path';
import { createHash } from 'node:crypto';
import { hasCode } from '../../process/has-code.js';
import type { ConfigEvent } from '../../../core/config/config-store.js';

/**
 * A state on disk, mode 0600. It is written whole at first and then appended to; once the changes are larger than the
 * state itself, it is written whole again. A reader finds the old state or the new one, whenever the writer is killed.
 */
export type SnapshotFile = ReturnType<typeof createSnapshotFile>;

const linesPerWrite = 256;
const minCompaction = 1_000;

export function createSnapshotFile(directory: string) {
  const path = join(directory, 'configs.snapshot');
  let current: FileHandle | undefined;
  let stateLines = 0;
  let addedLines = 0;

  async function read(): Promise<SnapshotState | undefined> {
    try {
      return await readSnapshot(await readFile(path, 'utf8'));
    } catch (error) {
      if (hasCode(error, 'ENOENT')) return undefined;
      throw error;
    }
  }

  async function replace(entries: Iterable<SnapshotEntry>): Promise<void> {
    await mkdir(directory, { recursive: true, mode: 0o700 });
    const draft = await open(`${path}.new`, 'w', 0o600);
    try {
      await draft.appendFile(headerLine);
      stateLines = await writeLines(draft, entries);
      await draft.sync();
      await rename(`${path}.new`, path);
    } catch (error) {
      await draft.close();
      throw error;
    }
    await current?.close();
    current = draft;
    addedLines = 0;
  }

  async function compact(): Promise<void> {
    const state = await read();
    if (state === undefined) return;
    await replace([...state.configs.values(), { type: 'confirmed', at: state.confirmedAt }]);
  }

  return {
    /** The stored state; undefined when nothing is stored. Throws when it cannot be trusted. */
    read,
    /** Replaces the state by these events. */
    replace,
    /** Adds to the state; a state must have been written before. */
    async append(entries: readonly SnapshotEntry[]): Promise<void> {
      if (current === undefined) return;
      addedLines += await writeLines(current, entries);
      if (addedLines > Math.max(minCompaction, stateLines)) await compact();
    },
    async close(): Promise<void> {
      await current?.close();
      current = undefined;
    },
  };
}

/** In slices, so that ten thousand configs do not delay the requests that are being served. */
async function writeLines(file: FileHandle, entries: Iterable<SnapshotEntry>): Promise<number> {
  let slice: string[] = [];
  let count = 0;
  for (const entry of entries) {
    slice.push(formatLine(entry));
    count += 1;
    if (slice.length < linesPerWrite) continue;
    await file.appendFile(slice.join(''));
    slice = [];
  }
  if (slice.length > 0) await file.appendFile(slice.join(''));
  return count;
}

/** One line of a snapshot: a change, or the moment up to which the state is known to be current (EpochMs). */
export type SnapshotEntry = ConfigEvent | { readonly type: 'confirmed'; readonly at: number };

type SnapshotState = {
  readonly configs: ReadonlyMap<string, ConfigEvent>;
  readonly confirmedAt: number;
};

const header = 'paymaster-configs 1';
const digits = 16;
const linesPerTurn = 256;

/** `<first 16 hex digits of the SHA-256 of the rest> <JSON>`, one line each, after a header that names the format. */
function formatLine(entry: SnapshotEntry): string {
  const text = JSON.stringify(entry);
  return `${checksum(text)} ${text}\n`;
}

const headerLine = `${header}\n`;

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
    else if (isForgotten(entry)) configs.delete(eventSubject(entry));
    else configs.set(eventSubject(entry), entry);
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
export function eventSubject(event: ConfigEvent): string {
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
export function toDeletion(event: ConfigEvent): ConfigEvent {
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
