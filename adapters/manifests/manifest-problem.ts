import { formatProblem, type Problem } from '../../core/errors.js';
import type { Kind } from '../../core/resources/kinds.js';
import type { ObjectKey } from '../../core/meta/meta.js';

/** Something wrong with a manifest, and where to look. Lines and columns begin with 1. */
export type ManifestProblem = Problem & {
  readonly file: string;
  readonly line: number;
  readonly column: number;
  /** The object that has the problem, if the document names one. */
  readonly object?: { readonly kind: Kind; readonly key: ObjectKey };
};

/** `policies.yaml:12:5: spec.policyType must be "…", got "…"`: a form that editors turn into a link. */
export function formatManifestProblem(problem: ManifestProblem): string {
  return `${problem.file}:${problem.line}:${problem.column}: ${formatProblem(problem)}`;
}
