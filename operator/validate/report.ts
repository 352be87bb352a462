import type { ManifestObject, ManifestProblem } from '../../adapters/manifests/parse-manifest.js';
import { formatProblem } from '../../core/errors.js';
import { warnsWhenTrue } from '../../core/meta/condition-reasons.js';
import { formatKey, type Condition } from '../../core/meta/meta.js';
import { countLeft, describeCountLeft } from '../../core/policy/spending-limit/count-left.js';
import type { Kind } from '../../core/resources/kinds.js';
import { printable } from '../../core/terminal-text.js';
import { systemClock } from '../../core/units/time.js';
import type { CheckResult } from './check-manifests.js';

export type Report = {
  readonly files: readonly string[];
  readonly leftOut: readonly { readonly file: string; readonly what: string }[];
  /** Number of objects of our kinds. */
  readonly objects: number;
  readonly findings: readonly ValidationFinding[];
};

/**
 * For programs: `{ok, files, objects, leftOut, findings: [{severity, file, line, column, kind?, namespace?, name?, condition?, message}]}`.
 * `ok` is false when there is an error; warnings alone are fine.
 */
export function reportDocument({ files, objects, leftOut, findings }: Report) {
  const rows = findings.map(({ object, ...rest }) => ({ ...rest, ...object }));
  return { ok: !hasErrors(findings), files: files.length, objects, leftOut, findings: rows };
}

/** For people: one line per finding that editors turn into a link, then a summary. */
export function renderText({ files, objects, leftOut, findings }: Report): string {
  const lines = findings.map(({ severity, file, line, column, object, condition, message }) => {
    const what = object === undefined ? '' : ` ${object.kind} ${formatKey(object)}:`;
    const why =
      condition === undefined ? '' : ` (${condition.type}=${condition.status}, ${condition.reason})`;
    return `${severity === 'error' ? '✗' : '!'} ${file}:${line}:${column}:${what} ${message}${why}`;
  });
  const left = leftOut.map(({ file, what }) => `- ${file}: ${what} is not ours and was left out`);
  const errors = findings.filter(({ severity }) => severity === 'error').length;
  const summary =
    `${count(objects, 'object')} in ${count(files.length, 'file')}: ` +
    `${count(errors, 'error')}, ${count(findings.length - errors, 'warning')}`;
  return [
    ...[...lines, ...left].map(printable),
    `${errors === 0 ? '✓' : '✗'} ${summary}`,
    ...hints(findings),
  ].join('\n');
}

export function hasErrors(findings: readonly ValidationFinding[]): boolean {
  return findings.some(({ severity }) => severity === 'error');
}

/** References to objects that the platform keeps elsewhere are errors only because their manifests are not given. */
const platformReasons: ReadonlySet<string | undefined> = new Set(['NoOrganisation', 'ChainNotFound']);

function hints(findings: readonly ValidationFinding[]): readonly string[] {
  if (!findings.some(({ condition }) => platformReasons.has(condition?.reason))) return [];
  return ['  Chains and Organisations that stand elsewhere are read with --with folder (make: WITH=folder).'];
}

function count(n: number, noun: string): string {
  return `${n} ${noun}${n === 1 ? '' : 's'}`;
}

/** One mistake or remark, with its place. */
type ValidationFinding = {
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
export function listFindings(
  parseProblems: readonly ManifestProblem[],
  { problems, objects }: CheckResult,
): readonly ValidationFinding[] {
  const found = [
    ...[...parseProblems, ...problems].map(ofProblem),
    ...objects.flatMap(forgotten),
    ...objects.flatMap(({ manifest, object }) =>
      (object.status?.conditions ?? []).flatMap((condition) => {
        const severity = findSeverity(condition);
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

function findSeverity({ type, status, reason }: Condition): ValidationFinding['severity'] | undefined {
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
    ...(object === undefined ? {} : { object: toObjectName(object) }),
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
  return { ...findPlace(manifest, field), severity, condition: { type, status, reason }, message };
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
  return [{ ...findPlace(manifest, field), severity: 'warning', message }];
}

function findPlace(manifest: ManifestObject, field: string) {
  const { file, line, column } = manifest.locate({ field, expected: '' });
  return { file, line, column, object: toObjectName(manifest) };
}

function toObjectName({
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
