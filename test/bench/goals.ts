/** One figure of the run and its required bound. */
export type Goal = {
  readonly name: string;
  readonly value: number;
  /** A value in MiB is given in bytes. */
  readonly unit: 'ratio' | 'count' | 'bytes' | 'MiB' | 'µs' | 'ms' | 's';
  readonly required?: { readonly atLeast?: number; readonly atMost?: number };
  readonly aim?: number;
};

export function isMet({ value, required }: Goal): boolean {
  return value >= (required?.atLeast ?? -Infinity) && value <= (required?.atMost ?? Infinity);
}

/** Whether it says that something works, whatever the machine does besides. */
export function isAboutErrors({ required }: Goal): boolean {
  return required?.atMost === 0;
}

export function renderGoals(goals: readonly Goal[]): string {
  const rows = goals.map((goal) => [
    goal.name,
    render(goal.value, goal.unit),
    renderRequired(goal),
    goal.aim === undefined ? '' : render(goal.aim, goal.unit),
    goal.required === undefined ? '' : isMet(goal) ? 'yes' : 'NO',
  ]);
  return renderTable(['figure', 'measured', 'required', 'aim', 'met'], rows);
}

export function renderTable(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const widths = head.map((title, column) =>
    Math.max(title.length, ...rows.map((row) => (row[column] ?? '').length)),
  );
  const line = (cells: readonly string[]) =>
    cells
      .map((cell, column) =>
        column === 0 ? cell.padEnd(widths[column] ?? 0) : cell.padStart(widths[column] ?? 0),
      )
      .join('  ');
  return [line(head), line(widths.map((width) => '-'.repeat(width))), ...rows.map(line)].join('\n');
}

function renderRequired({ required, unit }: Goal): string {
  if (required?.atLeast !== undefined) return `≥ ${render(required.atLeast, unit)}`;
  if (required?.atMost !== undefined) return `≤ ${render(required.atMost, unit)}`;
  return '';
}

function render(value: number, unit: Goal['unit']): string {
  switch (unit) {
    case 'ratio':
      return value.toFixed(2);
    case 'count':
      return Number.isInteger(value) ? String(value) : value.toFixed(3);
    case 'bytes':
      return `${Math.round(value)} B`;
    case 'MiB':
      return `${(value / 2 ** 20).toFixed(0)} MiB`;
    case 'µs':
      return `${value.toFixed(1)} µs`;
    case 'ms':
      return `${value.toFixed(1)} ms`;
    case 's':
      return `${value.toFixed(1)} s`;
    default:
      return unit satisfies never;
  }
}
