import { type Document, isMap, isNode, isPair, isScalar, isSeq, type LineCounter } from 'yaml';
import type { Problem } from '../../core/errors.js';
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
    const { line, col } = lines.linePos(offsetOf(document, problem.field));
    return { ...problem, file, line: Math.max(line, 1), column: Math.max(col, 1) };
  };
}

/**
 * The offset of a field: of its name, or for an item of a list of the item; for a missing field of the nearest parent.
 */
function offsetOf(document: Document, field: string): number {
  const start = startOf(document.contents) ?? document.range?.[0] ?? 0;
  let node: unknown = document.contents;
  let offset = start;
  for (const token of tokensOf(field)) {
    if (isMap(node)) {
      const pair = node.items.find(({ key }) => isScalar(key) && String(key.value) === token);
      if (!isPair(pair)) break;
      offset = startOf(pair.key) ?? offset;
      node = pair.value;
    } else if (isSeq(node)) {
      node = node.items[Number(token)];
      offset = startOf(node) ?? offset;
    } else break;
  }
  return offset;
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
