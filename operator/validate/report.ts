import { formatKey } from '../../core/meta/meta.js';
import { printable } from '../../core/terminal-text.js';
import type { ValidationFinding } from './findings.js';
import type { ReadManifests } from './read-files.js';

export type Report = Pick<ReadManifests, 'files' | 'leftOut'> & {
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
