/** What a line of alto's output says to us. */
type AltoLine =
  | { readonly kind: 'listening'; readonly port: number }
  | { readonly kind: 'problem'; readonly text: string }
  | { readonly kind: 'noise' };

/** A line of its log may quote a whole operation. */
const longestProblem = 1_000;

/** Reads one line: JSON of its logger, or plain text of Node (a stack, or a mistake in its arguments). */
export function readAltoLine(line: string): AltoLine {
  if (line.trim() === '') return { kind: 'noise' };
  const entry = parseEntry(line);
  const [, port] = /^Server listening at http:\/\/[^/]+:(\d+)$/.exec(entry?.msg ?? '') ?? [];
  if (port !== undefined) return { kind: 'listening', port: Number(port) };
  if (entry !== undefined && (entry.level === 'info' || entry.level === 'debug')) return { kind: 'noise' };
  return { kind: 'problem', text: line.slice(0, longestProblem) };
}

function parseEntry(line: string): { readonly level: unknown; readonly msg: string } | undefined {
  try {
    const value: unknown = JSON.parse(line);
    if (typeof value !== 'object' || value === null || !('level' in value)) return undefined;
    return { level: value.level, msg: 'msg' in value && typeof value.msg === 'string' ? value.msg : '' };
  } catch {
    return undefined;
  }
}
