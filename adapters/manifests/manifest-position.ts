import { type Document, isMap, isNode, isPair, isScalar, isSeq, type LineCounter } from 'yaml';
import { quote, type Problem } from '../../core/errors.js';
import type { ManifestProblem } from './manifest-problem.js';

/** A mistake in the YAML itself. */
export function syntaxProblem(
  file: string,
  error: { readonly message: string; readonly pos: readonly [number, number] },
  lines: LineCounter,
): ManifestProblem {
  const { line, col } = lines.linePos(error.pos[0]);
  return {
    file,
    line: Math.max(line, 1),
    column: Math.max(col, 1),
    field: 'document',
    expected: `valid YAML (${error.message})`,
  };
}

/** Adds to problems of a document the place of their field. */
export function locator(
  file: string,
  document: Document,
  lines: LineCounter,
): (problem: Problem) => ManifestProblem {
  return (problem) => {
    const { offset, node } = placeOf(document, problem.field);
    const { line, col } = lines.linePos(offset);
    return { ...withQuotes(problem, node), file, line: Math.max(line, 1), column: Math.max(col, 1) };
  };
}

/** kubectl reads `no` as false and `0x10` as 16: what it would send is not what stands there. */
function withQuotes(problem: Problem, node: unknown): Problem {
  if (!isScalar(node) || problem.value === undefined) return problem;
  const { value, source = '' } = node;
  if (typeof value === 'string' || source === '' || source === String(value)) return problem;
  return {
    ...problem,
    expected: `${problem.expected}, in quotes: without them kubectl reads ${source} as ${String(value)}`,
    value: quote(source),
  };
}

/**
 * A field and its offset: of its name, or for an item of a list of the item; for a missing field of the nearest parent.
 */
function placeOf(document: Document, field: string): { readonly offset: number; readonly node: unknown } {
  const start = startOf(document.contents) ?? document.range?.[0] ?? 0;
  let node: unknown = document.contents;
  let offset = start;
  for (const token of tokensOf(field)) {
    if (isMap(node)) {
      const pair = node.items.find(({ key }) => isScalar(key) && String(key.value) === token);
      if (!isPair(pair)) return { offset, node: undefined };
      offset = startOf(pair.key) ?? offset;
      node = pair.value;
    } else if (isSeq(node)) {
      node = node.items[Number(token)];
      offset = startOf(node) ?? offset;
    } else return { offset, node: undefined };
  }
  return { offset, node };
}

function startOf(node: unknown): number | undefined {
  return isNode(node) ? node.range?.[0] : undefined;
}

/** `spec.profiles[0].addresses` → spec, profiles, 0, addresses; `metadata.labels["a/b"]` → metadata, labels, a/b. */
function tokensOf(field: string): string[] {
  return [...field.matchAll(/\["([^"]*)"\]|\[(\d+)\]|([^.[\]]+)/g)].map(
    ([, quoted, index, name]) => quoted ?? index ?? name ?? '',
  );
}
