/** What a person sees on the terminal: steps with their time, then the banner. JSON log lines go elsewhere. */
export type Console = ReturnType<typeof createConsole>;

export function createConsole(write: (text: string) => void, now: () => number) {
  return {
    /** Announces a step and returns a function that ends it with a result. */
    step(title: string): (result: string) => void {
      const started = now();
      write(`  ${title} … `);
      return (result) => write(`${result} (${((now() - started) / 1000).toFixed(1)} s)\n`);
    },
    line: (text?: string): void => write(`${text ?? ''}\n`),
    warn: (text: string): void => write(`warning: ${text}\n`),
  };
}

/** Left-aligned columns separated by two spaces. */
export function table(rows: readonly (readonly string[])[]): string {
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
