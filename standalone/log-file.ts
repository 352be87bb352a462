import { closeSync, existsSync, fstatSync, openSync, renameSync, writeSync } from 'node:fs';

type LogFileLimits = {
  readonly maxBytes: number;
  /** How many files before the present one are kept, as `.1` (the newest) and so on. */
  readonly oldFiles: number;
};

/** At most 200 MB in all. */
const usualLimits: LogFileLimits = { maxBytes: 50_000_000, oldFiles: 3 };

/**
 * The file to which JSON lines are appended; a new one gets mode 0600.
 * Writes synchronously, so that the last lines before a crash are kept. It does not use a stream: a stream fails on a full
 * disk and ends the process, which only wanted to log that. `append` is the system's; tests pass their own.
 * A file that is full becomes an old one; rotating streams of npm packages would end with the process before their last
 * lines are written.
 */
export function openLogFile(
  path: string,
  append: (file: number, text: string) => unknown = writeSync,
  { maxBytes, oldFiles }: LogFileLimits = usualLimits,
) {
  let file = openSync(path, 'a', 0o600);
  let bytes = fstatSync(file).size;
  let lost = 0;
  let isOpen = true;
  function beginAnother(): void {
    bytes = 0;
    for (let age = oldFiles; age > 0; age--) {
      const younger = age === 1 ? path : `${path}.${age - 1}`;
      if (existsSync(younger)) renameSync(younger, `${path}.${age}`);
    }
    const full = file;
    file = openSync(path, 'a', 0o600);
    closeSync(full);
  }

  function rotate(line: string): void {
    bytes += Buffer.byteLength(line);
    if (bytes <= maxBytes) return;
    try {
      beginAnother();
      bytes = Buffer.byteLength(line);
    } catch {
      // Goes on with the full file, and tries again when as much has been written once more.
    }
  }

  return {
    /** Never throws: a line that cannot be written (a full disk) is lost, and counted in the next one that can. */
    write(line: string): void {
      if (!isOpen) return;
      rotate(line);
      try {
        if (lost > 0) {
          // Starts with a new line: the line that failed may have been written in part.
          append(file, `\n${JSON.stringify({ level: 'warn', msg: 'log lines lost', lines: lost })}\n`);
          lost = 0;
        }
        append(file, line);
      } catch {
        lost += 1;
      }
    },
    /** Safe to call twice. */
    close(): void {
      if (isOpen) closeSync(file);
      isOpen = false;
    },
  };
}
