import { closeSync, openSync, writeSync } from 'node:fs';

/** Where JSON lines go: a file that is appended to, 0600 when it is new. */
export type LogFile = {
  /** Never throws: a line that cannot be written (a full disk) is lost, and counted in the next one that can. */
  write(line: string): void;
  /** Safe to call twice. */
  close(): void;
};

/**
 * Written synchronously, so that the last lines before a crash are kept, and by hand: a stream that meets a full disk
 * ends, and with it the process that only wanted to say so. `append` is the system's; tests bring a disk of their own.
 */
export function openLogFile(
  path: string,
  append: (file: number, text: string) => unknown = writeSync,
): LogFile {
  const file = openSync(path, 'a', 0o600);
  let lost = 0;
  let isOpen = true;
  return {
    write(line) {
      if (!isOpen) return;
      try {
        if (lost > 0) {
          // Begins on a line of its own: the one that failed may have been written in part.
          append(file, `\n${JSON.stringify({ level: 'warn', msg: 'log lines lost', lines: lost })}\n`);
          lost = 0;
        }
        append(file, line);
      } catch {
        lost += 1;
      }
    },
    close() {
      if (isOpen) closeSync(file);
      isOpen = false;
    },
  };
}
