import { formatProblem } from '../../core/errors.js';
import type { ManifestObject, ManifestProblem } from '../../adapters/manifests/parse-manifest.js';
import type { Kind } from '../../core/resources/kinds.js';
import type { Condition } from '../../core/meta/meta.js';
import { warnsWhenTrue } from '../../core/meta/condition-reasons.js';
import { countLeft, describeCountLeft } from '../../core/policy/spending-limit/count-left.js';
import { systemClock } from '../../core/units/time.js';
import type { CheckResult } from './check-manifests.js';

/** One mistake or remark, with its place. */
export type ValidationFinding = {
  readonly severity: 'error' | 'warning';
  readonly file: string;
  readonly line: number;
  readonly column: number;
  /** Absent when a document does not name its object. */
  readonly object?: { readonly kind: Kind; readonly namespace?: string; readonly name: string };
  /** The condition that the operator would write; absent for an object that a store refuses. */
  readonly condition?: Pick<Condition, 'type' | 'status' | 'reason'>;
  readonly message: string;
};

/** By place; errors of one place come first. */
export function findingsOf(
  parseProblems: readonly ManifestProblem[],
  { problems, objects }: CheckResult,
): readonly ValidationFinding[] {
  const found = [
    ...[...parseProblems, ...problems].map(ofProblem),
    ...objects.flatMap(forgotten),
    ...objects.flatMap(({ manifest, object }) =>
      (object.status?.conditions ?? []).flatMap((condition) => {
        const severity = severityOf(condition);
        return severity === undefined ? [] : [ofCondition(manifest, condition, severity)];
      }),
    ),
  ];
  return found.toSorted(byPlace);
}

/** Conditions that follow from another condition of the same or of another object, which is reported instead. */
const consequences: ReadonlySet<string> = new Set(['Programmed/NotAccepted', 'Programmed/Pending']);

/** They repeat another condition, or report a pause that somebody wants. */
const summaries: ReadonlySet<string> = new Set(['Ready', 'Serving']);

function severityOf({ type, status, reason }: Condition): ValidationFinding['severity'] | undefined {
  if (warnsWhenTrue.has(type)) return status === 'True' ? 'warning' : undefined;
  if (status !== 'False' || summaries.has(type) || consequences.has(`${type}/${reason}`)) return undefined;
  return 'error';
}

function ofProblem(problem: ManifestProblem): ValidationFinding {
  const { file, line, column, object } = problem;
  return {
    severity: 'error',
    file,
    line,
    column,
    ...(object === undefined ? {} : { object: nameOf(object) }),
    message: formatProblem(problem),
  };
}

function ofCondition(
  manifest: ManifestObject,
  { type, status, reason, message }: Condition,
  severity: ValidationFinding['severity'],
): ValidationFinding {
  // A message that begins with a field names the place; any other message is about the object.
  const field = /^spec(\.\w+|\[\d+\])+/.exec(message)?.[0] ?? 'metadata.name';
  return { ...placeOf(manifest, field), severity, condition: { type, status, reason }, message };
}

/** A limit whose count the change would begin anew. */
function forgotten({ manifest, object, before }: CheckResult['objects'][number]): ValidationFinding[] {
  if (object.kind !== 'PaymasterPolicy' || before?.kind !== 'PaymasterPolicy') return [];
  const [was, is] = [before.spec.spendingLimit, object.spec.spendingLimit];
  const left = was && is && countLeft(was, is, { policyId: '', now: systemClock.now() });
  if (left === undefined) return [];
  const field = 'spec.spendingLimit';
  const kept = left.canBeKept ? `; ${field}.keepCount: true keeps it` : '';
  const message = `${describeCountLeft(left, undefined)}${kept}`;
  return [{ ...placeOf(manifest, field), severity: 'warning', message }];
}

function placeOf(manifest: ManifestObject, field: string) {
  const { file, line, column } = manifest.locate({ field, expected: '' });
  return { file, line, column, object: nameOf(manifest) };
}

function nameOf({
  kind,
  key,
}: Pick<ManifestObject, 'kind' | 'key'>): NonNullable<ValidationFinding['object']> {
  return { kind, ...key };
}

function byPlace(a: ValidationFinding, b: ValidationFinding): number {
  if (a.file !== b.file) return a.file < b.file ? -1 : 1;
  return (
    a.line - b.line || a.column - b.column || (a.severity < b.severity ? -1 : Number(a.severity > b.severity))
  );
}
