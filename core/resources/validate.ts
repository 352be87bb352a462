import { type Problem, quote } from '../errors.js';
import { compileSchema, type Validate } from '../schema/validate.js';
import { type Kind, kindNames } from './kinds.js';
import { definitions } from './schemas.js';

export type ResourceInput = {
  readonly metadata: { readonly name: string; readonly namespace?: string };
  readonly spec: unknown;
};

/** Memo of a pure function: a schema is compiled on first use and is the same ever after. */
const compiled = new Map<Kind, Validate>();

/**
 * All that is wrong with an object, as the API server would say it: name and namespace, shape and bounds, unknown
 * fields, CEL rules. `old` is the stored object on an update; without it the rules about changes are skipped.
 */
export function validateResource(
  kind: Kind,
  object: ResourceInput,
  old?: { readonly spec: unknown },
): readonly Problem[] {
  return [...validateName(kind, object.metadata), ...validatorOf(kind)(object.spec, old?.spec)];
}

function validatorOf(kind: Kind): Validate {
  const known = compiled.get(kind);
  if (known) return known;
  const validate = compileSchema(definitions[kind].spec, 'spec');
  compiled.set(kind, validate);
  return validate;
}

const label = '[a-z0-9]([-a-z0-9]*[a-z0-9])?';
const namePattern = new RegExp(`^${label}(\\.${label})*$`);
const namespacePattern = new RegExp(`^${label}$`);

/** The rules of the API server for the name of an object of this kind. */
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
