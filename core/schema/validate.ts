import { Ajv, type ErrorObject, type ValidateFunction } from 'ajv';
import type { DataValidationCxt } from 'ajv/dist/types/index.js';
import { Environment } from '@marcbachmann/cel-js';
import { checksumExpectation, firstWrongChecksum, hasWrongChecksum } from '../units/address.js';
import { maxProblems, quote, type Problem } from '../errors.js';
import { fieldOfPointer, joinField } from './field-path.js';
import type { CelRule, StructuralSchema } from './structural.js';
import { readField, isObject } from './json-value.js';

/** Everything that is wrong with a value; `old` is the stored value on an update. */
export type Validate = (value: unknown, old?: unknown) => readonly Problem[];

/**
 * Compiles a schema once. The result judges a value as the API server would with strict field validation: shape,
 * bounds and unknown fields by the schema, then the CEL rules of every part whose shape is right. `field` is the name
 * of the value in messages, e.g. `spec`.
 */
export function compileSchema(schema: StructuralSchema, field: string): Validate {
  const ajv = new Ajv({
    allErrors: true,
    verbose: true,
    strict: true,
    allowUnionTypes: true,
    // The schemas are ours. To judge them by the meta-schema would compile that for each, which takes most of a start.
    meta: false,
    validateSchema: false,
    formats: { int64: true },
  });
  ajv.addVocabulary([
    'x-kubernetes-validations',
    'x-kubernetes-list-type',
    'x-kubernetes-list-map-keys',
    'x-kubernetes-map-type',
    'expected',
    'confidential',
  ]);
  ajv.addKeyword({
    keyword: 'eip55',
    type: 'string',
    schemaType: 'boolean',
    validate: (isAsked: boolean, text: string, _schema?: unknown, at?: DataValidationCxt) =>
      !isAsked || !isWrongChecksum(text, at),
  });
  const isValid = ajv.compile(closed(schema));
  const checkRules = createRuleChecker();
  return (value, old) => {
    const problems = shapeProblems(isValid, value, field);
    // Deciding which rules apply compares every field with every problem; for a long list of wrong items that would
    // take minutes.
    if (problems.length > maxProblems) return problems;
    const wrong = problems.map((problem) => problem.field);
    const isShapeWrong = (at: string) => wrong.some((path) => isWithin(path, at));
    return [...problems, ...checkRules(schema, value, old, field, isShapeWrong)];
  };
}

/** Of a list the first one is enough: the others would take as long again. */
function isWrongChecksum(
  text: string,
  { parentData: list, parentDataProperty: index }: Partial<DataValidationCxt> = {},
): boolean {
  return Array.isArray(list) ? index === firstWrongChecksum(list) : hasWrongChecksum(text);
}

/** All problems, or one more than the number that is ever reported. */
function shapeProblems(isValid: ValidateFunction, value: unknown, field: string): Problem[] {
  if (isValid(value)) return [];
  const byField = new Map<string, Problem>();
  for (const error of isValid.errors ?? []) {
    const problem = render(error, field);
    // One expectation covers everything that a field must be, so a text that is both too long and malformed is
    // reported once.
    if (!byField.has(problem.field)) byField.set(problem.field, problem);
    if (byField.size > maxProblems) break;
  }
  return [...byField.values()];
}

function render(error: ErrorObject, root: string): Problem {
  const field = fieldOfPointer(root, error.instancePath);
  const schema = asSchema(error.parentSchema);
  if (error.keyword === 'required') {
    const missing = String(error.params['missingProperty']);
    const child = schema.properties?.[missing];
    return {
      field: joinField(field, missing),
      expected: child === undefined ? 'set' : `set: ${expectation(child)}`,
    };
  }
  if (error.keyword === 'additionalProperties')
    return {
      field: joinField(field, String(error.params['additionalProperty'])),
      expected: `left out: the field does not exist; the fields here are ${names(schema)}`,
    };
  const expected = error.keyword === 'eip55' ? checksumExpectation : expectation(schema);
  return schema.confidential ? { field, expected } : { field, expected, value: quote(error.data) };
}

/** ajv hands back the schema from which it was compiled, which is one of ours. */
function asSchema(schema: unknown): StructuralSchema {
  return schema as StructuralSchema;
}

/** The API server refuses unknown fields by itself and does not allow a CRD to say so; ajv must be told. */
function closed(schema: StructuralSchema): Record<string, unknown> {
  return {
    ...schema,
    ...(schema.properties && {
      properties: Object.fromEntries(
        Object.entries(schema.properties).map(([name, child]) => [name, closed(child)]),
      ),
      additionalProperties: false,
    }),
    ...(schema.items && { items: closed(schema.items) }),
  };
}

function isWithin(path: string, ancestor: string): boolean {
  return path === ancestor || path.startsWith(`${ancestor}.`) || path.startsWith(`${ancestor}[`);
}

/** What a schema allows, in words that complete "<field> must be …". */
function expectation(schema: StructuralSchema): string {
  if (schema.expected !== undefined) return schema.expected;
  if (schema.enum) return alternatives(schema.enum.map((value) => `"${value}"`));
  switch (schema.type) {
    case 'object':
      return schema.properties ? `an object of ${names(schema)}` : 'an object';
    case 'boolean':
      return 'true or false';
    case 'integer':
      return `a whole number${range(schema.minimum, schema.maximum)}`;
    case 'number':
      return `a number${range(schema.minimum, schema.maximum)}`;
    case 'string':
      return `text of ${count(schema.minLength, schema.maxLength)} characters`;
    case 'array':
      return `a list of ${count(schema.minItems, schema.maxItems)} items`;
    default:
      return 'a whole number or text';
  }
}

/** The fields that an object has, for the message about an unknown field. */
function names(schema: StructuralSchema): string {
  return Object.keys(schema.properties ?? {}).join(', ');
}

function alternatives(values: readonly string[]): string {
  const last = values.at(-1) ?? '';
  return values.length < 2 ? last : `${values.slice(0, -1).join(', ')} or ${last}`;
}

function range(minimum?: number, maximum?: number): string {
  return minimum === undefined || maximum === undefined ? '' : ` from ${minimum} to ${maximum}`;
}

function count(least = 0, most?: number): string {
  return most === undefined ? `at least ${least}` : least === 0 ? `at most ${most}` : `${least} to ${most}`;
}

type IsShapeWrong = (field: string) => boolean;

/** Checks a value against all rules of its schema; `field` names the value in messages. */
type CheckRules = (
  schema: StructuralSchema,
  value: unknown,
  old: unknown,
  field: string,
  isShapeWrong: IsShapeWrong,
) => Problem[];

/**
 * Runs the `x-kubernetes-validations` of a schema over a value that already has the right shape, as the API server
 * does:
 * - a rule sees its own field as `self`; an absent field is skipped, and so are its rules;
 * - a rule that mentions `oldSelf` runs only if both the old and the new value have the field, so never on create,
 *   and never inside lists, whose items have no identity across writes;
 * - a rule that fails to evaluate is a problem, not a pass.
 *
 * Rules use only the core of the language and its string functions, which both implementations have.
 */
function createRuleChecker(): CheckRules {
  const environment = new Environment().registerVariable('self', 'dyn').registerVariable('oldSelf', 'dyn');
  const programs = new Map<string, Program>();

  function check(
    schema: StructuralSchema,
    value: unknown,
    old: unknown,
    field: string,
    isShapeWrong: IsShapeWrong,
  ): Problem[] {
    // For a value of the wrong shape a rule would only repeat the schema's message, less clearly.
    const problems = isShapeWrong(field) ? [] : checkNode(schema, value, old, field);
    if (isObject(value))
      for (const [name, child] of Object.entries(schema.properties ?? {}))
        if (Object.hasOwn(value, name))
          problems.push(
            ...check(child, value[name], readField(old, name), joinField(field, name), isShapeWrong),
          );
    if (Array.isArray(value) && schema.items)
      for (const [index, item] of value.entries())
        problems.push(...check(schema.items, item, undefined, `${field}[${index}]`, isShapeWrong));
    return problems;
  }

  function checkNode(schema: StructuralSchema, value: unknown, old: unknown, field: string): Problem[] {
    const rules = schema['x-kubernetes-validations'];
    if (!rules) return [];
    const self = toCel(schema, value);
    const context = old === undefined ? { self } : { self, oldSelf: toCel(schema, old) };
    return rules
      .filter((rule) => old !== undefined || !isTransition(rule))
      .flatMap((rule) => {
        const message = checkRule(rule, context);
        return message === undefined ? [] : [toProblem(rule, message, schema, value, field)];
      });
  }

  /** Why the rule does not hold: its own message, or that it could not be evaluated; undefined when it holds. */
  function checkRule(rule: CelRule, context: Record<string, unknown>): string | undefined {
    try {
      return ensureProgram(rule)(context) === true ? undefined : rule.message;
    } catch (error) {
      return `must be such that the rule ${rule.rule} can be evaluated (${String(error).split('\n')[0]})`;
    }
  }

  function ensureProgram({ rule }: CelRule): Program {
    const known = programs.get(rule);
    if (known) return known;
    const program: Program = environment.parse(rule);
    programs.set(rule, program);
    return program;
  }

  return check;
}

type Program = (context: Record<string, unknown>) => unknown;

function isTransition(rule: CelRule): boolean {
  return /\boldSelf\b/.test(rule.rule);
}

function toProblem(
  rule: CelRule,
  message: string,
  schema: StructuralSchema,
  value: unknown,
  field: string,
): Problem {
  const at = rule.fieldPath === undefined ? field : `${field}${rule.fieldPath}`;
  const expected = message.replace(/^must be /, '');
  // 80 characters of a whole object tell the reader nothing; a single value does.
  const isQuotable = rule.fieldPath === undefined && schema.type !== 'object' && schema.type !== 'array';
  return isQuotable && !schema.confidential
    ? { field: at, expected, value: quote(value) }
    : { field: at, expected };
}

/** JSON value → CEL value: whole numbers in integer fields are `int`, because the API server types them by schema. */
function toCel(schema: StructuralSchema, value: unknown): unknown {
  if (schema.type === 'integer' && typeof value === 'number') return BigInt(value);
  if (Array.isArray(value)) return schema.items ? value.map((item) => toCel(schema.items!, item)) : value;
  if (!isObject(value)) return value;
  const properties = schema.properties ?? {};
  return Object.fromEntries(
    Object.entries(value).map(([name, child]) => [
      name,
      Object.hasOwn(properties, name) ? toCel(properties[name]!, child) : child,
    ]),
  );
}
