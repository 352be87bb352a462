/** RFC 4180. Amounts are digits; a text that a spreadsheet would run as a formula gets a leading apostrophe. */
export function csvLine(values: readonly unknown[]): string {
  return `${values.map(field).join(',')}\r\n`;
}

function field(value: unknown): string {
  if (value === undefined || value === null) return '';
  const text = typeof value === 'string' ? value : JSON.stringify(value);
  const safe = typeof value === 'string' && /^[=+\-@\t\r]/.test(text) ? `'${text}` : text;
  return /[",\r\n]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
}
