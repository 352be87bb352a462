import { printable, printableLines } from '../core/terminal-text.js';

/** What a person sees on the terminal: steps with their time, then the banner. JSON log lines go elsewhere. */
export type Console = ReturnType<typeof createConsole>;

export function createConsole(write: (text: string) => void, now: () => number) {
  return {
    /** Announces a step and returns a function that ends it with a result. */
    step(title: string): (result: string) => void {
      const started = now();
      write(`  ${printable(title)} … `);
      return (result) => write(`${printable(result)} (${((now() - started) / 1000).toFixed(1)} s)\n`);
    },
    line: (text?: string): void => write(`${printableLines(text ?? '')}\n`),
    warn: (text: string): void => write(`warning: ${printable(text)}\n`),
  };
}

/** Left-aligned columns separated by two spaces; each row stays on its line. */
export function table(cells: readonly (readonly string[])[]): string {
  const rows = cells.map((row) => row.map(printable));
  const widths: number[] = [];
  for (const row of rows) row.forEach((cell, i) => (widths[i] = Math.max(widths[i] ?? 0, cell.length)));
  return rows
    .map(
      (row) =>
        `  ${row
          .map((cell, i) => cell.padEnd(widths[i] ?? 0))
          .join('  ')
          .trimEnd()}`,
    )
    .join('\n');
}
