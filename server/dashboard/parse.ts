import { DomainError, invalidInput, isDomainError, type Problem } from '../../core/errors.js';
import { documentedTypes, isPolicyType } from '../../core/policy/derived.js';
import type { PolicyKind, PolicyRules } from '../../core/policy/kind.js';
import { policyKinds } from '../../core/policy/kinds.js';
import { limitProblems, withCycle } from '../../core/policy/spending-limit/record.js';
import type { WebhookUrlRules } from '../../core/policy/webhook/webhook-url.js';
import { readField, isObject } from '../../core/schema/json-value.js';
import type { SchemaOf, StructuralSchema } from '../../core/schema/structural.js';
import { compileSchema } from '../../core/schema/validate.js';
import { requireObject } from '../http/json.js';
import * as schemas from './schemas.js';
import type { CreatePolicy } from './schemas.js';

/** Untrusted body → typed input. Throws DomainError INVALID_INPUT that names every wrong field at once. */
export type Parse<T> = (body: unknown) => T;

export type Parsers = ReturnType<typeof createParsers>;

/** One parser per request body; schemas are compiled here, once. */
export function createParsers(webhookUrls: WebhookUrlRules = {}) {
  const rules = { webhookUrls };
  const policies = new Map(
    documentedTypes.map((type) => [
      type,
      policyParser(policyKinds[type], schemas.schemaOfPolicy({ policyType: type }), rules),
    ]),
  );
  const unknownPolicy = parser(schemas.unknownPolicySchema);
  const updateLimit = parser(schemas.updateLimitSchema, (body) => limitProblems(body, ''), 'refused');

  return {
    createPaymaster: parser(schemas.createPaymasterSchema),
    updatePaymaster: parser(schemas.updatePaymasterSchema),
    fundingWallet: parser(schemas.fundingWalletSchema, undefined, 'refused'),
    createContract: namingMethods(parser(schemas.createContractSchema)),
    updateContract: namingMethods(parser(schemas.updateContractSchema)),
    deleteContract: parser(schemas.deleteContractSchema),
    createPolicy: (body: unknown): CreatePolicy => {
      const type = readField(body, 'policyType');
      const parse = isPolicyType(type) ? policies.get(type) : undefined;
      return (parse ?? unknownPolicy)(body);
    },
    updateLimit: (body: unknown) => updateLimit(withCycle(body)),
  };
}

function policyParser(
  { record }: PolicyKind,
  schema: SchemaOf<CreatePolicy>,
  rules: PolicyRules,
): Parse<CreatePolicy> {
  const parse = parser(
    schema,
    (body) => record.problems?.(readField(body, 'policyData'), 'policyData.', rules) ?? [],
  );
  return (body) => {
    const policyData = readField(body, 'policyData');
    if (record.normalise === undefined || !isObject(body) || !isObject(policyData)) return parse(body);
    return parse({ ...body, policyData: record.normalise(policyData) });
  };
}

type Check = (body: unknown) => readonly Problem[];

/**
 * The schema checks the shape, `check` the rest. Clients send back whole records, so unknown fields are ignored. They
 * are refused where every known field is optional, since a misspelt field would silently mean "no change". An absent
 * body is an empty object: the problems then name what is missing.
 */
function parser<T>(
  schema: SchemaOf<T>,
  check: Check = () => [],
  unknownFields: 'ignored' | 'refused' = 'ignored',
): Parse<T> {
  const validate = compileSchema(schema, '');
  return (body = {}) => {
    const given = requireObject(body);
    const known = unknownFields === 'ignored' ? pick(given, schema) : given;
    const problems = validate(known);
    const wrong = new Set(problems.map(({ field }) => field));
    const all = [...problems, ...check(known).filter(({ field }) => !wrong.has(field))];
    if (all.length > 0) throw invalidInput(all);
    return known as T;
  };
}

/** "whitelistedMethods must be an array" is a documented message: it is answered to the letter when nothing else is wrong. */
function namingMethods<T>(parse: Parse<T>): Parse<T> {
  return (body) => {
    try {
      return parse(body);
    } catch (error) {
      const methods = readField(body, 'whitelistedMethods');
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

function pick(value: unknown, schema: StructuralSchema): unknown {
  if (!isObject(value) || !schema.properties) return value;
  const known = Object.entries(schema.properties).filter(([name]) => Object.hasOwn(value, name));
  return Object.fromEntries(known.map(([name, child]) => [name, pick(value[name], child)]));
}
