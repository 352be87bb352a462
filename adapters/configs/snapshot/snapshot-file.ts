import { mkdir, open, readFile, rename, type FileHandle } from 'node:fs/promises';
import { join } from 'node:path';
import {
  formatLine,
  headerLine,
  readSnapshot,
  type SnapshotEntry,
  type SnapshotState,
} from './snapshot-lines.js';
import { hasCode } from '../../process/has-code.js';

/**
 * A state on disk, mode 0600. It is written whole at first and then appended to; once the changes are larger than the
 * state itself, it is written whole again. A reader finds the old state or the new one, whenever the writer is killed.
 */
export type SnapshotFile = ReturnType<typeof createSnapshotFile>;

const linesPerWrite = 256;
const leastCompaction = 1_000;

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
      if (addedLines > Math.max(leastCompaction, stateLines)) await compact();
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
