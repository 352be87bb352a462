import { DomainError, invalidInput, isDomainError, quote } from '../../core/errors.js';
import type { Problem } from '../../core/errors.js';
import { judgeWebhookUrl } from '../../core/policy/webhook/webhook-url.js';
import type { WebhookUrlRules } from '../../core/policy/webhook/webhook-url.js';
import type { SchemaOf, StructuralSchema } from '../../core/schema/structural.js';
import { compileSchema } from '../../core/schema/validate.js';
import { maxCycleValue } from '../../core/units/time.js';
import { decimalText } from '../http/json.js';
import * as schemas from './schemas.js';
import type { CreatePolicy, LimitData, WebhookData } from './schemas.js';
import { thresholdProblem } from './threshold.js';

/** Untrusted body → typed input. Throws DomainError INVALID_INPUT that names every wrong field at once. */
export type Parse<T> = (body: unknown) => T;

/** A policy to create, told apart by its type. */
export type NewPolicy =
  | (CreatePolicy<LimitData> & { readonly policyType: 'PAYMASTER_SA_LIMIT' })
  | (CreatePolicy<WebhookData> & { readonly policyType: 'WEBHOOK' })
  | (CreatePolicy<object> & { readonly policyType: 'WALLET_DEPLOYMENT' });

export type Parsers = ReturnType<typeof createParsers>;

/** One parser per request body; schemas are compiled here, once. */
export function createParsers(webhookUrls: WebhookUrlRules = {}) {
  const limit = parser(schemas.createLimitSchema, (body) =>
    limitProblems(fieldOf(body, 'policyData'), 'policyData.'),
  );
  const webhook = parser(schemas.createWebhookSchema, (body) =>
    webhookProblems(fieldOf(body, 'policyData'), webhookUrls),
  );
  const anyPolicy = parser(schemas.createPolicySchema);
  const updateLimit = parser(schemas.updateLimitSchema, (body) => limitProblems(body, ''), 'refused');

  return {
    createPaymaster: parser(schemas.createPaymasterSchema),
    updatePaymaster: parser(schemas.updatePaymasterSchema),
    createContract: namingMethods(parser(schemas.createContractSchema)),
    updateContract: namingMethods(parser(schemas.updateContractSchema)),
    deleteContract: parser(schemas.deleteContractSchema),
    createPolicy: (body: unknown): NewPolicy => {
      const policyType = fieldOf(body, 'policyType');
      if (policyType === 'PAYMASTER_SA_LIMIT') return { ...limit(withCycleOfData(body)), policyType };
      if (policyType === 'WEBHOOK') return { ...webhook(body), policyType };
      return { ...anyPolicy(body), policyType: 'WALLET_DEPLOYMENT' };
    },
    updateLimit: (body: unknown) => updateLimit(withCycle(body)),
  };
}

type Check = (body: unknown) => readonly Problem[];

/**
 * Judges shape by the schema and the rest by `check`. Clients send back whole records, so unknown fields are ignored,
 * or refused where every known one is optional and a misspelt field would silently mean "no change". An absent body is
 * an empty object: the problems then name what is missing.
 */
function parser<T>(
  schema: SchemaOf<T>,
  check: Check = () => [],
  unknownFields: 'ignored' | 'refused' = 'ignored',
): Parse<T> {
  const validate = compileSchema(schema, '');
  return (body = {}) => {
    if (!isObject(body))
      throw invalidInput([{ field: 'body', expected: 'a JSON object', value: quote(body) }]);
    const known = unknownFields === 'ignored' ? pick(body, schema) : body;
    const problems = validate(known);
    const wrong = new Set(problems.map(({ field }) => field));
    const all = [...problems, ...check(known).filter(({ field }) => !wrong.has(field))];
    if (all.length > 0) throw invalidInput(all);
    return known as T;
  };
}

/** "whitelistedMethods must be an array" is a documented message: to the letter where nothing else is wrong. */
function namingMethods<T>(parse: Parse<T>): Parse<T> {
  return (body) => {
    try {
      return parse(body);
    } catch (error) {
      const methods = fieldOf(body, 'whitelistedMethods');
      if (Array.isArray(methods) || !isDomainError(error, 'INVALID_INPUT')) throw error;
      const problems = (error.details.problems ?? []).map(({ field, ...rest }) =>
        field === 'whitelistedMethods' ? { field, expected: 'an array' } : { field, ...rest },
      );
      const isOnly = problems.length === 1 && problems[0]?.field === 'whitelistedMethods';
      throw isOnly
        ? new DomainError('METHODS_NOT_AN_ARRAY', 'whitelistedMethods must be an array')
        : invalidInput(problems);
    }
  };
}

function limitProblems(data: unknown, prefix: string): readonly Problem[] {
  const threshold = fieldOf(data, 'threshold');
  const type = fieldOf(data, 'thresholdType');
  const cycle = fieldOf(data, 'cycleDuration');
  const value = fieldOf(cycle, 'value');
  const problems: (Problem | undefined)[] = [];
  if (typeof threshold === 'number' && (type === 'COUNT' || type === 'NATIVE_ASSET'))
    problems.push(thresholdProblem(decimalText(threshold), type, `${prefix}threshold`));
  if (fieldOf(cycle, 'unit') === 'day' && typeof value === 'number' && value > maxCycleValue.day)
    problems.push({
      field: `${prefix}cycleDuration.value`,
      expected: `at most ${maxCycleValue.day} when the unit is day`,
      value: quote(value),
    });
  return problems.filter((problem) => problem !== undefined);
}

function webhookProblems(data: unknown, rules: WebhookUrlRules): readonly Problem[] {
  const url = fieldOf(data, 'url');
  const problem = typeof url === 'string' ? judgeWebhookUrl(url, rules, 'policyData.url') : undefined;
  return problem ? [problem] : [];
}

function withCycleOfData(body: unknown): unknown {
  if (!isObject(body) || !isObject(body['policyData'])) return body;
  return { ...body, policyData: withCycle(body['policyData']) };
}

/** The document types the `cycleDuration` of an update as a string: the JSON text of the object is accepted too. */
function withCycle(data: unknown): unknown {
  if (!isObject(data) || typeof data['cycleDuration'] !== 'string') return data;
  try {
    const cycleDuration: unknown = JSON.parse(data['cycleDuration']);
    return { ...data, cycleDuration };
  } catch {
    return data;
  }
}

function pick(value: unknown, schema: StructuralSchema): unknown {
  if (!isObject(value) || !schema.properties) return value;
  const known = Object.entries(schema.properties).filter(([name]) => Object.hasOwn(value, name));
  return Object.fromEntries(known.map(([name, child]) => [name, pick(value[name], child)]));
}

function fieldOf(value: unknown, name: string): unknown {
  return isObject(value) && Object.hasOwn(value, name) ? value[name] : undefined;
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
