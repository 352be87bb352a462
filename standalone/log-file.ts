import { closeSync, openSync, writeSync } from 'node:fs';

/**
 * The file to which JSON lines are appended; a new one gets mode 0600.
 * Writes synchronously, so that the last lines before a crash are kept. It does not use a stream: a stream fails on a full
 * disk and ends the process, which only wanted to log that. `append` is the system's; tests pass their own.
 */
export function openLogFile(path: string, append: (file: number, text: string) => unknown = writeSync) {
  const file = openSync(path, 'a', 0o600);
  let lost = 0;
  let isOpen = true;
  return {
    /** Never throws: a line that cannot be written (a full disk) is lost, and counted in the next one that can. */
    write(line: string): void {
      if (!isOpen) return;
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
