import { fieldOf, isObject } from './json-value.js';
import { Environment } from '@marcbachmann/cel-js';
import { type Problem, quote } from '../errors.js';
import { joinField } from './field-path.js';
import type { CelRule, StructuralSchema } from './structural.js';

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
export function createRuleChecker(): CheckRules {
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
            ...check(child, value[name], fieldOf(old, name), joinField(field, name), isShapeWrong),
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
        const message = failureOf(rule, context);
        return message === undefined ? [] : [problemOf(rule, message, schema, value, field)];
      });
  }

  /** Why the rule does not hold: its own message, or that it could not be evaluated; undefined when it holds. */
  function failureOf(rule: CelRule, context: Record<string, unknown>): string | undefined {
    try {
      return programOf(rule)(context) === true ? undefined : rule.message;
    } catch (error) {
      return `must be such that the rule ${rule.rule} can be evaluated (${String(error).split('\n')[0]})`;
    }
  }

  function programOf({ rule }: CelRule): Program {
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

function problemOf(
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
