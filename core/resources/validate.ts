import { formatProblem, type Problem, quote } from '../errors.js';
import type { StructuralSchema } from '../schema/structural.js';
import { compileSchema, type Validate } from '../schema/validate.js';
import { type Kind, kindNames } from './kinds.js';
import { definitions } from './schemas.js';
import { isObject } from '../schema/json-value.js';

type ResourceInput = {
  readonly metadata: { readonly name: string; readonly namespace?: string };
  readonly spec: unknown;
};

/** Memo of a pure function: a schema is compiled on first use and never changes. */
const compiled = new Map<StructuralSchema, Validate>();

/**
 * Everything that is wrong with an object, as the API server would report it: name and namespace, shape and bounds,
 * unknown fields, CEL rules. `old` is the stored object on an update; without it the rules about changes are skipped.
 * A problem that `old` already had, in a value that stays the same, is ignored: otherwise a rule that a release
 * tightens would block every other change of a stored object.
 */
export function validateResource(
  kind: Kind,
  object: ResourceInput,
  old?: { readonly spec: unknown },
): readonly Problem[] {
  const validate = ensureValidator(definitions[kind].spec, 'spec');
  const problems = validate(object.spec, old?.spec);
  const known = old && problems.length > 0 ? validate(old.spec).map(formatProblem) : [];
  return [
    ...validateName(kind, object.metadata),
    ...problems.filter((problem) => !known.includes(formatProblem(problem))),
  ];
}

export function validateStatus(kind: Kind, status: unknown): readonly Problem[] {
  return ensureValidator(definitions[kind].status, 'status')(status);
}

function ensureValidator(schema: StructuralSchema, field: string): Validate {
  const known = compiled.get(schema);
  if (known) return known;
  const validate = compileSchema(schema, field);
  compiled.set(schema, validate);
  return validate;
}

const namePattern = /^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$/;
const namespacePattern = /^[a-z0-9]([-a-z0-9]*[a-z0-9])?$/;

/** The API server's rules for the name of an object of this kind. */
export function validateName(kind: Kind, { name, namespace }: ResourceInput['metadata']): Problem[] {
  const problems: Problem[] = [];
  if (name.length > 253 || !namePattern.test(name))
    problems.push({
      field: 'metadata.name',
      expected: 'lowercase letters, digits, "-" and ".", at most 253 characters',
      value: quote(name),
    });
  if (kindNames[kind].scope === 'Cluster') {
    if (namespace !== undefined)
      problems.push({
        field: 'metadata.namespace',
        expected: `left out: ${kind} belongs to no namespace`,
        value: quote(namespace),
      });
  } else if (namespace === undefined) {
    problems.push({ field: 'metadata.namespace', expected: `set: ${kind} belongs to a namespace` });
  } else if (namespace.length > 63 || !namespacePattern.test(namespace)) {
    problems.push({
      field: 'metadata.namespace',
      expected: 'lowercase letters, digits and "-", at most 63 characters',
      value: quote(namespace),
    });
  }
  return problems;
}

const labelValuePattern = /^([A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?)?$/;
const metadataKeyPattern =
  /^([a-z0-9]([-a-z0-9.]{0,251}[a-z0-9])?\/)?[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?$/;
const maxAnnotationBytes = 256 * 1024;

/** The API server's rules for labels and annotations. */
export function validateMetadata(metadata: Readonly<Record<string, unknown>>): Problem[] {
  const maps = ['labels', 'annotations']
    .filter((field) => metadata[field] !== undefined && !isObject(metadata[field]))
    .map((field) => ({
      field: `metadata.${field}`,
      expected: 'an object of texts',
      value: quote(metadata[field]),
    }));
  const labels = isObject(metadata['labels']) ? metadata['labels'] : {};
  const annotations = isObject(metadata['annotations']) ? metadata['annotations'] : {};
  const keyed = (field: string, entries: Readonly<Record<string, unknown>>) =>
    Object.keys(entries)
      .filter((key) => !metadataKeyPattern.test(key))
      .map((key) => ({
        field: `metadata.${field}`,
        expected: 'keyed by names such as "team" or "example.com/team"',
        value: quote(key),
      }));
  const valued = (
    field: string,
    entries: Readonly<Record<string, unknown>>,
    expected: string,
    isRight: (value: unknown) => boolean,
  ) =>
    Object.entries(entries)
      .filter(([, value]) => !isRight(value))
      .map(([key, value]) => ({ field: `metadata.${field}["${key}"]`, expected, value: quote(value) }));
  const size = Buffer.byteLength(JSON.stringify(annotations));
  return [
    ...maps,
    ...keyed('labels', labels),
    ...valued(
      'labels',
      labels,
      'text of at most 63 letters, digits, "-", "_" and "."',
      (value) => typeof value === 'string' && labelValuePattern.test(value),
    ),
    ...keyed('annotations', annotations),
    ...valued('annotations', annotations, 'text', (value) => typeof value === 'string'),
    ...(size > maxAnnotationBytes
      ? [
          {
            field: 'metadata.annotations',
            expected: `at most ${maxAnnotationBytes} bytes`,
            value: String(size),
          },
        ]
      : []),
  ];
}
