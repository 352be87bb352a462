import { existsSync, renameSync } from 'node:fs';
import { isDamaged } from './database.js';

/** A file that could not be read, and its new name. */
type SetAside = { readonly file: string; readonly movedTo: string };

/**
 * Opens a file. A damaged one is renamed, and an empty one takes its place: a caller with a copy of its content notices the loss. A file
 * that is locked, or of a newer release, is not damaged.
 */
export function openOrSetAside<File>(
  path: string,
  open: (path: string) => File,
  onSetAside: (what: SetAside) => void,
): File {
  try {
    return open(path);
  } catch (error) {
    if (!isDamaged(error)) throw error;
    const movedTo = freeName(`${path}.damaged`);
    for (const end of ['', '-wal', '-shm']) if (existsSync(path + end)) renameSync(path + end, movedTo + end);
    onSetAside({ file: path, movedTo });
    return open(path);
  }
}

function freeName(name: string): string {
  for (let n = 1; ; n++) {
    const tried = n === 1 ? name : `${name}-${n}`;
    if (!existsSync(tried)) return tried;
  }
}
