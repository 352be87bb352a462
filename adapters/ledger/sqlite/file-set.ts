import { readdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { DomainError, messageOf } from '../../../core/errors.js';

/** Database files of one kind in a directory, one per period; their names are in the order of time. */
export type FileSet<File> = {
  /** Opens those that exist. */
  openAll(): void;
  /** The newest first. */
  all(): File[];
  /** The newest first. */
  names(): string[];
  /** Those with a name from `first` to `last`, both included. */
  between(first: string, last: string): File[];
  /** Opened, or made. */
  named(name: string): File;
  remove(isLapsed: (name: string) => boolean): void;
  close(): void;
};

/** The name of a file is `prefix`, the name of its period, and `.sqlite`. */
export function createFileSet<File extends { close(): void }>(
  directory: string,
  { prefix, pattern }: { readonly prefix: string; readonly pattern: RegExp },
  open: (path: string) => File,
): FileSet<File> {
  const files = new Map<string, File>();
  const suffix = '.sqlite';

  function pathOf(name: string): string {
    return join(directory, `${prefix}${name}${suffix}`);
  }

  function named(name: string): File {
    const known = files.get(name);
    if (known !== undefined) return known;
    const file = open(pathOf(name));
    files.set(name, file);
    return file;
  }

  function existing(): string[] {
    return readdirSync(directory)
      .filter((file) => file.startsWith(prefix) && file.endsWith(suffix))
      .map((file) => file.slice(prefix.length, -suffix.length))
      .filter((name) => pattern.test(name));
  }

  return {
    named,
    openAll: () => {
      for (const name of existing()) named(name);
    },
    all: () => [...files].sort(([a], [b]) => (a < b ? 1 : -1)).map(([, file]) => file),
    names: () => [...files.keys()].sort().reverse(),
    between: (first, last) =>
      [...files].filter(([name]) => name >= first && name <= last).map(([, file]) => file),
    remove: (isLapsed) => {
      for (const [name, file] of files) {
        if (!isLapsed(name)) continue;
        file.close();
        files.delete(name);
        try {
          for (const end of ['', '-wal', '-shm']) rmSync(pathOf(name) + end, { force: true });
        } catch (error) {
          throw new DomainError('UNAVAILABLE', `${pathOf(name)} cannot be removed: ${messageOf(error)}`, {
            cause: error,
          });
        }
      }
    },
    close: () => {
      for (const file of files.values()) file.close();
      files.clear();
    },
  };
}
